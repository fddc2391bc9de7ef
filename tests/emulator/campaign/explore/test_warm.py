"""A play from a warm server is the same run as one from power-up."""

import os
import random
import signal
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from tests.emulator.campaign.explore.servers import RING, WORKING, library, warm
from tests.sampled import sampled

from ringhil.emulator.campaign.explore import settle as settling
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.play import Played, play
from ringhil.emulator.campaign.explore.settle import UnsettledError, bare, settle
from ringhil.emulator.campaign.explore.space import Case, Round, Space
from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.forks import ForkedError, forked
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import FAULTS, Scenario, TimelineEvent, loads
from ringhil.firmware import census
from ringhil.protocol.reasons import Rejection


def cold(scenario: Scenario, timeline: tuple[TimelineEvent, ...], until: int | None = None) -> Outcome:
    server = Run(replace(scenario, timeline=timeline, until=until), library())
    try:
        return server.run()
    finally:
        server.engine.close()


def fields(outcome: Outcome) -> dict[str, Any]:
    """All that doesn't depend on the machine's speed."""
    found = asdict(outcome)
    del found["engine"]["seconds"], found["engine"]["cycles_per_second"]
    return found


def some(scenario: Scenario, rounds: Any, plan: Plan, number: int) -> list[Case]:
    """Cases from all over the space, each kind among them."""
    cases = [case for case in Space(scenario.server, rounds, plan) if case.depth]
    rng = random.Random(number)
    by_kind = [
        rng.choice([c for c in cases if c.cls == kind]) for kind in plan.kinds if any(c.cls == kind for c in cases)
    ]
    several = [case for case in cases if case.depth > 1]
    return sorted([*by_kind, *rng.sample(several, min(number, len(several)))], key=lambda case: case.schedule.start)


@pytest.mark.rest
@pytest.mark.parametrize(
    "text", [RING, pytest.param(WORKING, marks=pytest.mark.slow(part="work"))], ids=["ring", "two cards at work"]
)
def test_a_warm_play_equals_a_cold_one_field_by_field(text: str) -> None:
    scenario, server, rounds = warm(text)
    plan = Plan(depth=4, random=60, phases=None, kinds=tuple(FAULTS), lasts=(None, 1500), places=("a.*",))
    for case in some(scenario, rounds, replace(plan, pairs="apart", gap=37), 8):
        # The same server goes on from phase to phase, as in a campaign.
        server.run_to(case.schedule.start)
        assert fields(server.play(case.schedule.events)) == fields(cold(scenario, case.schedule.events)), case.key


@pytest.mark.rest
@pytest.mark.parametrize("more", sampled([1, 0], "explore", 2))
def test_a_play_that_ends_early_equals_a_cold_one_that_ends_then(more: int) -> None:
    scenario, server, rounds = warm(WORKING)
    plan = Plan(depth=3, random=30, phases=3, lasts=(None, 1500), places=("a.2", "b.*"), seed=more)
    for case in some(scenario, rounds, plan, 3):
        server.run_to(case.schedule.start)

        def act(case: Case = case) -> Played:
            return play(server.server, case.schedule.events, rounds=more)

        played = forked(act, 60)
        assert fields(played.outcome) == fields(cold(scenario, case.schedule.events, played.until)), case.key
        judged = [r.at + r.bound for r in played.outcome.recoveries]
        assert played.outcome.cycles > max(judged), f"{case.key}: ended before all was judged"


def test_a_process_that_is_killed_before_the_first_case_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, rounds = warm(RING)
    look = settling._rounds

    def die_once(server: Run, period: int) -> dict[str, Round]:
        mark = tmp_path / "died"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return look(server, period)

    monkeypatch.setattr(settling, "_rounds", die_once)
    assert warm(RING)[2] == rounds
    assert (tmp_path / "died").exists()


@pytest.mark.rest
def test_no_play_is_seen_by_the_next_one() -> None:
    scenario, server, rounds = warm(RING)
    cases = some(scenario, rounds, Plan(phases=1, lasts=(None,)), 0)
    server.run_to(max(case.schedule.start for case in cases))
    first = {case.key: fields(server.play(case.schedule.events)) for case in cases}
    assert {case.key: fields(server.play(case.schedule.events)) for case in reversed(cases)} == first
    assert server.server.watch.recoveries(server.now) == ()


def test_work_from_a_file_is_read_by_every_play_for_itself(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(n * 7 % 251 for n in range(40_000)))
    scenario = loads(RING + f"workload: {{data: {tmp_path / 'data'}, size: 500}}\n")
    server = Warm(scenario, library(), 1500)
    assert server.server.cpu.work.completed < server.server.cpu.work.units, "nothing is left to be read"
    expected = fields(cold(scenario, ()))

    def nested() -> list[dict[str, Any]]:
        # Two that read by turns, each in the middle of the other.
        return [fields(server.play(())), fields(Run(scenario, library()).run()), fields(server.play(()))]

    assert forked(nested, 60) == [expected] * 3


def test_what_takes_too_long_or_dies_has_no_answer() -> None:
    with pytest.raises(ForkedError, match=r"no end after 0\.2 seconds") as error:
        forked(lambda: time.sleep(60), 0.2)
    assert error.value.hung
    with pytest.raises(ForkedError, match="was ended by SIGKILL"):
        forked(lambda: os.kill(os.getpid(), signal.SIGKILL), 60)
    with pytest.raises(ForkedError, match="ValueError: no such thing"):
        forked(_fail, 60)


def _fail() -> bool:
    raise ValueError("no such thing")


def test_a_server_that_never_settles_is_a_case_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = bare(loads(RING))
    # The census takes nothing for its own any more.
    monkeypatch.setattr(census, "judge", lambda *arguments: Rejection.ORIGIN)
    with pytest.raises(UnsettledError, match="not settled by cycle") as error:
        settle(scenario, library())
    assert error.value.result.verdict == "fail"
    assert error.value.result.failures

    def broken(*arguments: object) -> None:
        raise KeyError("nobody")

    monkeypatch.setattr(census, "judge", broken)
    with pytest.raises(UnsettledError) as error:
        settle(scenario, library())
    assert (error.value.result.verdict, error.value.result.failures) == ("error", ("KeyError: 'nobody'",))
