"""A whole campaign: from a scenario and a plan to results in a store."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.campaign import CasePool, local, run
from ringhil.emulator.campaign.explore.failing import check_boards
from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.player import Numbered
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.settle import UnsettledError, bare, settle
from ringhil.emulator.campaign.explore.space import CLEAN, Case, Round, Schedule, Space
from ringhil.emulator.campaign.explore.store import Store, StoredCampaign
from ringhil.emulator.campaign.explore.warm import PATIENCE, Warm
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.scenario import Scenario, dumps
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.hashes import hashes, scenario_hash, version_and_sources

_COMMIT = 1.0  # seconds after which results are committed
_MOST_OPEN = 500  # results that are not committed

Progress = Callable[[int, int], None]
Players = Callable[[Scenario, Mapping[str, Round]], CasePool]  # of a settled server, with the rounds of its cards


@dataclass(frozen=True)
class Conditions:
    """How to play, and when to stop. `seconds` and `number` (of cases) are for this run, not for the campaign; `limit`:
    seconds for a case; `after`: cycle; `shard`: this one of so many, from 1; `rounds`: see play.py;
    `firmware`: whose runs where."""

    jobs: int = 1
    seconds: float | None = None
    number: int | None = None
    limit: float = PATIENCE
    after: int = 0
    shard: tuple[int, int] = (1, 1)
    rounds: int | None = 1
    fresh: bool = False
    firmware: FirmwareChoice = OURS


@dataclass(frozen=True)
class Explored:
    """`campaign`: its number in the store; `cases` in its part of the space, of which `before` had results, and
    `played` were played now in `seconds`. `stopped`: `time` or `number`, None: nothing is left."""

    campaign: int
    cases: int
    before: int
    played: int
    seconds: float
    stopped: str | None


def explore(
    scenario: Scenario,
    library: Library,
    plan: Plan,
    store: Store,
    conditions: Conditions,
    progress: Progress = lambda done, total: None,
    players: Players | None = None,
) -> Explored:
    """Play what has no result yet; what is done is kept, also at an interrupt. Raises ExploreError, DataError and
    FirmwareError.

    `players` makes those who play, None: processes of this machine, forked from the warm server.
    """
    base = bare(scenario)
    plan.spots(base.server)  # what is wrong with the plan is said before anything is played
    began = time.monotonic()
    try:
        warm, rounds = settle(base, library, conditions.after, firmware=conditions.firmware)
    except (UnsettledError, ExploreError) as error:
        check_boards(conditions.firmware)
        if isinstance(error, ExploreError):
            raise
        return _unsettled(error, base, library, plan, store, conditions)
    try:
        space = Space(base.server, rounds, plan)
        number = store.begin(_kept(base, library, plan, conditions, space.sizes), fresh=conditions.fresh)
        done = store.done(number)
        part, parts = conditions.shard
        cases = (len(space) - part) // parts + 1
        before = len(done)
        pool = players(warm.scenario, rounds) if players else _processes(warm, conditions)
        until = None if conditions.seconds is None else began + conditions.seconds
        waiting = _waiting(space, conditions, done)
        goal = cases - before if conditions.number is None else min(conditions.number, cases - before)
        played = 0
        with _Keeper(store, number) as keeper:
            running = run(pool, waiting, until)
            try:
                for result in running:
                    check_boards(conditions.firmware)
                    played += 1
                    keeper.add(result)
                    progress(played, goal)
            finally:
                running.close()
        late = until is not None and played < goal
        stopped = "time" if late else "number" if before + played < cases else None
        return Explored(number, cases, before, played, time.monotonic() - began, stopped)
    finally:
        warm.close()


def _processes(warm: Warm, conditions: Conditions) -> CasePool:
    return local(warm, jobs=conditions.jobs, limit=conditions.limit, rounds=conditions.rounds)


def _waiting(space: Space, conditions: Conditions, done: set[str]) -> Iterator[Numbered]:
    part, parts = conditions.shard
    left = conditions.number
    for number, case in enumerate(space):
        if left == 0:
            return
        if number % parts == part - 1 and case.key not in done:
            left = None if left is None else left - 1
            yield number, case


def _unsettled(
    error: UnsettledError, base: Scenario, library: Library, plan: Plan, store: Store, conditions: Conditions
) -> Explored:
    """The server doesn't do what it should even without a fault: there is no other case."""
    if error.result.verdict == VerdictWord.PASS:
        raise ExploreError(f"{base.name}: {error}, though nothing is wrong with it; --after says when to begin")
    number = store.begin(_kept(base, library, plan, conditions, {CLEAN: 1}), fresh=conditions.fresh)
    before = len(store.done(number))
    store.add(number, [(0, Case(CLEAN, CLEAN, "-", 0, Schedule(()), 0), error.result)])
    return Explored(number, 1, before, 1 - before, 0.0, None)


def _kept(
    base: Scenario, library: Library, plan: Plan, conditions: Conditions, space: dict[str, int]
) -> StoredCampaign:
    text = dumps(base)
    found = hashes(None, None, conditions.firmware)
    arguments = {
        **plan.to_json(),
        "after": conditions.after,
        "shard": list(conditions.shard),
        "rounds": conditions.rounds,
        "hashes": found,
    }
    if conditions.firmware.given:
        arguments["firmware"] = conditions.firmware.sources()
    return StoredCampaign(
        base.name, scenario_hash(text), text, library.rtl, version_and_sources(), plan.seed, arguments, space
    )


class _Keeper:
    """Commits results some at a time, and the rest whatever happens."""

    def __init__(self, store: Store, campaign: int) -> None:
        self._store, self._campaign = store, campaign
        self._open: list[tuple[int, Case, CaseResult]] = []
        self._committed = time.monotonic()

    def add(self, result: tuple[int, Case, CaseResult]) -> None:
        self._open.append(result)
        if len(self._open) >= _MOST_OPEN or time.monotonic() - self._committed >= _COMMIT:
            self.commit()

    def commit(self) -> None:
        """Raises ExploreError."""
        results, self._open = self._open, []
        if results:
            self._store.add(self._campaign, results)
        self._committed = time.monotonic()

    def __enter__(self) -> "_Keeper":
        return self

    def __exit__(self, *error: object) -> None:
        self.commit()
