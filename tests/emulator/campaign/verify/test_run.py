"""Giving out and gathering: every variant has one verdict, in order, whatever the number of processes and who dies."""

import os
import select
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringhil.emulator.campaign.verify import VerifyPlan, VerifyReport, run_all
from ringhil.emulator.campaign.verify.verdict import Verdict

from .scripted import DyingReader, Leaving, Script, Scripted

VARIANT = st.sampled_from(["pass", "pass", "pass", "fail", "raise", "die"])
FILE = st.one_of(st.lists(VARIANT, max_size=6), st.just(["refuse"]), st.just(["die at once"]))
SCRIPTS = st.lists(FILE, max_size=6)
BECOMES = {"pass": "pass", "fail": "fail", "raise": "error", "die": "error", "refuse": "error", "die at once": "error"}


def run(script: Script, jobs: int, *, fail_fast: bool = False) -> VerifyReport:
    return run_all(VerifyPlan(Scripted(script), jobs, fail_fast, "1.2.3"))


def told(report: VerifyReport) -> list[tuple[str, int, str]]:
    return [(v.file.name, v.number, v.state) for v in report.results]


def expected(script: Script) -> list[tuple[str, int, str]]:
    return [(f"{n:03}.yaml", place, BECOMES[w]) for n, words in enumerate(script) for place, w in enumerate(words)]


@pytest.mark.rest
@settings(deadline=None, max_examples=60)
@given(SCRIPTS, st.integers(1, 4))
def test_every_variant_has_one_verdict_in_the_order_of_the_list(script: Script, jobs: int) -> None:
    assert told(run(script, jobs)) == expected(script)


@pytest.mark.rest
@settings(deadline=None, max_examples=60)
@given(SCRIPTS, st.integers(1, 4))
def test_fail_fast_reports_all_up_to_the_first_that_did_not_pass(script: Script, jobs: int) -> None:
    whole = expected(script)
    first = next((n for n, (_, _, state) in enumerate(whole) if state != "pass"), len(whole))
    assert told(run(script, jobs, fail_fast=True)) == whole[: first + 1]


@pytest.mark.rest
def test_a_variant_that_takes_too_long_is_an_error_and_the_others_are_played() -> None:
    script = [["pass"], ["sleep", "pass"], ["sleep"], ["fail"]]
    report = run_all(VerifyPlan(Scripted(script), 2, False, "1", 3.0))
    assert [str(verdict.state) for verdict in report.results] == ["pass", "error", "pass", "error", "fail"]
    assert {f.text for v in report.results for f in v.failures if f.kind == "process"} == {"it took more than 3 s"}


def test_fail_fast_does_not_play_what_comes_long_after() -> None:
    began = time.monotonic()
    assert len(run([["fail"], *[["sleep"]] * 50], 1, fail_fast=True).results) == 1
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(("words", "states"), [(["pass", "fail"], ["pass", "fail"]), (["pass"], ["error"])])
def test_a_file_whose_reading_costs_two_processes_loses_no_variant(
    tmp_path: Path, words: list[str], states: list[str]
) -> None:
    """With one variant, the process may have died of playing it: that is an error, and it isn't played again."""
    report = run_all(VerifyPlan(DyingReader([["pass"], words], tmp_path, 2), 2, False, "1"))
    assert [v.state for v in report.results] == ["pass", *states]


@pytest.mark.parametrize("fail_fast", [True, False])
def test_only_what_is_reported_is_left(tmp_path: Path, fail_fast: bool) -> None:
    """Whoever plays writes before anybody hears of it, and may be ended in between."""
    out = tmp_path / "left"
    script = [["pass"], ["fail"], *[["fail", "sleep"] if fail_fast else ["fail"]] * 6]
    player = Leaving(script, out)
    report = run_all(VerifyPlan(player, 3, fail_fast, "1"))
    names = [verdict.left.name for verdict in report.results if verdict.left is not None]
    assert names == (["001.00001"] if fail_fast else [f"{n:03}.00001" for n in range(1, 8)])
    assert sorted(path.name for path in out.iterdir()) == names


@pytest.mark.parametrize(("words", "what"), [("die", "SIGKILL"), ("die at once", "SIGKILL"), ("raise", "no idea")])
def test_what_broke_is_said(words: str, what: str) -> None:
    report = run([["pass"], [words], ["pass"]], 2)
    (bad,) = report.bad()
    assert what in bad.failures[0].text
    assert bad.failures[0].kind == "process"
    assert report.exit_code == 2


def test_a_variant_that_kills_its_process_is_played_twice_and_no_more(tmp_path: Path) -> None:
    class Counting(Scripted):
        def play(self, file: int, place: int) -> Verdict:
            with (tmp_path / f"{file}.{place}").open("a") as played:
                played.write("x")
            return super().play(file, place)

    run_all(VerifyPlan(Counting([["die"], ["die", "pass"], ["pass"]]), 1, False, "1"))
    assert {file.name: file.stat().st_size for file in tmp_path.iterdir()} == {"0.0": 2, "1.0": 2, "1.1": 1, "2.0": 1}


def test_a_failure_goes_before_an_error_in_the_exit_code() -> None:
    assert run([["pass"]], 1).exit_code == 0
    assert run([["pass"], ["raise"]], 1).exit_code == 2
    assert run([["fail"], ["raise"]], 1).exit_code == 1


def test_progress_ends_with_all_of_all() -> None:
    seen: list[tuple[int, int]] = []
    run_all(VerifyPlan(Scripted([["pass"] * 5, ["pass"], ["refuse"]]), 2, False, "1"), lambda *now: seen.append(now))
    assert seen[-1] == (7, 7)
    assert all(done <= total for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has")
def test_an_interrupt_keeps_what_is_done_and_leaves_no_process() -> None:
    children_before = _children()
    timers: list[threading.Timer] = []

    def progress(done: int, total: int) -> None:
        if done == 3 and not timers:
            timers.append(threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    report = run_all(
        VerifyPlan(Scripted([["pass"], ["pass"], ["pass"], ["sleep"], ["sleep"]]), 2, False, "1"), progress
    )
    assert isinstance(report.stopped, KeyboardInterrupt)
    assert told(report) == expected([["pass"]] * 3)
    assert report.to_json()["interrupted"] is True
    assert "interrupted" in report.summary
    assert _children() == children_before


def _children() -> set[int]:
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in lists for pid in file.read_text().split()}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_processes_end_with_the_one_that_made_them() -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:
        os.close(reading)
        run([["sleep"]] * 3, 2)  # all of them hold `writing` open
        os._exit(0)
    os.close(writing)
    time.sleep(0.5)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    assert select.select([reading], [], [], 30)[0], "somebody goes on"
    assert os.read(reading, 1) == b""
    os.close(reading)
