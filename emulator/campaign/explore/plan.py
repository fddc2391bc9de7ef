"""What a campaign is to play: kinds, places, phases, durations, pairs, random schedules."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ringhil.emulator.campaign.explore.errors import ExploreError
from ringhil.emulator.campaign.explore.places import Spot, spots
from ringhil.emulator.scenario import FAULTS, Server

MOST_DEPTH = 32
MOST_RANDOM = 10_000_000
MOST_WINDOW = 10**9  # cycles

Pairs = Literal["together", "apart", "both"]
DEPTHS = {"singles": 1, "pairs": 2, "random": 3}  # parts, and the depth from which on they are played
PARTS = tuple(DEPTHS)


@dataclass(frozen=True)
class Plan:
    """`phases` of a round for single faults, None: every cycle; `pair_phases` the same for pairs. `lasts`: after how
    many cycles a fault is cleared, None: it is left; `gap`: cycles between the faults of an ordered pair. `depth`: most
    faults in a schedule; above 2, `random` schedules are drawn from `seed`. `parts`: of those that the depth allows.
    `window`: cycles from the beginning of a round in which its faults strike, None: the round."""

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
