"""Broken rules are grouped by what is likely behind them; every rule is in one group."""

import io
import re

import pytest
from rich.console import Console

from ringhil.emulator.conformance.causes import Broken, causes, symptom
from ringhil.emulator.conformance.report import CheckReport, RuleFinding, RuleVerdict
from ringhil.emulator.conformance.show import errors, show
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.stimulus import Fault, Stimulus

WRONG = "a statistics frame of 'lane {lane}' left wrong: count is {found}, must be 3; hop is 4, must be 3 (from GPU 2)"


def stimulus(actions: int, cycles: int) -> Stimulus:
    return Stimulus(tuple(Fault(2 + i, "dead", True) for i in range(actions)), cycles)


def wrong(rule: str, port: str, lane: int, found: int) -> Breach:
    return Breach(rule, 9, f"{port}: {WRONG.format(lane=lane, found=found)}")


def test_the_same_mistake_has_the_same_symptom_whatever_the_numbers() -> None:
    here, there = wrong("r", "p1", 1, 4), Breach("r", 900, f"p1: {WRONG.format(lane=0, found=70_000)[:-13]}")
    assert symptom(here) == symptom(there)
    assert symptom(here).kind == "statistics"
    assert symptom(here).place == "p1"
    others = [
        wrong("r", "p2", 1, 4),
        wrong("q", "p1", 1, 4),
        Breach("r", 9, "p1: a keepalive frame of 'lane 1' left wrong: count is 4, must be 3"),
        Breach("r", 9, "p1: a statistics frame of 'lane 1' left wrong: ttl is 4, must be 3"),
        Breach("r", 9, "p1: a statistics frame of 'lane 1' never left"),
    ]
    assert len({symptom(b) for b in (here, *others)}) == 6


def test_places_of_a_breach() -> None:
    texts = {
        "mailbox 1: a frame was never handed over (x)": "mailbox 1",
        "register wraps is 2, must be 1": "register wraps",
        "host: 3 credits given for 2 data frames": "host",
        "3 marked frames after 2 losses": "",
    }
    assert {text: symptom(Breach("r", 1, text)).place for text in texts} == texts


def test_one_output_and_one_fault_are_one_cause_with_the_simplest_rule_first() -> None:
    broken = [
        (wrong("control.traffic", "p1", 1, 4), stimulus(9, 40)),
        (wrong("control.count", "p2", 0, 6), stimulus(1, 24)),
        (Breach("mailbox.mute", 3, "register mutes is 2, must be 1"), stimulus(3, 20)),
        (wrong("control.long", "p2", 0, 7), stimulus(1, 300)),
        (Breach("switch.dies", 9, "p2: a statistics frame of 'lane 0' never left"), stimulus(2, 9)),
        (Breach("data.order", 9, "p2: a work frame that came by p1 left wrong: ttl is 2, must be 1"), stimulus(4, 9)),
    ]
    found = causes([Broken(*one) for one in broken])
    assert [c.rules for c in found] == [
        ("control.count", "control.long", "switch.dies", "control.traffic"),
        ("mailbox.mute",),
        ("data.order",),
    ]
    assert [c.where for c in found] == ["ring port", "register mutes", "ring port"]
    assert found[0].what == broken[1][0].what


def test_what_needs_no_simulation_comes_first_and_nothing_is_left_out() -> None:
    broken: list[tuple[Breach, Stimulus | None]] = [
        (Breach(rule, 0, "a data frame"), None) for rule in ("rtl.lint", "rtl.ends")
    ]
    broken += [(Breach(f"g.r{i}", 1, f"p1: fault {'abc'[i % 3]}"), stimulus(i + 1, 9)) for i in range(9)]
    found = causes([Broken(*one) for one in reversed(broken)])
    assert [c.rules for c in found[:2]] == [("rtl.ends",), ("rtl.lint",)]
    assert sorted(rule for c in found for rule in c.rules) == sorted(b.rule for b, _ in broken)
    assert len(found) == 5


def test_what_breaks_first_in_a_case_is_behind_what_breaks_later_in_it() -> None:
    first = wrong("control.count", "p2", 0, 6)
    later = Breach("registers.forwarded", 40, "register forwarded is 2, must be 1")
    alone = Breach("registers.faulty", 40, "register faulty is 2, must be 1")
    found = causes(
        [Broken(first, stimulus(1, 24)), Broken(later, stimulus(2, 50), first), Broken(alone, stimulus(2, 50))]
    )
    assert [c.rules for c in found] == [("control.count", "registers.forwarded"), ("registers.faulty",)]


@pytest.mark.parametrize("ways", [1, 2, 42])
def test_one_broken_rule_is_shown_and_the_others_are_counted(ways: int) -> None:
    report = CheckReport("mynode", "my_node", "", "verilator", 1, 1)
    report.verdicts["a.kept.one"] = RuleVerdict("a.kept.one", "demand", state="kept", cases=1)
    for number in range(ways):
        for copy in range(2):
            breach = Breach(f"group{number}.rule{copy}", 9, f"register r{number} is 2, must be 1")
            verdict = report.verdicts[breach.rule] = RuleVerdict(breach.rule, f"demand {number} {copy}")
            verdict.broken_by(RuleFinding(breach, breach.rule, "a case", 0, stimulus(number + 1, 9)))
    written = Console(record=True, width=120, file=io.StringIO())
    show(report, written)
    (rules, shown), told = written.export_text().split("\n\n", 1), report.to_json()
    assert [line.split()[1] for line in rules.splitlines()[1:]] == [*["broken"] * 2 * ways, "kept"]
    assert [line.startswith("::error title=ringhil rtl check%3A group") for line in errors(report)] == [True] * ways
    assert [line for line in shown.splitlines() if "must be" in line] == ["  cycle 9: register r0 is 2, must be 1"]
    assert "also group0.rule1" in shown
    more = re.search(r"^(\d+) more rules are broken in (\d+) other ways?,", shown, re.MULTILINE)
    assert (more.groups() if more else None) == (None if ways == 1 else (f"{2 * ways - 2}", f"{ways - 1}"))
    groups = {rule: number for number, cause in enumerate(told["causes"], start=1) for rule in cause["rules"]}
    assert {entry["rule"]: entry["cause"] for entry in told["rules"] if "cause" in entry} == groups
    assert len(groups) == 2 * ways
