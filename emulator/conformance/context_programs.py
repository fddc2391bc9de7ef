"""What a driver sends to the contexts of a compute engine: commands and plain units, in any order."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ringhil.emulator.conformance.data_frames import Place
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.stimulus import Action, Send
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import Compute, Query

MANAGER = 0  # the key of whoever manages the GPU
WORD = 2**32
_LINKS = ("p1", "p2", "host")


@dataclass(frozen=True)
class ContextOrder:
    """One command, to be sent, and sent again. Pages, cycles or what is asked for: `amount`."""

    compute: Compute
    context: int
    key: int
    amount: int = 0
    slice: int = 0
    priority: int = 0
    state: int = 0
    extra: bytes = b""  # behind the first 16 bytes
    unit: int = 0

    @property
    def data(self) -> bytes:
        """The payload."""
        head = {name: getattr(self, name) for name in ("key", "amount", "slice", "priority", "state")}
        return bytes(wire.Command.build(head)) + self.extra


@dataclass
class ContextDriver:
    """Numbers commands, and puts them into frames; `actions` are all that it has done. `context`, `key`: of the command
    that is next, unless told otherwise."""

    place: Place
    unit: int = 0
    actions: list[Action] = field(default_factory=list)
    sent: list[ContextOrder] = field(default_factory=list)

    def send(self, at: int, command: ContextOrder, link: str = "", *, step: int = 1) -> ContextOrder:
        """A new command, with the next number but `step` - 1."""
        self.unit = (self.unit + step) % WORD
        numbered = replace(command, unit=self.unit)
        self.sent.append(numbered)
        self.again(at, numbered, link)
        return numbered

    def again(self, at: int, command: ContextOrder, link: str = "") -> None:
        """The very same command."""
        way = link or self.place.rng.choice(_LINKS)
        self.actions += [Send(at, way, frame) for frame in self.frames(command, way)]

    def plain(self, at: int, size: int, link: str = "") -> None:
        """A unit of plain work; its number is none of a command's."""
        way = link or self.place.rng.choice(_LINKS)
        one = ContextOrder(Compute.DIGEST, 0, 0, unit=self.place.rng.getrandbits(32))
        self.actions += [Send(at, way, frame) for frame in self._segments(one, self.place.rng.randbytes(size), way)]

    def frames(self, command: ContextOrder, way: str) -> Iterator[RingFrame]:
        """Its segments."""
        return self._segments(command, command.data, way)

    def _segments(self, command: ContextOrder, data: bytes, way: str) -> Iterator[RingFrame]:
        place, rng = self.place, self.place.rng
        epoch, attempt, source = rng.getrandbits(32), rng.getrandbits(16), place.other_gpu()
        for number, start in enumerate(range(0, len(data), wire.SEGMENT_BYTES)):
            part = data[start : start + wire.SEGMENT_BYTES]
            flags = wire.Flag.LAST if start + len(part) == len(data) else 0
            flags |= wire.Flag.CCW if way == "p2" else 0
            head = (place.card, flags, 3, place.node, epoch, command.unit, source, attempt)
            body = (number, len(part), len(data), command.compute.code, place.card, command.context)
            yield RingFrame.of(codec.encode(Work(*head, *body, payload=part + bytes(-len(part) % wire.FLIT_BYTES))))


def some_command(rng: random.Random, compute: Compute, context: int, key: int) -> ContextOrder:
    """A command of a kind, with any arguments that may matter."""
    amount = rng.choice([0, 1, 5, 20, 50, 64, 150, WORD - 1])
    if compute is Compute.QUERY:
        amount = rng.choice([*Query.codes().values(), 9])
    elif compute is Compute.LAUNCH:
        amount = rng.choice([0, 1, 15, 16, 17, 40])
    extra = rng.randbytes(rng.choice([0, 8, 100, 240, 300])) if compute is Compute.COPY else b""
    return ContextOrder(
        compute,
        context,
        key,
        amount,
        rng.choice([0, 0, 5, 16, 18, 33]),
        rng.getrandbits(8),
        rng.choice([0, 1, 50]),
        extra,
    )
