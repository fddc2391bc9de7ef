"""All cases of a plan, in a fixed order, made one by one: no fault, single faults, pairs, random schedules."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.plan import DEPTHS, Plan, Spot
from ringhil.emulator.scenario import PARAMETERS, Server, TimelineEvent, longest_delay
from ringhil.emulator.scenario.file.faults import ParameterName
from ringhil.emulator.scenario.writer import event_entry


@dataclass(frozen=True)
class Schedule:
    """Events in the order of time, `at` in cycles since power-up."""

    events: tuple[TimelineEvent, ...]

    @property
    def start(self) -> int:
        """Cycle of the first event."""
        return self.events[0].at

    def to_json(self) -> str:
        """The events as a scenario file's `timeline` has them: JSON is YAML."""
        return json.dumps([event_entry(event) for event in self.events])


@dataclass(frozen=True)
class Case:
    """One schedule of faults of a campaign.

    `cls`: the fault kinds, such as `dead` or `dead + hang`; `place`: what they strike; `phase`: cycles from the
    beginning of a census round to the first fault; `depth`: number of faults.
    """

    key: str
    cls: str
    place: str
    phase: int
    schedule: Schedule
    depth: int = 1


CLEAN = "no fault"
_SHORT = 300  # cycles
_LARGE = 2000  # of parameters that may be larger


