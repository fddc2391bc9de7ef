"""Cases are played once each, whatever becomes of the processes that play them."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.emulator.campaign.explore.servers import RING, warm

from ringhil.emulator.campaign.explore import player
from ringhil.emulator.campaign.explore.campaign import local, run
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.play import Played
from ringhil.emulator.campaign.explore.play import play as really_play
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.space import Case, Space
from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import TimelineEvent

PLAN = Plan(kinds=("dead", "slow", "link_cut"), phases=2, lasts=(None,))
Found = dict[str, CaseResult]
KILLED = "the process that played it was ended by SIGKILL (out of memory?)"


@pytest.fixture(scope="module")
def settled() -> tuple[Warm, list[Case]]:
    scenario, server, rounds = warm(RING)
    return server, list(Space(scenario.server, rounds, PLAN))


def played(server: Warm, cases: Iterable[Case], **how: Any) -> Found:
    """Every case's result; none comes twice."""
    results = list(run(local(server, **how), enumerate(cases)))
    assert max(Counter(number for number, _, _ in results).values()) == 1
    return {case.key: result for _, case, result in results}


@pytest.mark.rest
def test_results_do_not_depend_on_how_many_play_them(settled: tuple[Warm, list[Case]]) -> None:
    server, cases = settled
    alone = played(server, cases, jobs=1)
    assert alone.keys() == {case.key for case in cases}
    assert {result.verdict for result in alone.values()} == {"pass"}
    assert played(server, cases, jobs=3) == alone


@pytest.mark.rest
def test_a_killed_worker_costs_no_result(settled: tuple[Warm, list[Case]]) -> None:
    server, cases = settled
    killed: list[int] = []

    def kill_some(pid: int) -> None:
        if len(killed) < 2:
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    assert played(server, cases, jobs=2, started=kill_some) == played(server, cases)
    assert len(killed) == 2


def test_when_every_worker_is_killed_each_case_is_an_error_and_there_is_an_end(
    settled: tuple[Warm, list[Case]],
) -> None:
    server, cases = settled
    found = played(server, cases[:5], started=lambda pid: os.kill(pid, signal.SIGKILL))
    assert {result.verdict for result in found.values()} == {"error"}
    assert found[cases[0].key].failures == (f"{KILLED}, twice",)


def trouble(monkeypatch: pytest.MonkeyPatch, key: Case, act: Callable[[], None]) -> None:
    """Have something happen in the process that plays a case."""

    def play(server: Run, events: tuple[TimelineEvent, ...], *, rounds: int | None) -> Played:
        if events == key.schedule.events:
            act()
        return really_play(server, events, rounds=rounds)

    monkeypatch.setattr(player, "play", play)


@pytest.mark.rest
def test_a_case_whose_process_dies_once_is_played_again(
    settled: tuple[Warm, list[Case]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server, cases = settled
    expected, died = played(server, cases), tmp_path / "died"

    def die_once() -> None:
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    trouble(monkeypatch, cases[4], die_once)
    assert played(server, cases, jobs=2) == expected
    assert died.exists()


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    ("dies", "failure"), [(os.getpid, KILLED), (os.getppid, f"{KILLED}, twice")], ids=["itself", "its worker as well"]
)
def test_a_case_whose_process_always_dies_is_an_error_and_the_others_are_not(
    dies: Callable[[], int], failure: str, settled: tuple[Warm, list[Case]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, cases = settled
    expected = played(server, cases)
    trouble(monkeypatch, cases[4], lambda: os.kill(dies(), signal.SIGKILL))
    found = played(server, cases, jobs=2)
    bad = found.pop(cases[4].key)
    assert (bad.verdict, bad.failures) == ("error", (failure,))
    del expected[cases[4].key]
    assert found == expected


def test_a_case_without_an_end_is_reported_as_hung(
    settled: tuple[Warm, list[Case]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, cases = settled
    trouble(monkeypatch, cases[4], lambda: time.sleep(600))
    found = played(server, [cases[4]], limit=0.3)
    assert found[cases[4].key].verdict == "hung"
    assert found[cases[4].key].failures == ("no end after 0.3 seconds",)


def test_nothing_is_left_running_when_nobody_wants_more_results(settled: tuple[Warm, list[Case]]) -> None:
    server, cases = settled
    pids: list[int] = []
    results = run(local(server, jobs=2, started=pids.append), enumerate(cases))
    next(results)
    results.close()
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
