"""The campaign that puts mistakes into firmware and CPU: which mistakes, in which order, and what is said of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.mutation_firmware import campaign, kept
from benchmarks.mutation_firmware.__main__ import main
from benchmarks.mutation_firmware.campaign import Campaign
from benchmarks.mutation_firmware.found import Fate, Found
from benchmarks.mutation_firmware.loading import check, plant
from benchmarks.mutation_firmware.mutant import ROOT, Mutant
from benchmarks.mutation_firmware.points import choose, mutants, sources
from benchmarks.mutation_firmware.report import Report
from benchmarks.mutation_firmware.results import Results, ResultsError

import ringhil.firmware.liveness
from ringhil.emulator.forks import ForkedError

SOURCE = '''
"""Not 1 + 2."""
import logging
LIMIT = 3
Program = Generator[int | str, int | None, None]
Either = int | str
_log = logging.getLogger(f"{LIMIT + 1}")
class Box:
    """Not here."""
    size: int = 7
    def __init__(self, size: int = 0) -> None:
        self.size = size
    def __repr__(self) -> str:
        return str(self.size + 1)
    def full(self, more: list[int]) -> bool:
        assert self.size > 0
        if not more and self.size >= LIMIT:
            raise ValueError("at most %d" % (LIMIT + 1))
        self.size += 1
        _log.info("%d", self.size + 1)
        return isinstance(more, list | tuple) or len(more + [1]) == 2
'''


def changes(text: str) -> set[tuple[str, str, str]]:
    return {(m.operator, m.before, m.after) for m in mutants("firmware/box.py", text)}


# ------------------------------------------------------------------------------------------------- which mistakes


def test_every_operator_is_tried_and_nothing_else() -> None:
    both = "not more and self.size >= LIMIT"
    either = "isinstance(more, list | tuple) or len(more + [1]) == 2"
    equal = "len(more + [1]) == 2"
    assert changes(SOURCE) == {
        ("constant", "3", "4"),
        ("constant", "3", "2"),
        ("default", "7", "8"),
        ("default", "7", "6"),
        ("default", "0", "1"),
        ("condition", both, f"(not ({both}))"),
        ("boolean", both, "(not more or self.size >= LIMIT)"),
        ("boolean", both, "(not more)"),
        ("boolean", both, "(self.size >= LIMIT)"),
        ("boolean", "not more", "(more)"),
        ("compare", "self.size >= LIMIT", "(self.size > LIMIT)"),
        ("compare", "self.size >= LIMIT", "(self.size < LIMIT)"),
        ("delete", 'raise ValueError("at most %d" % (LIMIT + 1))', "pass"),
        ("delete", "self.size += 1", "pass"),
        ("arithmetic", "self.size += 1", "self.size -= 1"),
        ("constant", "1", "2"),
        ("constant", "1", "0"),
        ("return", either, f"not ({either})"),
        ("boolean", either, "(isinstance(more, list | tuple) and len(more + [1]) == 2)"),
        ("boolean", either, "(isinstance(more, list | tuple))"),
        ("boolean", either, f"({equal})"),
        ("compare", equal, "(len(more + [1]) != 2)"),
        ("list", "more + [1]", "(more)"),
        ("list", "more + [1]", "([1])"),
        ("constant", "2", "3"),
        ("constant", "2", "1"),
    }


@pytest.mark.parametrize(
    ("kind", "new"), [("list[int]", "[]"), ("tuple[int, ...]", "()"), ("int | None", "None"), ("int", "(f()) + 1")]
)
def test_what_is_returned_is_changed_by_its_type(kind: str, new: str) -> None:
    assert changes(f"def g() -> {kind}:\n    return f()\n") == {("return", "f()", new)}


def test_a_character_of_several_bytes_moves_nothing() -> None:
    text = 'A = "é"; B = f("é", 1 - b)\n'
    (found,) = (m for m in mutants("firmware/a.py", text) if m.operator == "arithmetic")
    assert found.applied(text) == 'A = "é"; B = f("é", (1 + b))\n'
    assert found.diff(text) == "@@ -1 +1 @@\n-" + text[:-1] + "\n+" + found.applied(text)[:-1]


@pytest.mark.slow(part="benches")
def test_every_mutant_of_the_sources_is_python_and_another_text() -> None:
    texts = sources()
    every = [m for file, text in texts.items() for m in mutants(file, text)]
    assert len(every) > 1500
    assert {m.file for m in every} > {"firmware/census.py", "emulator/host/policy/round_robin.py"}
    made = set()
    for mutant in every:
        text = mutant.applied(texts[mutant.file])
        compile(text, mutant.file, "exec")
        made.add((mutant.file, text))
    assert len(made) == len(every) == len({m.key for m in every})
    assert all((mutant.file, texts[mutant.file]) not in made for mutant in every)


@pytest.mark.rest
def test_the_seed_chooses_and_fewer_are_the_first_ones() -> None:
    texts = sources()
    assert choose(50, 1, texts) == choose(200, 1, texts)[:50]
    assert choose(50, 2, texts) != choose(50, 1, texts)
    only = choose(500, 1, texts, [("firmware/liveness.py", "FORGIVEN_AFTER = 8")])
    assert {(m.before, m.after) for m in only} == {("8", "9"), ("8", "7")}


# ------------------------------------------------------------------------------------------------- what is said of them

LIVENESS = "firmware/liveness.py"

# Plays a few mistakes on one scenario and some explored cases; in a process of its own, for here all is loaded.
PLAYED = """
import json, sys
from benchmarks.mutation_firmware.campaign import EXPLORED, Campaign, Plays, run
from benchmarks.mutation_firmware.mutant import ROOT, Mutant
from benchmarks.mutation_firmware.points import sources
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import load

