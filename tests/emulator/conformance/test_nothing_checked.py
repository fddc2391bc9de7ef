"""A check that has played no case says nothing of a node."""

from pathlib import Path

from ringhil.emulator.conformance.check import CheckSettings, interrupted_check
from ringhil.emulator.conformance.report import CheckReport, RuleVerdict


def test_no_case_is_no_pass() -> None:
    report = CheckReport("rtl", "node", "", "verilator", 1, 1)
    assert (report.ok, report.to_json()["verdict"]) == (False, "not judged")
    report.verdicts["lint.clean"] = RuleVerdict("lint.clean", "no warnings", state="kept")
    report.verdicts["link.spent"] = RuleVerdict("link.spent", "credits")
    assert (report.ok, report.to_json()["verdict"]) == (False, "not judged")
    report.verdicts["link.spent"] = RuleVerdict("link.spent", "credits", state="kept", cases=1)
    assert (report.ok, report.to_json()["verdict"]) == (True, "pass")
    report.verdicts["lint.clean"].state = "broken"
    assert (report.ok, report.to_json()["verdict"]) == (False, "fail")


def test_an_interrupted_check_fails() -> None:
    assert interrupted_check(Path("rtl"), "node", CheckSettings()).verdict == "fail"
