"""A node is judged by what it has: rules of contexts and of the meter say nothing of one without them."""

from pathlib import Path

import pytest
from tests.command import ringhil

from ringhil.emulator.conformance.check import CheckSettings, check
from ringhil.emulator.conformance.rule import all_rules, cases_of
from ringhil.emulator.engine.library import RTL
from ringhil.emulator.testbench.player import Observed

THIRD_PARTY = Path(__file__).parents[3] / "examples" / "third-party" / "rtl"
LACKED = {"contexts.again": "contexts", **dict.fromkeys(("power.meets", "power.states", "power.time"), "meter")}


def test_a_node_without_contexts_and_meter_is_not_judged_by_their_rules(tmp_path: Path) -> None:
    report = check(THIRD_PARTY, "other_node", CheckSettings(rules=tuple(LACKED), out=tmp_path, waves=False))
    assert {rule: (report.verdicts[rule].state, report.verdicts[rule].what) for rule in LACKED} == {
        rule: ("not judged", f"the node has no {part}") for rule, part in LACKED.items()
    }
    assert report.verdict == "not judged"
    whys = {rule["why"] for rule in report.to_json()["rules"] if rule["rule"] in LACKED}
    assert whys == {"the node has no contexts", "the node has no meter"}


@pytest.mark.rest
def test_the_command_says_why_nothing_is_judged(tmp_path: Path) -> None:
    arguments = ("rtl", "check", "--rtl", str(THIRD_PARTY), "--top", "other_node", "--rule", "contexts.again")
    done = ringhil(*arguments, "--out", str(tmp_path))
    assert (done.returncode, done.stderr.strip()) == (2, f"ringhil: {THIRD_PARTY}: the node has no contexts")


@pytest.mark.parametrize("rule", [name for name in all_rules() if name.startswith("contexts.")])
def test_what_a_node_without_contexts_does_breaks_no_rule_of_them(rule: str) -> None:
    for case in cases_of(all_rules()[rule], seed=1, effort=1):
        assert case.lacking == "contexts"
        assert case.judge(case.stimulus, Observed(registers={"contexts": 0})) == []


@pytest.mark.rest
def test_what_is_found_does_not_depend_on_how_many_simulations_share_the_rules(tmp_path: Path) -> None:
    """Nor on which of them is the first to play a rule."""
    rules = ("control.count", "control.home", "link.down", "contexts.again")
    found = [check(RTL, settings=CheckSettings(rules=rules, out=tmp_path, jobs=jobs)).to_json() for jobs in (1, 3)]
    assert found[0] == found[1]
    assert {rule["state"] for rule in found[0]["rules"] if rule["rule"] in rules} == {"kept"}