texts = sources()
def made(file, before, after):
    start = texts[file].encode().index(before.encode())
    return Mutant(file, start, start + len(before.encode()), 1, "", "test", before, after)

one = {"one": load(ROOT / "examples" / "one-card.yaml")}
campaign = Campaign(texts, Plays(cells_library(), one, load(EXPLORED), 400, patience=4))
wrong = campaign.prepare()
assert not wrong, wrong
todo = [made(*words) for words in json.loads(sys.argv[1])]
for fate, _ in run(campaign, todo, 1, lambda mutant: None):
    found = {name: found.to_json() for name, found in fate.found.items()}
    print(json.dumps({"found": found, "visible": fate.visible, "judged": fate.judged, "killed": fate.killed}))
"""
WRONG = {
    "counted once more": (
        "firmware/verdict.py",
        "return Arm(frame.count, None if",
        "return Arm(frame.count + 1, None if",
    ),
    "counted twice": ("emulator/host/work/accepting.py", "work.completed += 1", "work.completed += 2"),
    "raises": ("firmware/census.py", "self.sequence += 1", "self.sequence += []"),
    "writes no document": (
        "emulator/host/work/accepting.py",
        "work.completed += 1",
        "work.completed += __import__('fractions').Fraction(1)",
    ),
    "never ends": ("firmware/census.py", "self.sequence += 1", "while True: pass"),
    "later": ("firmware/timing.py", "KEEPALIVE_FLITS = 7", "KEEPALIVE_FLITS = 8"),
    "no mistake": ("emulator/host/policy/proportional.py", "units * weight // total", "weight * units // total"),
}


played = pytest.mark.slow(part="bugs")


@pytest.fixture(scope="module")
def fates() -> dict[str, dict[str, Any]]:
    command = [sys.executable, "-c", PLAYED, json.dumps(list(WRONG.values()))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(WRONG, map(json.loads, done.stdout.splitlines()), strict=True))


@played
def test_what_fails_is_found_by_each(fates: dict[str, dict[str, Any]]) -> None:
    found = fates["counted once more"]["found"]
    assert found["units"]["by"].startswith("tests/firmware/test_verdict.py::")
    assert found["verify"]["by"] == "one"
    assert "expectation: expected" in found["verify"]["why"]
    assert found["explore"]["by"]
    assert fates["counted twice"]["found"]["units"]["by"].startswith("tests/emulator/host/work/test_accepting.py::")


@played
def test_what_raises_is_found(fates: dict[str, dict[str, Any]]) -> None:
    found = fates["raises"]["found"]
    assert "TypeError" in found["verify"]["why"]
    assert found["explore"]["by"] == "settle"
    assert found["units"]["by"].startswith("tests/firmware/test_census.py::")


@played
def test_what_spoils_the_document_is_found(fates: dict[str, dict[str, Any]]) -> None:
    why = fates["writes no document"]["found"]["verify"]["why"]
    assert "Fraction is not JSON serializable" in why


@played
def test_what_comes_to_no_end_is_not_found_by_verify_but_seen(fates: dict[str, dict[str, Any]]) -> None:
    """There is no exit code; whoever waits for one sees that."""
    fate = fates["never ends"]
    assert fate["killed"]
    assert not fate["judged"]
    assert fate["found"]["verify"] == {"by": "", "why": "", "played": 0, "differs": False, "hung": True}
    assert fate["visible"]


@played
def test_what_differs_is_visible_without_being_found(fates: dict[str, dict[str, Any]]) -> None:
    fate = fates["later"]
    assert fate["visible"] == (fate["found"]["verify"]["differs"] or fate["found"]["explore"]["differs"])
    assert not fate["judged"]


@played
def test_what_is_no_mistake_is_neither_found_nor_visible(fates: dict[str, dict[str, Any]]) -> None:
    fate = fates["no mistake"]
    assert not fate["killed"]
    assert not fate["visible"]
    assert fate["found"]["units"]["played"] > 5
    assert fate["found"]["verify"]["played"] == 1
    assert fate["found"]["explore"]["played"] > 3


@pytest.mark.parametrize("said", ["died of SIGXCPU", "MemoryError: (write, line 156)"])
def test_what_takes_all_time_or_memory_has_no_end(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it leaves no memory to say what was found."""

    def forked(what: object, limit: float) -> Found:
        raise ForkedError(said)

    monkeypatch.setattr(campaign, "forked", forked)
    assert Campaign.__new__(Campaign)._run("units", None) == Found(hung=True)


