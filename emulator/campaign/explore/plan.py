"""What a campaign is to play: kinds of fault and places for them, phases, durations, pairs, random schedules."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.scenario import FAULTS, CrossRef, EventAction, FaultTarget, GpuRef, LinkRef, Server, TimelineEvent
from ringhil.emulator.scenario.file.faults import LENT, ParameterName

MOST_PATTERNS = 64
KINDS = (*FAULTS, LENT)  # what can be asked for: faults, and GPUs that are lent


@dataclass(frozen=True)
class Spot:
    """A kind of fault and what it strikes; `reverse` as in TimelineEvent."""

    kind: str
    target: GpuRef | LinkRef | CrossRef
    reverse: bool = False

    @property
    def where(self) -> str:
        """The target in the file's words."""
        return TimelineEvent(0, EventAction.FAULT, self.kind, self.target, None, 0, reverse=self.reverse).where

    @property
    def actions(self) -> tuple[EventAction, EventAction]:
        """What begins it, and what ends it."""
        if self.kind == LENT:
            return EventAction.LEND, EventAction.TAKE_BACK
        return EventAction.FAULT, EventAction.CLEAR

    @property
    def parameter(self) -> ParameterName | None:
        """The number that comes with it."""
        return FAULTS[self.kind].parameter if self.kind in FAULTS else None

    @property
    def counted(self) -> bool:
        """Whether it may end by itself."""
        return self.kind in FAULTS and FAULTS[self.kind].counted

    @property
    def card(self) -> str:
        """Its card; of a link between cards, the first one."""
        return self.target.card


def spots(server: Server, kinds: Sequence[str], patterns: Sequence[str] = ()) -> tuple[Spot, ...]:
    """Every place of every kind, kind by kind; with `patterns` (`a.3`, `a.*`, `a.3-a.4`) those that one of them fits.

    Raises ExploreError for an unknown kind, and for a pattern that fits nothing.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise ExploreError(f"--faults: unknown fault {kind!r}; there are {', '.join(KINDS)}")
    if len(patterns) > MOST_PATTERNS:
        raise ExploreError(f"--places: {len(patterns)} patterns; at most {MOST_PATTERNS}")
    found = [spot for kind in dict.fromkeys(kinds) for spot in _of_kind(server, kind)]
    for pattern in patterns:
        if not any(_fits(spot, pattern) for spot in found):
            known = list(dict.fromkeys(spot.where for spot in found))
            shown = ", ".join(known[:6]) + (f" .. {known[-1]}" if len(known) > 6 else "")
            raise ExploreError(f"--places: {pattern!r} fits no place of these faults; there are {shown or 'none'}")
    return tuple(spot for spot in found if not patterns or any(_fits(spot, pattern) for pattern in patterns))


def _fits(spot: Spot, pattern: str) -> bool:
    # A link has no direction, except to `link_one_way`, and both of its directions are meant by either name.
    return any(fnmatchcase(name.where, pattern) for name in (spot, replace(spot, reverse=not spot.reverse)))


def _of_kind(server: Server, kind: str) -> Iterable[Spot]:
    hits = FAULTS[kind].hits if kind in FAULTS else FaultTarget.GPU
    gpus = [GpuRef(card.name, gpu) for card in server.cards for gpu in range(card.gpus)]
    hosts = [GpuRef(card.name, gpu) for card in server.cards for gpu in card.host_links]
    crossings = [ref for link in server.boundary_links for ref in link.refs]
    ring = [LinkRef(card.name, gpu, card.gpus) for card in server.cards for gpu in range(card.gpus)]
    targets: Sequence[GpuRef | LinkRef | CrossRef]
    match hits:
        case FaultTarget.GPU:
            targets = gpus
        case FaultTarget.HOST_LINKED:
            targets = hosts
        case FaultTarget.KEEPING_ALIVE:
            ends = [end for ref in crossings for end in (ref.from_, ref.to)]
            reached = {*hosts, *ends}
            targets = [gpu for gpu in gpus if gpu in reached]
        case FaultTarget.RING_LINK:
            targets = ring
        case FaultTarget.BOUNDARY_LINK:
            targets = crossings
        case FaultTarget.LINK:
            targets = [*ring, *crossings]
    for target in targets:
        yield Spot(kind, target)
        # In a ring of two the other order means the other link.
        if kind == "link_one_way" and not (isinstance(target, LinkRef) and target.gpus == 2):
            yield Spot(kind, target, reverse=True)


MOST_DEPTH = 32
MOST_RANDOM = 10_000_000
MOST_WINDOW = 10**9  # cycles

Pairs = Literal["together", "apart", "both"]
DEPTHS = {"singles": 1, "pairs": 2, "random": 3}  # parts, and the depth from which on they are played
PARTS = tuple(DEPTHS)


@dataclass(frozen=True)
class Plan:
    """Which faults a campaign strikes with, where, when, and how many at a time.

    `phases` of a round for single faults, None: every cycle; `pair_phases` the same for pairs. `lasts`: after how
    many cycles a fault is cleared, None: it is left; `gap`: cycles between the faults of an ordered pair. `depth`: most
    faults in a schedule; above 2, `random` schedules are drawn from `seed`. `parts`: of those that the depth allows.
    `window`: cycles from the beginning of a round in which its faults strike, None: the round.
    """

    kinds: tuple[str, ...] = tuple(FAULTS)
    places: tuple[str, ...] = ()
    depth: int = 1
    parts: tuple[str, ...] = PARTS
    phases: int | None = 8
    pair_phases: int | None = 1
    lasts: tuple[int | None, ...] = (None, 10_000)
    pairs: Pairs = "both"
    gap: int = 100
    random: int = 1000
    seed: int = 1
    window: int | None = None

    def __post_init__(self) -> None:
        limits = [("--depth", self.depth, 1, MOST_DEPTH), ("--random", self.random, 0, MOST_RANDOM)]
        if self.window is not None:
            limits.append(("--window", self.window, 1, MOST_WINDOW))
        for name, found, least, most in limits:
            if not least <= found <= most:
                raise ExploreError(f"{name}: {found}; {least} .. {most} is allowed")
        for part in self.parts:
            if part not in PARTS:
                raise ExploreError(f"--parts: unknown part {part!r}; there are {', '.join(PARTS)}")
        if not self.lasts:
            raise ExploreError("--lasts: no duration; cycles, or 'left' for faults that stay")

    def spots(self, server: Server) -> tuple[Spot, ...]:
        """Every place of every kind. Raises ExploreError."""
        return spots(server, self.kinds, self.places)

    def to_json(self) -> dict[str, Any]:
        """What the cases follow from, besides the scenario and the shard."""
        known = asdict(self)
        if self.window is None:  # stores of older versions say nothing of it
            del known["window"]
        return known
