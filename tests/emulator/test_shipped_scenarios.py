"""The scenarios in tests/scenarios: one folder for each row of the fault catalogue; all pass, and none by chance.

Each run carries every expectation of its file a second time, made wrong: what still holds then says nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.emulator.judge.playing import play
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library
from ringhil.emulator.scenario import (
    FAULTS,
    BoundaryIs,
    BreakIs,
    Check,
    CountIs,
    EntryIs,
    EpochIs,
    EventAction,
    Expectation,
    FaultTarget,
    Gap,
    GpuRef,
    IsolatedAre,
    LinkRef,
    MembersAre,
    ReachableIs,
    Scenario,
    StrandedAre,
    Variants,
    WorkIs,
    load_variants,
)
from ringhil.emulator.scenario.expect import LentAre, LinkIs, SuspectsAre

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "tests" / "scenarios"
FILES = sorted(SHIPPED.rglob("*.yaml"))
LARGE = ROOT / "examples" / "sweeps" / "one-or-two-of-64.yaml"
# Rows of the catalogue that are not one fault alone, and how files name them.
MIXED = {"lent": "lent", "entry_dies": "entry dies", "all_dead": "all ", "two_at_once": "any two faults at once"}
ROWS = {**{kind: kind for kind in FAULTS}, **MIXED}

# Said in the head of a file that passes without its faults as well. That the fault was at work is judged by the
# invariants (a liar is named, a slow GPU or link reported), or shown by the file beside it in which more of the same
# does change something.
UNCHANGED = "Expects no change."


@cache
def variants(file: Path) -> Variants:
    return load_variants(file)


def name(file: Path) -> str:
    return file.relative_to(SHIPPED).with_suffix("").as_posix()


def head(file: Path) -> str:
    """The comments of a file."""
    return "".join(line for line in file.read_text().splitlines(keepends=True) if line.startswith("#"))


def mutants(scenario: Scenario) -> tuple[Expectation, ...]:
    """Each check by itself, wrong. None of `truth`: what it says depends on the faults alone.

    What has to come true `by` a cycle may be wrong and yet have been true before: there a mutant is about that cycle.
    """
    return tuple(
        replace(item, kind="at" if item.kind == "by" else item.kind, checks=(wrong,))
        for item in scenario.expect
        for check in item.checks
        for wrong in wrongs(check, scenario)
    )


def wrongs(check: Check, scenario: Scenario) -> Iterator[Check]:
    match check:
        case CountIs() | EpochIs():
            yield replace(check, expected=check.expected + 1)
        case MembersAre() | StrandedAre() | IsolatedAre() | SuspectsAre() | LentAre():
            yield replace(check, expected=changed(check.expected))
        case ReachableIs():
            yield replace(check, expected=not check.expected)
        case EntryIs() | BoundaryIs():
            yield replace(check, gpu=GpuRef(check.card, 0) if check.gpu is None else None)
        case BreakIs():
            gap = Gap(GpuRef(check.card, 0), GpuRef(check.card, 1), scenario.server.card(check.card).gpus)
            yield replace(check, gap=gap if check.gap is None else None)
        case LinkIs():
            link = LinkRef(check.card, 0, scenario.server.card(check.card).gpus)
            yield replace(check, link=link if check.link is None else None)
        case WorkIs():
            for field in ("completed", "lost", "duplicated"):
                if (number := getattr(check, field)) is not None:
                    yield replace(WorkIs(None, None, None), **{field: number + 1})


def changed(gpus: tuple[int, ...]) -> tuple[int, ...]:
    """With GPU 0, or without it."""
    return gpus[1:] if gpus[:1] == (0,) else (0, *gpus)


def passes_and_means_it(file: Path, numbers: Sequence[int], library: Library) -> None:
    for number in numbers:
        variant = variants(file)[number]
        scenario, wrong = variant.scenario, mutants(variant.scenario)
        assert wrong, "nothing is expected but the truth"
        outcome = play(replace(scenario, expect=(*scenario.expect, *wrong)), library)
        where = f"{name(file)} [{variant.text}]"
        assert outcome.violations == (), where
        asked, made_wrong = outcome.expect[: len(scenario.expect)], outcome.expect[len(scenario.expect) :]
        assert [f"{e.text}; found {e.found}" for e in asked if not e.ok] == [], where
        assert [e.text for e in made_wrong if e.ok] == [], where


# ------------------------------------------------------------------------------------------- what the files are


def test_every_row_of_the_catalogue_has_scenarios() -> None:
    assert {file.parent.name for file in FILES} == set(ROWS)
    assert all(file.parent.parent == SHIPPED for file in FILES)


def test_every_fault_of_a_gpu_strikes_just_as_another_gpu_dies() -> None:
    file = SHIPPED / "two_at_once" / "every-kind-and-a-death.yaml"
    struck = {event.kind for variant in variants(file) for event in variant.scenario.timeline}
    assert struck == {kind for kind, fault in FAULTS.items() if fault.hits == FaultTarget.GPU}


def test_they_are_at_least_100() -> None:
    assert sum(len(variants(file)) for file in FILES) >= 100


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_file_says_what_it_shows(file: Path) -> None:
    assert file.read_text().startswith(head(file))
    assert f"Row: {ROWS[file.parent.name]}" in head(file)
    assert "Requirements: R" in head(file)


def test_every_requirement_of_the_ring_is_named() -> None:
    heads = "\n".join(file.read_text().split("\nname:")[0] for file in FILES)
    assert [n for n in range(1, 11) if f"R{n}," not in heads and f"R{n}." not in heads] == []


@pytest.mark.parametrize("file", FILES, ids=name)
def test_the_faults_are_those_of_the_row(file: Path) -> None:
    """Of every variant; this loads and checks them all."""
    row = file.parent.name
    for variant in variants(file):
        struck = [event for event in variant.scenario.timeline if event.action == "fault"]
        if row in FAULTS:
            assert row in {event.kind for event in struck}
        elif row == "lent":
            assert EventAction.LEND in {event.action for event in variant.scenario.timeline}
        elif row == "entry_dies":
            first = variant.scenario.server.cards[0]
            assert GpuRef(first.name, first.host_links[0]) in {event.target for event in struck}
        elif row == "two_at_once":
            assert len(struck) >= 2
        else:
            hit = {event.target for event in struck}
            rings = [[GpuRef(card.name, gpu) for gpu in range(card.gpus)] for card in variant.scenario.server.cards]
            assert any(len(hit.intersection(ring)) >= len(ring) - 1 for ring in rings)


# ------------------------------------------------------------------------------------------- what they come to


@pytest.mark.rest(but_one_in=9)
@pytest.mark.parametrize("file", sampled(FILES, "scenarios", 2), ids=name)
def test_the_first_and_last_variant_pass_and_mean_it(file: Path, library: Library) -> None:
    passes_and_means_it(file, sorted({0, len(variants(file)) - 1}), library)


@pytest.mark.slow(part="scenarios")
@pytest.mark.parametrize("file", FILES, ids=name)
def test_every_variant_passes_and_means_it(file: Path, library: Library) -> None:
    passes_and_means_it(file, range(len(variants(file))), library)


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize("file", sampled(FILES, "scenarios", 3), ids=name)
def test_without_its_faults_a_file_fails(file: Path, library: Library) -> None:
    """Unless its head says that nothing changes."""
    scenario = variants(file)[0].scenario
    outcome = play(replace(scenario, timeline=()), library)
    assert (outcome.verdict == "pass") == (UNCHANGED in head(file))


def test_the_large_sweep_is_2080_and_some_of_it_passes(library: Library) -> None:
    """Alone, in pairs, side by side, opposite; the entry GPU, its successor, both."""
    assert len(variants(LARGE)) == 2080
    for gpus in ("a.0", "a.33", "a.0+a.1", "a.0+a.40", "a.1+a.2", "a.31+a.32", "a.62+a.63"):
        outcome = play(variants(LARGE).find(f"gpus={gpus}").scenario, library)
        assert outcome.failures == (), gpus
        gone = {int(gpu.split(".")[1]) for gpu in gpus.split("+")}
        assert set(outcome.cards["a"].members) == set(range(64)) - gone