def test_a_mistake_is_not_planted_where_it_would_come_too_late() -> None:
    assert ringhil.firmware.liveness.__name__ in sys.modules
    with pytest.raises(RuntimeError, match=r"loaded already: .*ringhil\.firmware\.liveness"):
        plant(None, {})


def test_what_was_loaded_by_another_loader_is_no_mutant() -> None:
    """Or a finder that loads the source by itself would find nothing, and nobody would know."""
    with pytest.raises(RuntimeError, match=r"ringhil\.firmware\.liveness was loaded by .*, without the mistake"):
        check(mutant())


@pytest.mark.slow(part="bugs")
def test_the_command_plays_what_has_no_result_yet(tmp_path: Path) -> None:
    """A mistake in what a GPU answers is found by all three; the second time nothing is played."""
    out = tmp_path / "results.jsonl"
    options = (
        "3",
        "--at",
        "emulator/host/work/workload.py:return crc.crc32(padded)",
        "--quick",
        "--json",
        "--out",
        str(out),
    )
    reports = []
    for words in (("mutants; without a mistake",), ()):
        command = [sys.executable, "-m", "benchmarks.mutation_firmware", *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert all(word in done.stderr for word in words)
        assert bool(done.stderr) == bool(words)
        reports.append(json.loads(done.stdout))
    assert reports[0] == reports[1]
    assert reports[0]["mutants"] == reports[0]["verify"] == reports[0]["explore"] == 3
    assert len(out.read_text().splitlines()) == 4


# ------------------------------------------------------------------------------------------------------------ results


def mutant(after: str = "9", file: str = LIVENESS) -> Mutant:
    text = "A = 8\n"
    return Mutant(file, 4, 5, 1, "", "constant", text[4:5], after)


def fate(of: Mutant, *, units: str = "", verify: str = "", explore: str = "", differs: bool = False) -> Fate:
    return Fate(of, {"units": Found(units), "verify": Found(verify, differs=differs), "explore": Found(explore)})


def test_a_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    path, head = tmp_path / "below" / "results.jsonl", {"sources": "a"}
    results = Results(path, head)
    results.add(fate(mutant("9"), verify="x"), "A = 8\n", 2.0)
    results.add(fate(mutant("7")), "A = 8\n", 3.0)
    with path.open("a") as out:
        out.write('{"mutant": "torn')
    again = Results(path, head)
    assert again.fate(mutant("9")) == fate(mutant("9"), verify="x")
    assert again.fate(mutant("6")) is None
    again.add(fate(mutant("7"), explore="y"), "A = 8\n", 4.0)
    last = Results(path, head)
    assert last.fate(mutant("7")) == fate(mutant("7"), explore="y")
    assert last.seconds == 9.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"sources": "b"}\n', "line 1: sources is 'b', but now 'a'"),
        ('{"sources": "a"}\nno\n', "line 2: no JSON object"),
        ('{"sources": "a"}\n{"mutant": "x"}\n', "line 2: no result"),
    ],
)
def test_a_file_of_something_else_is_refused_and_kept(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(text)
    with pytest.raises(ResultsError, match=said):
        Results(path, {"sources": "a"})
    assert path.read_text() == text


def test_wrong_input_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("x\n")
    for options in (["--out", str(path)], ["--at", "rtl/gpu_node.sv:x"], ["--at", f"{LIVENESS}:nowhere at all"], ["0"]):
        monkeypatch.setattr(sys, "argv", ["mutation_firmware", *options])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2, options
        told = capsys.readouterr()
        assert len(told.err.splitlines()) == 1 or told.err.startswith("usage: ")
        assert told.out == ""


# ------------------------------------------------------------------------------------------------------ kept and report


def entry(**changed: str) -> dict[str, str]:
    known = {"file": LIVENESS, "function": "", "line": "A =", "after": "9", "kind": "allowed", "reason": "so"}
    return {**known, **changed}


def test_a_kept_mutant_is_matched_by_its_source() -> None:
    known = kept.Kept(**entry())
    assert known.covers(mutant("9"), "A = 8\n")
    assert not known.covers(mutant("90"), "A = 8\n")
    assert not known.covers(mutant("9"), "B = 8\n")
    assert not known.covers(mutant("9", "firmware/links.py"), "A = 8\n")


@pytest.mark.parametrize(
    ("changed", "said"), [({"kind": "fine"}, "kind is 'fine'"), ({"more": ""}, "entry 0: an object")]
)
def test_a_wrong_entry_is_refused(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    path = tmp_path / "kept.json"
    path.write_text(json.dumps([entry(**changed)]))
    with pytest.raises(ValueError, match=said):
        kept.load(path)


def test_every_kept_entry_fits_a_mutant_of_the_sources() -> None:
    """One that fits none is about sources that are no more."""
    texts = sources()
    every = [m for file, text in texts.items() for m in mutants(file, text)]
    assert [e for e in kept.load() if not any(e.covers(m, texts[m.file]) for m in every)] == []


def test_what_is_counted() -> None:
    texts = {LIVENESS: "A = 8\n"}
    names = [f"{n}0" for n in range(1, 9)]
    fates = [
        fate(mutant(names[0]), units="t", verify="v", explore="e"),
        fate(mutant(names[1]), verify="v"),
        fate(mutant(names[2]), units="t", differs=True),  # visible, and nobody who judges runs finds it
        fate(mutant(names[3]), units="t"),
        fate(mutant(names[4])),
        fate(mutant(names[5]), differs=True),  # allowed
        fate(mutant(names[6])),  # equivalent
        fate(mutant(names[7]), units="t", differs=True),  # allowed, and a unit test says more
    ]
    known = [
        kept.Kept(**entry(after=names[5])),
        kept.Kept(**entry(after=names[6], kind="equivalent")),
        kept.Kept(**entry(after=names[7])),
    ]
    report = Report(fates, texts, known, 1.0)
    counts = report.counts()
    assert (counts["units"], counts["verify"], counts["explore"]) == (4, 2, 1)
    assert (counts["verify or explore"], counts["all together"], counts["visible"]) == (2, 5, 5)
    assert (counts["survivors"], counts["survivors unexplained"]) == (3, 1)
    assert (counts["survivors kept as allowed"], counts["survivors kept as equivalent"]) == (1, 1)
    assert [f.mutant.after for f in report.unexplained] == [names[4]]
    assert [f.mutant.after for f in report.unjudged] == [names[2]]
    assert report.found == 5 / 6
    assert report.judged == 2 / 3
    assert not report.good
    assert Report(fates[:2], texts, known, 1.0).good
    assert Report(fates, texts, known, 1.0, drawn=True).good  # so few say nothing
    left = [fate(mutant(f"{n}0"), verify="v") if n < 13 else fate(mutant(f"{n}1")) for n in range(1, 20)]
    assert [Report(left[:n], texts, known, 1.0, drawn=True).good for n in (16, 17, 18)] == [True, True, False]
    text = "\n".join(report.lines())
    assert "  +A = 50\n  not explained" in text
    assert "found 83.3 %" in text
    assert len(report.to_json()["list"]) == len(fates)
