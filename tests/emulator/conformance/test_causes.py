"""Broken rules are grouped by what is likely behind them; every rule is in one group."""

from ringhil.emulator.conformance.causes import causes, symptom
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
    found = causes(broken)
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
    found = causes(list(reversed(broken)))
    assert [c.rules for c in found[:2]] == [("rtl.ends",), ("rtl.lint",)]
    assert sorted(rule for c in found for rule in c.rules) == sorted(b.rule for b, _ in broken)
    assert len(found) == 5
