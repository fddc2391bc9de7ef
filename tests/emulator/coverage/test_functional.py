"""Functional coverage counts combinations, merges by adding, and is the same file for the same counts."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.coverage import CoverageError, Cross, FunctionalCoverage, Ignore, forwarding, heat
from ringhil.protocol import registers, wire

from .built import unhurried

SMALL = Cross(
    "small",
    {"state": ("on", "off"), "port": ("1", "2", "3")},
    (Ignore({"state": ("off",), "port": ("2", "3")}, "only port 1 has a light"),),
)
SAMPLES = st.lists(st.tuples(st.sampled_from(["on", "off"]), st.sampled_from(["1", "2", "3"])), max_size=30)


def filled(samples: list[tuple[str, str]]) -> FunctionalCoverage:
    coverage = FunctionalCoverage([SMALL])
    for state, port in samples:
        coverage.sample("small", state=state, port=port)
    return coverage


def test_forwarding_has_the_kinds_and_faults_of_the_protocol() -> None:
    cross = forwarding()
    assert cross.axes["kind"] == tuple(wire.Kind.codes())
    assert set(cross.axes["fault"]) == {"none", *registers.FaultBit.codes()}
    assert cross.size == 4 * 7 * 4 * len(cross.axes["fault"])
    coverage = FunctionalCoverage([cross])
    coverage.sample("forwarding", switch="stuck", kind="work", way="host", fault="babble")
    assert coverage.seen("forwarding", switch="stuck", kind="work", way="host", fault="babble") == 1
    assert coverage.covered("forwarding") == 1
    assert len(coverage.holes("forwarding")) == cross.size - 1


@unhurried
@given(SAMPLES)
def test_every_combination_is_seen_a_hole_or_ignored(samples: list[tuple[str, str]]) -> None:
    coverage = filled(samples)
    ignored = {("off", "2"), ("off", "3")}
    assert set(coverage.holes("small")) == set(itertools.product(("on", "off"), "123")) - ignored - set(samples)
    assert coverage.wanted("small") == 4
    assert coverage.covered("small") == len(set(samples) - ignored)
    assert coverage.percentage("small") == 100 * coverage.covered("small") / 4
    wrong = coverage.contradictions("small")
    assert {(bins, count) for bins, _, count in wrong} == {(b, samples.count(b)) for b in ignored & set(samples)}
    for bins in set(samples):
        assert coverage.seen("small", state=bins[0], port=bins[1]) == samples.count(bins)


@unhurried
@given(SAMPLES)
def test_rows_of_holes_are_exactly_the_holes(samples: list[tuple[str, str]]) -> None:
    coverage = filled(samples)
    listed = set()
    for state, ports in heat.holes(coverage, "small"):
        states = SMALL.axes["state"] if state == heat.ANY else (state,)
        below = SMALL.axes["port"] if ports == heat.ANY else tuple(ports.split(", "))
        listed |= {bins for bins in itertools.product(states, below) if SMALL.ignored(bins) is None}
    assert listed == set(coverage.holes("small"))


@unhurried
@given(SAMPLES, SAMPLES)
def test_files_merge_to_what_one_run_would_have_counted(
    tmp_path_factory: pytest.TempPathFactory, one: list[tuple[str, str]], two: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("functional")
    filled(one).save(folder / "one.json")
    filled(two).save(folder / "two.json")
    filled(two[::-1] + one).save(folder / "both.json")
    merged = FunctionalCoverage.load(folder / "one.json")
    merged.merge(FunctionalCoverage.load(folder / "two.json"))
    merged.save(folder / "merged.json")
    assert (folder / "merged.json").read_bytes() == (folder / "both.json").read_bytes()
    assert merged.counts == filled(one + two).counts
    assert sorted(f.name for f in folder.iterdir()) == ["both.json", "merged.json", "one.json", "two.json"]


def test_crosses_that_only_one_file_knows_are_kept(tmp_path: Path) -> None:
    other = FunctionalCoverage([Cross("other", {"a": ("x",)})])
    other.sample("other", a="x")
    merged = filled([("on", "1")])
    merged.merge(other)
    other.sample("other", a="x")  # what is merged doesn't follow
    merged.save(tmp_path / "m.json")
    loaded = FunctionalCoverage.load(tmp_path / "m.json")
    assert loaded.counts == {"small": {("on", "1"): 1}, "other": {("x",): 1}}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"state": "on", "port": "4"}, "axis 'port' has no bin '4'; there are 1, 2, 3"),
        ({"state": "on"}, "no value for port"),
        ({"state": "on", "port": "1", "colour": "red"}, "no axis 'colour'; there are state, port"),
    ],
)
def test_what_is_not_a_combination_is_refused(values: dict[str, str], said: str) -> None:
    with pytest.raises(CoverageError, match=said):
        filled([]).sample("small", **values)


def test_an_unknown_cross_is_refused() -> None:
    with pytest.raises(CoverageError, match="no cross 'big'; there are small"):
        filled([]).sample("big", state="on")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("c", {}), "0 axes; allowed are 1 to 8"),
        (("c", {"a": ()}), "bins must be there, each once"),
        (("c", {"a": ("x", "x")}), "bins must be there, each once"),
        (("c", {"a": ("x\n",)}), "allowed are printable characters"),
        (("c", {str(n): tuple("abcdefghij") for n in range(6)}), "1,000,000 combinations; allowed are 200,000"),
        (("c", {"a": ("x",)}, (Ignore({}, "why"),)), "at least one axis and a reason"),
        (("c", {"a": ("x",)}, (Ignore({"a": ("x",)}, " "),)), "at least one axis and a reason"),
        (("c", {"a": ("x",)}, (Ignore({"b": ("x",)}, "why"),)), "no axis 'b'; there are a"),
        (("c", {"a": ("x",)}, (Ignore({"a": ("y",)}, "why"),)), "axis 'a' has no bin 'y'; there are x"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(arguments: Any, said: str) -> None:
    with pytest.raises(CoverageError, match=said):
        Cross(*arguments)


def test_one_name_is_one_cross() -> None:
    with pytest.raises(CoverageError, match="'small' is defined twice"):
        FunctionalCoverage([SMALL, SMALL])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Cross("small", {"port": ("1",)}), "the axes port; allowed are state, port as in the first file"),
        (Cross("small", {"state": ("on",), "port": ("1", "2", "3")}), "other bins on axis 'state'"),
        (Cross("small", SMALL.axes), r"another list of ignored combinations \(0\) than the first file \(1\)"),
    ],
)
def test_another_definition_does_not_merge(other: Cross, said: str) -> None:
    with pytest.raises(CoverageError, match=rf"b\.json: cross 'small' has {said}"):
        filled([]).merge(FunctionalCoverage([other]), "b.json")


DAMAGES: list[tuple[Callable[[Any], object], str]] = [
    (lambda d: d.update(version=2), "version: found 2; allowed is 1"),
    (lambda d: d.update(format="x"), "format: found 'x'; allowed is 'ringhil functional coverage'"),
    (lambda d: d.update(more=1), "the file: found a key 'more'; no such key is allowed"),
    (lambda d: d.update(crosses={}), "crosses: found {}; allowed is a valid array"),
    (lambda d: d.update(crosses=[{}] * 257), "crosses: found .*; allowed is a list of at most 256"),
    (lambda d: d.update(crosses=d["crosses"] * 2), r"crosses\[1\].name: found 'small'; allowed is each name once"),
    (
        lambda d: d["crosses"][0].pop("hits"),
        r"crosses\[0\]: found \['axes', 'ignore', 'name'\]; needed is 'hits' as well",
    ),
    (lambda d: d["crosses"][0].update(axes=[["a"]]), r"axes\[0\]: found \['a'\]; needed is 1 as well"),
    (lambda d: d["crosses"][0].update(axes=[["a", []]]), "bins must be there, each once"),
    (lambda d: d["crosses"][0].update(name=3), r"name: found 3; allowed is a valid string"),
    (lambda d: d["crosses"][0]["hits"].append([0, 9, 1]), r"hits\[1\]: found .*; allowed is indices below 2, 3"),
    (lambda d: d["crosses"][0]["hits"].append([0, 1]), "allowed is 2 indices of bins and a count"),
    (lambda d: d["crosses"][0]["hits"].append([0, 1, 0]), r"found \[0, 1, 0\]; allowed is a count of 1 to"),
    (lambda d: d["crosses"][0]["hits"].append([0, 1, 1.5]), r"hits\[1\]\[2\]: found 1.5; allowed is a valid integer"),
    (lambda d: d["crosses"][0]["hits"].append([0, 0, 1]), "allowed is each combination once"),
    (lambda d: d["crosses"][0]["hits"].extend([[0, 1, 1]] * 9), "allowed is each combination once"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, damage: Callable[[Any], object], said: str) -> None:
    path = tmp_path / "f.json"
    filled([("on", "1")]).save(path)
    document = json.loads(path.read_text())
    damage(document)
    path.write_text(json.dumps(document))
    with pytest.raises(CoverageError, match=said) as error:
        FunctionalCoverage.load(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff", "[]", "null", '{"a": 1e999}'])
def test_what_is_no_such_file_at_all_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(CoverageError) as error:
        FunctionalCoverage.load(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def attempt(path: Path) -> FunctionalCoverage | str:
    """What is in the file, or why it was refused."""
    try:
        return FunctionalCoverage.load(path)
    except CoverageError as error:
        return str(error)


@unhurried
@given(st.data())
def test_damage_is_refused_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damage") / "f.json"
    filled(data.draw(SAMPLES)).save(path)
    text = path.read_bytes()
    at, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 20))
    path.write_bytes(text[:at] + data.draw(st.binary(max_size=20)) + text[at + length :])
    loaded = attempt(path)
    if isinstance(loaded, str):
        assert loaded.startswith(str(path))
        assert "\n" not in loaded
    else:
        loaded.save(path)
        assert FunctionalCoverage.load(path).counts == loaded.counts


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "f.json").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(CoverageError, match="68,157,440 bytes; allowed are 67,108,864"):
        FunctionalCoverage.load(tmp_path / "f.json")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"f\.json: cannot be written: No such file"):
        filled([]).save(tmp_path / "no" / "f.json")
