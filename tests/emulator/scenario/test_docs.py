"""docs/reference/scenarios.md says what the code does, and the other pages that list faults list all of them."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from ringhil.emulator.scenario import (
    INVARIANTS,
    GpuRef,
    ScenarioError,
    Settings,
    Trait,
    having,
    json_schema,
    loads,
    loads_variants,
)
from ringhil.emulator.scenario.expect import CHECKS
from ringhil.emulator.scenario.sweep.expression import MAX_LENGTH
from ringhil.emulator.scenario.sweep.sweep import MAX_PARAMETERS, MAX_VARIANTS
from ringhil.protocol.wire import GpuType

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "reference" / "scenarios.md").read_text()


def rows(heading: str, page: str = PAGE) -> dict[str, list[str]]:
    """Table rows of a section, by their first cell."""
    section = page.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {row[0].strip("`"): row[1:] for row in cells}


def test_the_example_loads() -> None:
    example = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)[0]
    assert loads(example).name == "two cards, one GPU dies"


def test_every_setting_stands_there_with_its_default() -> None:
    table = rows("### `settings`")
    assert {name: table[name][1] for name in asdict(Settings())} == {
        name: str(value) for name, value in asdict(Settings()).items()
    }


def test_every_key_of_power_stands_there_with_the_most_that_it_may_be() -> None:
    schema = json_schema()["$defs"]["Power"]["properties"]
    assert {name: row[1] for name, row in rows("### `power`").items() if name in schema} == {
        name: str(key["anyOf"][0]["maximum"]) for name, key in schema.items()
    }


def test_the_page_on_reliability_has_bounds_for_liars_and_for_broken_links() -> None:
    page = (DOCS / "explanation" / "reliability.md").read_text()
    bounds = [set(re.findall(r"`(\w+)`", kinds)) for kinds in re.findall(r"^\| (`.+?) \| C \+", page, re.MULTILINE)]
    assert having(Trait.LIES) in bounds
    assert having(Trait.BREAKS) in bounds


def test_the_largest_jitters_are_those_that_load() -> None:
    (multipliers,) = (line for line in PAGE.splitlines() if line.startswith("| m | 2 |"))
    (jitters,) = (line for line in PAGE.splitlines() if line.startswith("| largest j |"))
    pairs = list(zip(multipliers.split("|")[2:-1], jitters.split("|")[2:-1], strict=True))
    assert [int(multiplier) for multiplier, _ in pairs] == list(range(2, 11))
    for multiplier, jitter in pairs:
        text = "server: {cards: {a: {gpus: 2}}, settings: {keepalive_multiplier: %s, keepalive_jitter: %d}}"
        loads(text % (multiplier, int(jitter)))
        with pytest.raises(ScenarioError, match=f"of at most {int(jitter)} percent"):
            loads(text % (multiplier, int(jitter) + 1))


def test_the_sweeps_load_and_are_as_many_as_the_page_says() -> None:
    failures, neighbours = (text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if "sweep:" in text)
    variants = loads_variants(failures)
    assert f"{len(variants):,} variants" in PAGE
    assert f"[{variants.find('gpus=a.3+a.5').text}]`" in PAGE
    found = [variant.scenario for variant in loads_variants(neighbours)]
    assert len(found) == (3 + 7 + 15) * 5
    for scenario in found:
        first, second = (event.target for event in scenario.timeline)
        assert isinstance(first, GpuRef)
        assert isinstance(second, GpuRef)
        assert second.index == (first.index + 1) % scenario.server.card("a").gpus
    for limit in (MAX_VARIANTS, MAX_PARAMETERS, MAX_LENGTH):
        assert re.search(rf"at most {limit:,} | and {limit:,} ", PAGE)


def test_every_way_to_say_the_values_of_a_parameter_stands_there() -> None:
    written = [row[0].strip("`") for row in rows("## `sweep`").values()][2:]
    server = "server: {cards: {a: {gpus: 8}, b: {gpus: 4}}, boundary_links: [{from: a.4, to: b.1}]}\n"
    sizes = [len(loads_variants(f"{server}sweep: {{{line}}}\nname: x ${{{line.split(':')[0]}}}")) for line in written]
    assert sizes == [2, 11, 7, 8, 1, 8 + 28]


def test_every_invariant_stands_there_as_in_the_schema() -> None:
    keys = json_schema()["$defs"]["Invariants"]["properties"]
    table = rows("## `invariants`")
    assert {name: table[name][0] for name in INVARIANTS} == {name: keys[name]["description"] for name in INVARIANTS}


def test_the_expectations_of_the_page_load() -> None:
    (expect,) = (text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if text.startswith("expect:"))
    by, always, end = loads("server: {cards: {a: {gpus: 8}, b: {gpus: 8}}}\nworkload: {units: 1}\n" + expect).expect
    assert [item.kind for item in (by, always, end)] == ["by", "always", "end"]


def test_every_expectation_stands_in_their_table() -> None:
    """Elsewhere on the page the same word may mean something else."""
    table = PAGE.split("\n## `expect`")[1].split("\n## ")[0]
    assert len(CHECKS) > 5
    assert [check.KEY for check in CHECKS if f"`{check.KEY}" not in table] == []


def test_every_key_and_gpu_type_stands_there() -> None:
    schema = json_schema()
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part["properties"]}
    assert not {key for key in keys | GpuType.codes().keys() if not re.search(f"[`{{]{key}[`:]", PAGE)}
