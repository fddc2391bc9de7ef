"""Fault schedules of a card as `ringhil explore` makes them, and what is true at the end of each."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.play import Played, play
from ringhil.emulator.campaign.explore.player import Numbered
from ringhil.emulator.campaign.explore.settle import settle
from ringhil.emulator.campaign.explore.space import Case, Space
from ringhil.emulator.campaign.explore.warm import PATIENCE, Warm
from ringhil.emulator.engine.library import Library
from ringhil.emulator.forks import forked
from ringhil.emulator.judge.outcome import CardOutcome
from ringhil.emulator.scenario import (
    CountIs,
    EntryIs,
    EpochIs,
    Expectation,
    GpuRef,
    MembersAre,
    ReachableIs,
    Scenario,
    When,
    loads,
)

# What a bench of the card can do to its pins, and nothing besides has to be played for it.
KINDS = (
    *("dead", "hang", "corrupt", "skip_count", "double_count", "duplicate_id", "babble", "slow"),
    *("switch_stuck_bypass", "switch_stuck_through", "host_link_cut", "link_cut", "link_one_way", "link_delay"),
)
ROUNDS = 1  # census rounds that each is played on for once all is judged, as `explore` does


@dataclass(frozen=True)
class Found:
    """What the CPU knows of the card at the end; `entry` is a GPU's index, `epoch` that of the last election."""

    count: int
    members: tuple[int, ...]
    entry: int | None
    epoch: int
    reachable: bool

    @classmethod
    def of(cls, card: CardOutcome) -> "Found":
        """What an outcome says of a card."""
        entry = None if card.entry is None else GpuRef.parse(card.entry).index
        return cls(card.count, card.members, entry, card.epoch, card.reachable)

    def to_json(self) -> dict[str, Any]:
        """The result as a bench in cocotb gives it back."""
        return {**asdict(self), "members": list(self.members)}


@dataclass(frozen=True)
class PlayedSchedule:
    """A case, the number of cycles from power-up to its end, and what is found then."""

    number: int
    case: Case
    cycles: int
    found: Found


@dataclass(frozen=True)
class Schedules:
    """All of them, and the warm server that they strike; `settling`: seconds that it took to come there."""

    scenario: Scenario
    warm: Warm
    settling: float
    played: tuple[PlayedSchedule, ...]

    @property
    def numbered(self) -> list[Numbered]:
        """The schedules for a campaign."""
        return [(schedule.number, schedule.case) for schedule in self.played]

    def cold(self, schedule: PlayedSchedule) -> Scenario:
        """The scenario that plays one from power-up, and expects what was found."""
        name = self.scenario.server.cards[0].name
        entry = None if schedule.found.entry is None else GpuRef(name, schedule.found.entry)
        checks = (
            CountIs(name, schedule.found.count),
            MembersAre(name, schedule.found.members),
            EntryIs(name, entry),
            EpochIs(name, schedule.found.epoch),
            ReachableIs(name, schedule.found.reachable),
        )
        return replace(
            self.scenario,
            name=schedule.case.key,
            timeline=schedule.case.schedule.events,
            until=schedule.cycles,
            expect=(Expectation(When.END, None, checks, 0),),
        )


def described(gpus: int) -> Scenario:
    """A card whose GPUs 0 and 1 reach the CPU; all settings are the usual ones, and there is no work."""
    return loads(f"name: bench\nserver: {{cards: {{a: {{gpus: {gpus}, host_links: [0, 1]}}}}}}\n", "bench")


def prepare(library: Library, gpus: int, number: int, clock: Callable[[], float]) -> Schedules:
    """Choose at most `number` schedules (2 or more): single faults, evenly spread, of all `KINDS` at all places, each
    in the middle of a census round, and one without a fault. Raises RuntimeError when one of them fails."""
    scenario = described(gpus)
    began = clock()
    warm, rounds = settle(scenario, library)
    settling = clock() - began
    space = Space(scenario.server, rounds, Plan(kinds=KINDS, phases=1, lasts=(None,)))
    every = -(-len(space) // number)
    chosen = [(n, case) for n, case in enumerate(space) if n % every == 0]
    return Schedules(scenario, warm, settling, tuple(_played(warm, n, case) for n, case in chosen))


def _played(warm: Warm, number: int, case: Case) -> PlayedSchedule:
    def act() -> Played:
        return play(warm.server, case.schedule.events, rounds=ROUNDS)

    outcome = forked(act, PATIENCE).outcome
    if outcome.failures:
        raise RuntimeError(f"{case.key}: {outcome.failures[0]}")
    (card,) = outcome.cards.values()
    return PlayedSchedule(number, case, outcome.cycles, Found.of(card))
