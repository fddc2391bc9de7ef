"""Frames and traffic drawn from a seed, within constraints: for constrained-random benches.

The seed is the run's (`cocotb.RANDOM_SEED`) unless one is given, so it stands in cocotb's results, and the same run
draws the same frames.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.stimulus import Send, Stimulus
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Acknowledgement, Election, Frame, Keepalive, Report, Result, Statistics, Work

_EQUAL = dict.fromkeys(wire.Kind.codes(), 1.0)


@dataclass(frozen=True)
class Constraints:
    """What may be drawn.

    | field | |
    |---|---|
    | `kinds` | kind of frame -> how often, relative to the others; kinds that aren't named don't come |
    | `homes`, `cards` | GPUs and cards that frames are for |
    | `ttl` | hops, least and most |
    | `payload` | bytes of a work frame, least and most (256 at most) |
    | `flags` | sets of flags to choose from |
    | `damage` | share of frames that are spoilt in one of the ways of `RingFrame` |
    | `gap` | cycles between two frames, least and most |
    """

    kinds: Mapping[str, float] = field(default_factory=lambda: dict(_EQUAL))
    homes: tuple[int, ...] = (0, 1, 2, 3)
    cards: tuple[int, ...] = (0,)
    ttl: tuple[int, int] = (1, 8)
    payload: tuple[int, int] = (1, wire.SEGMENT_BYTES)
    flags: tuple[int, ...] = (0,)
    damage: float = 0.0
    gap: tuple[int, int] = (0, 20)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.kinds) - set(wire.Kind.codes()))
        if unknown or not self.kinds:
            found = f"found {', '.join(unknown)}" if unknown else "found none"
            raise ValueError(f"kinds: {found}; allowed are {', '.join(wire.Kind.codes())}")
        if not 1 <= self.payload[0] <= self.payload[1] <= wire.SEGMENT_BYTES:
            raise ValueError(f"payload: found {self.payload}; allowed are 1 to {wire.SEGMENT_BYTES} bytes")
        for name in ("ttl", "gap"):
            low, high = getattr(self, name)
            if not 0 <= low <= high <= 0xFFFF:
                raise ValueError(f"{name}: found {(low, high)}; allowed are 0 to 65535, least first")


class RandomSequence:
    """An endless sequence of (gap in cycles, frame) within `constraints`. `seed` is what it was drawn from; `drawn`
    counts frames."""

    def __init__(self, constraints: Constraints | None = None, seed: int | None = None) -> None:
        self.constraints = constraints if constraints is not None else Constraints()
        self.seed = seed if seed is not None else _run_seed()
        self.drawn = 0
        self._rng = random.Random(self.seed)

    def __iter__(self) -> Iterator[tuple[int, RingFrame]]:
        while True:
            yield self._rng.randint(*self.constraints.gap), self.frame()

    def frame(self) -> RingFrame:
        """The next frame alone."""
        rng, limits = self._rng, self.constraints
        self.drawn += 1
        kind = rng.choices(list(limits.kinds), list(limits.kinds.values()))[0]
        frame = RingFrame.of(codec.encode(self._message(kind)))
        return frame.damaged(rng) if rng.random() < limits.damage else frame

    def stimulus(self, link: str, count: int, **straps: int) -> Stimulus:
        """The next `count` frames into one link, as data that can be written to a file and played again."""
        at, actions = 10, []
        for gap, frame in self:
            actions.append(Send(at, link, frame))
            at += gap + len(frame.data) // wire.FLIT_BYTES
            if len(actions) == count:
                break
        return Stimulus.of(actions, **straps)

    def _message(self, kind: str) -> Frame:
        rng, limits = self._rng, self.constraints
        head = (rng.choice(limits.cards), rng.choice(limits.flags), rng.randint(*limits.ttl), rng.choice(limits.homes))
        number = (rng.getrandbits(32), rng.getrandbits(32))
        match kind:
            case "statistics":
                return Statistics(*head, *number, 1, len(limits.homes), wire.MAX_RING, rng.getrandbits(40))
            case "keepalive":
                body = (rng.getrandbits(32), rng.getrandbits(32), 1, rng.randrange(4), 3, 0, 1000, rng.getrandbits(64))
                return Keepalive(*head, *number, *body, 0, wire.NO_HOLDER)
            case "election":
                return Election(*head, *number, rng.choice(limits.homes), 1, 1, 1000, rng.getrandbits(64))
            case "report":
                sets = tuple(rng.getrandbits(64) for _ in range(3))
                return Report(*head, *number, 0, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, sets)
            case "work":
                size = rng.randint(*limits.payload)
                payload = rng.randbytes(size) + bytes(-size % wire.FLIT_BYTES)
                source = rng.choice(limits.homes)
                return Work(*head, *number, source, 1, 0, size, size, 0, limits.cards[0], 0, payload)
            case "result":
                return Result(*head, *number, 0, 1, 0, 0, 0, rng.getrandbits(64), 8, 33)
            case _:
                return Acknowledgement(*head, *number, 0, 1, 1, 0, 0)


def _run_seed() -> int:
    """The seed of the cocotb run."""
    import cocotb

    return int(cocotb.RANDOM_SEED)