@dataclass(frozen=True)
class Round:
    """A census round: from the cycle in which the entry GPU sends to the cycle in which the count is accepted."""

    start: int
    end: int

    def phases(self, number: int | None) -> tuple[int, ...]:
        """`number` cycles of the round, evenly spread, counted from its start; None: all of them."""
        length = self.end - self.start
        if number is None or number > length + 1:
            return tuple(range(length + 1))
        if number == 1:
            return (length // 2,)
        return tuple(i * length // (number - 1) for i in range(number))


@dataclass(frozen=True)
class _Fault:
    """One fault of a schedule; `offset`: cycles after the first one. It is cleared after `lasts` cycles, or ends by
    itself after `count` intervals, or is left."""

    spot: Spot
    offset: int = 0
    lasts: int | None = None
    count: int | None = None
    value: int | None = None

    @property
    def text(self) -> str:
        parameter = self.spot.parameter
        usual = PARAMETERS[parameter].default if parameter else None
        value = "" if self.value == usual else f"={self.value}"
        end = f"x{self.count}" if self.count else "left" if self.lasts is None else f"for {self.lasts}"
        return f"{self.spot.kind}{value} {self.spot.where} +{self.offset} {end}"

    def events(self, start: int) -> Iterator[TimelineEvent]:
        spot = self.spot
        at, (begins, ends) = start + self.offset, spot.actions
        yield TimelineEvent(at, begins, spot.kind, spot.target, self.count, 0, self.value, spot.reverse)
        if self.lasts is not None:
            yield TimelineEvent(at + self.lasts, ends, spot.kind, spot.target, None, 0, None, spot.reverse)


class Space:
    """The cases of `plan` on a server; `rounds` has for each card the round that its faults strike in."""

    def __init__(self, server: Server, rounds: Mapping[str, Round], plan: Plan) -> None:
        self._server, self._plan = server, plan
        self._rounds = rounds
        if plan.window is not None:
            self._rounds = {card: Round(each.start, each.start + plan.window) for card, each in rounds.items()}
        settings = server.settings
        impossible = set() if longest_delay(server) > 0 else {"link_delay"}
        impossible |= {"babble"} if settings.allowance > settings.most_allowance else set()
        self.spots = [spot for spot in plan.spots(server) if spot.kind not in impossible]
        if not self.spots:
            raise ExploreError(f"--faults: {', '.join(plan.kinds)} can't strike anything on this server")
        if plan.depth > max(2, len(self.spots)):
            raise ExploreError(f"--depth: {plan.depth}, but there are {len(self.spots)} faults to choose from")
        self._multiplier = server.settings.keepalive_multiplier

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of cases by the part of the space."""
        sizes = {"no fault": 1}
        if self._has("singles"):
            phases = {card: len(round_.phases(self._plan.phases)) for card, round_ in self._rounds.items()}
            sizes["single faults"] = sum(phases[spot.card] * len(self._endings(spot)) for spot in self.spots)
        if self._has("pairs"):
            pair_phases = {card: len(round_.phases(self._plan.pair_phases)) for card, round_ in self._rounds.items()}
            others, lasts = len(self.spots) - 1, len(self._plan.lasts)
            sizes["pairs"] = 0
            for number, spot in enumerate(self.spots):
                together = others - number if self._plan.pairs != "apart" else 0
                apart = others if self._plan.pairs != "together" else 0
                sizes["pairs"] += pair_phases[spot.card] * lasts * (together + apart)
        if self._has("random"):
            sizes["random schedules"] = self._plan.random
        return sizes

    def _has(self, part: str) -> bool:
        return part in self._plan.parts and self._plan.depth >= DEPTHS[part]

    def __len__(self) -> int:
        return sum(self.sizes.values())

    def __iter__(self) -> Iterator[Case]:
        """Every case, in the order in which campaigns play them."""
        yield Case(CLEAN, CLEAN, "-", 0, Schedule(()), 0)
        if self._has("singles"):
            yield from self._singles()
        if self._has("pairs"):
            yield from self._pairs()
        if self._has("random"):
            for number in range(self._plan.random):
                yield self._random(number)

    def _case(self, faults: list[_Fault], phase: int, prefix: str = "", cls: str | None = None) -> Case:
        first = faults[0].spot
        start = self._rounds[first.card].start + phase
        # In the order of the file when they fall on one cycle, as the timeline has it.
        events = sorted((e for fault in faults for e in fault.events(start)), key=lambda e: e.at)
        return Case(
            prefix + "; ".join([f"{phase}: {faults[0].text}", *(fault.text for fault in faults[1:])]),
            cls or " + ".join(fault.spot.kind for fault in faults),
            ", ".join(fault.spot.where for fault in faults),
            phase,
            Schedule(tuple(events)),
            len(faults),
        )

    def _phased(self, number: int | None) -> Iterator[tuple[int, Spot, int]]:
        """Phase by phase every spot, with its number: servers are played on from one phase to the next."""
        phases = {card: round_.phases(number) for card, round_ in self._rounds.items()}
        for step in range(max(map(len, phases.values()))):
            for n, spot in enumerate(self.spots):
                if step < len(phases[spot.card]):
                    yield n, spot, phases[spot.card][step]

    # ------------------------------------------------------------------------------------------- single and pairs

    def _endings(self, spot: Spot) -> list[tuple[int | None, int | None]]:
        """How a fault ends: after cycles, after keepalive intervals, or not at all."""
        endings: list[tuple[int | None, int | None]] = [(lasts, None) for lasts in self._plan.lasts]
        if spot.counted:
            # One less than what must be noticed, and as many.
            endings += [(None, self._multiplier - 1), (None, self._multiplier)]
        return endings

    def _singles(self) -> Iterator[Case]:
        for _, spot, phase in self._phased(self._plan.phases):
            for lasts, count in self._endings(spot):
                yield self._case([_Fault(spot, 0, lasts, count, _usual(spot, self._server))], phase)

    def _pairs(self) -> Iterator[Case]:
        together, apart = self._plan.pairs != "apart", self._plan.pairs != "together"
        for n, spot, phase in self._phased(self._plan.pair_phases):
            for m, other in enumerate(self.spots):
                for lasts in self._plan.lasts:
                    first = _Fault(spot, 0, lasts, None, _usual(spot, self._server))
                    if together and m > n:
                        yield self._case([first, _Fault(other, 0, lasts, None, _usual(other, self._server))], phase)
                    if apart and m != n:
                        later = _Fault(other, self._plan.gap, lasts, None, _usual(other, self._server))
                        yield self._case([first, later], phase)

    # -------------------------------------------------------------------------------------------------- at random

    def _random(self, number: int) -> Case:
        rng = random.Random(f"{self._plan.seed} {number}")
        chosen = rng.sample(self.spots, rng.randint(2, self._plan.depth))
        round_ = self._rounds[chosen[0].card]
        length, period = round_.end - round_.start, self._server.settings.census_period
        offset, faults = 0, []
        for spot in chosen:
            lasts = rng.choice([None, rng.randrange(1, _SHORT), rng.randrange(_SHORT, _SHORT + 2 * period)])
            count = None
            if spot.counted and rng.random() < 0.5:
                lasts, count = None, rng.randint(1, self._multiplier + 2)
            faults.append(_Fault(spot, offset, lasts, count, _drawn(spot, self._server, rng)))
            offset += rng.choice([0, rng.randint(1, length), rng.randrange(1, 2 * period)])
        return self._case(faults, rng.randint(0, length), f"#{number} ", f"{len(faults)} at random")


def _usual(spot: Spot, server: Server) -> int | None:
    parameter = spot.parameter
    return min(PARAMETERS[parameter].default, _most(parameter, server)) if parameter else None


def _drawn(spot: Spot, server: Server, rng: random.Random) -> int | None:
    parameter = spot.parameter
    return None if parameter is None else rng.randint(PARAMETERS[parameter].low, _most(parameter, server))


def _most(parameter: ParameterName, server: Server) -> int:
    """A delay may be no longer than the two ends of a link can agree with."""
    most = min(PARAMETERS[parameter].high, _LARGE)
    return min(most, longest_delay(server)) if parameter == "delay" else most
