"""Data frames to play to a node: for anybody, by any way, and whole units of work for the node itself."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.reference.view import COMMANDS
from ringhil.protocol import codec, registers, wire
from ringhil.protocol.frames import Acknowledgement, Result, Work

TO_HOST, LAST, CCW, WRAPPED = wire.Flag.TO_HOST, wire.Flag.LAST, wire.Flag.CCW, wire.Flag.WRAPPED
_ODD = 0x9E3B  # times this number, no two of 16 bits become alike


@dataclass
class Place:
    """The node's place and settings; it numbers its frames, so that no two are alike."""

    rng: random.Random
    card: int = 0
    node: int = 1
    size: int = 4
    settings: Mapping[str, int] = field(default_factory=dict)
    _number: int = 0

    @property
    def straps(self) -> dict[str, int]:
        """The settings, for a Stimulus."""
        return {"card": self.card, "node": self.node, "size": self.size}

    def number(self) -> int:
        """The number of a unit; not used before, and with any bits."""
        self._number += 1
        return self.rng.getrandbits(16) << 16 | self._number * _ODD & 0xFFFF

    def other_gpu(self) -> int:
        """Another GPU of this card."""
        return self.rng.choice([g for g in {0, 1, self.size - 1, (self.node + 1) % self.size} if g != self.node])

    def other_card(self, crossing: bool | None = None) -> int:
        """Another card, one that frames leave for here (or not)."""
        crossings = self.settings.get("crossings", 0)
        fits = [
            c
            for c in range(wire.MAX_CARDS)
            if c != self.card and (crossing is None or bool(crossings >> c & 1) == crossing)
        ]
        return self.rng.choice(fits or [(self.card + 1) % wire.MAX_CARDS])

    def ttl(self) -> int:
        """Hops; enough to go on from here."""
        return self.rng.choice([1, 2, self.size, self.size + 1, self.size + 2, 0xFFFF])

    # ---------------------------------------------------------------------------------------------------- frames

    def work(
        self, card: int, home: int, *, ttl: int | None = None, flags: int = 0, flits: int | None = None
    ) -> RingFrame:
        """A unit of one segment for some GPU; by default a short one."""
        rng = self.rng
        count = flits if flits is not None else rng.choice([1, 1, 2, 3, 8])
        size = wire.FLIT_BYTES * count - rng.randrange(wire.FLIT_BYTES)
        return RingFrame.of(
            codec.encode(
                Work(
                    *(card, flags | LAST, self.ttl() if ttl is None else ttl, home),
                    *(rng.getrandbits(32), self.number(), self.other_gpu(), rng.getrandbits(16)),
                    *(0, size, size, 0, self.card, rng.getrandbits(16)),
                    payload=_padded(rng, size),
                )
            )
        )

    def answer(self, card: int, home: int, *, ttl: int | None = None, flags: int = TO_HOST) -> RingFrame:
        """Another GPU's result or refusal."""
        rng = self.rng
        head = (card, flags, self.ttl() if ttl is None else ttl, home, rng.getrandbits(32), self.number())
        source = (self.other_gpu(), rng.getrandbits(16))
        if rng.random() < 0.5:
            last = (rng.getrandbits(64), rng.getrandbits(16), rng.getrandbits(16))
            return RingFrame.of(codec.encode(Result(*head, *source, 0, self.card, rng.randrange(5), *last)))
        return RingFrame.of(codec.encode(Acknowledgement(*head, *source, rng.randrange(1, 4), self.card, 0)))

    def any(self, way: int, *, mine: float = 0.2) -> RingFrame:
        """Whatever may turn up by a way in; a share of `mine` is for this GPU or its CPU."""
        rng = self.rng
        flags = rng.choice([0, CCW]) | rng.choice([0, 0, 0, WRAPPED])
        if rng.random() < mine:
            to = self.card, self.node
        elif rng.random() < 0.4:
            to = self.card, self.other_gpu()
        else:
            home = rng.choice([self.node, rng.randrange(1024)])
            to = self.other_card(rng.choice([True, False])) if rng.random() < 0.9 else rng.randrange(16, 255), home
        if way == 3:
            flags |= rng.choice([0, 0, 1, 7, 14, 15]) << wire.CROSSINGS_SHIFT
        # Out of the ring, whether the TTL is used up isn't looked at everywhere.
        settled = to == (self.card, self.node) or self.settings.get("crossings", 0) >> to[0] & 1
        ttl = 0 if not settled and rng.random() < 0.15 else None
        if rng.random() < 0.5:
            return self.work(*to, ttl=ttl, flags=flags)
        return self.answer(*to, ttl=ttl, flags=flags | (TO_HOST if rng.random() < 0.7 else 0))

    def unit(
        self,
        size: int,
        *,
        source: tuple[int, int] | None = None,
        segment: int = wire.SEGMENT_BYTES,
        compute: int = 0,
        context: int | None = None,
        ttl: int = 3,
    ) -> list[RingFrame]:
        """A unit of `size` bytes for this GPU, in segments of `segment` bytes (whole flits), from another GPU of this
        card or from `source` (card, GPU). Of plain work the context may be anything."""
        rng = self.rng
        card, gpu = source if source is not None else (self.card, self.other_gpu())
        epoch, unit, attempt = rng.getrandbits(32), self.number(), rng.getrandbits(16)
        frames = []
        for number, start in enumerate(range(0, size, segment)):
            here = min(segment, size - start)
            flags = LAST if start + here == size else 0
            head = (self.card, flags, ttl, self.node, epoch, unit, gpu, attempt)
            body = (number, here, size, compute, card, rng.getrandbits(16) if context is None else context)
            frames.append(RingFrame.of(codec.encode(Work(*head, *body, payload=_padded(rng, here)))))
        return frames


def some_place(rng: random.Random, **settings: int) -> Place:
    """A place in a ring, drawn, with these settings."""
    size = rng.choice([2, 3, 8, 64, 1024])
    return Place(rng, rng.randrange(wire.MAX_CARDS), rng.randrange(size), size, settings)


def unknown_kind(rng: random.Random) -> int:
    """A kind of computation that nobody knows: neither a digest nor a command to a context."""
    kind = rng.randrange(1, 256 - len(COMMANDS))
    return kind if kind < COMMANDS[0] else kind + len(COMMANDS)


def roles(*names: str) -> int:
    """Bits of `control`."""
    return sum(registers.ControlBit.codes()[name] for name in names)


def _padded(rng: random.Random, size: int) -> bytes:
    return rng.randbytes(size) + bytes(-size % wire.FLIT_BYTES)
