"""A check that has played no case says nothing of a node."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ringhil.emulator.build.node_rtl import OURS
from ringhil.emulator.conformance.check import TOP, CheckSettings, check, interrupted_check
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


@pytest.mark.slow(part="outside")
def test_a_simulator_that_somebody_kills_says_nothing_of_the_node(tmp_path: Path) -> None:
    """The rule that it was at isn't judged; those that come after it are played by another simulator."""

    def kill() -> None:
        while not (running := simulators()):
            time.sleep(0.002)
        os.kill(running[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    report = check(OURS, settings=CheckSettings(rules=("link.crc", "link.cut"), out=tmp_path))
    killer.join()
    states = {v.rule: v.state for v in report.verdicts.values() if v.rule in ("link.crc", "link.cut")}
    assert (report.verdict, report.broken) == ("not judged", [])
    assert sorted(states.values()) == ["kept", "not judged"]
    assert "SIGKILL" in report.killed


def simulators() -> list[int]:
    """Processes of ours that play a rule by now."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and path.joinpath("comm").read_text().strip() == TOP:
                out = dict(e.split("=", 1) for e in path.joinpath("environ").read_text().split("\0") if "=" in e)
                if Path(out["RINGHIL_CHECK_OUT"]).stat().st_size:
                    found.append(int(path.name))
    return found
