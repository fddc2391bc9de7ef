"""A ring of three GPUs on the real RTL, and what goes into and comes out of one of them, flit by flit.

Work for `GPU` comes clockwise and counter-clockwise through `ENTRY`, and from the CPU by its own link. All answers are
seen where they leave it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ringhil.emulator.engine.engine import TO_CPU, Engine, Topology
from ringhil.emulator.engine.library import Library
from ringhil.protocol import registers, wire
from ringhil.protocol.wire import Port

RING = 3
ENTRY, GPU, BEHIND = range(RING)
START = 300  # cycles until the links are up
_VALID, _DATA, _SOF, _EOF = wire.LinkBit.VALID, wire.LinkBit.DATA, wire.LinkBit.SOF, wire.LinkBit.EOF
_CHUNK = 4096
_PORTS = ("p1", "p2", "host")  # of GPU, in the order of `wire.Link`
# Who is at the other end of each port, and at which of its links; the CPU isn't in a trace.
_SENDERS = {Port.CW: (ENTRY, 1), Port.CCW: (BEHIND, 0)}
BYPASSED = registers.StatusBit.BYPASS_CW | registers.StatusBit.BYPASS_CCW


@dataclass(frozen=True)
class Sent:
    """Frames of one unit, from the CPU."""

    cycle: int
    way: Port  # at which GPU takes them
    frames: tuple[bytes, ...]


@dataclass(frozen=True)
class Change:
    """A fault of GPU that is set or cleared, or a register written."""

    cycle: int
    what: str
    value: int
    register: bool = False


@dataclass(frozen=True)
class Flits:
    """A frame on a link: its bytes, and the cycles of its flits."""

    port: int
    data: bytes
    cycles: tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """What the meter's registers said when everything before `cycle` was over."""

    cycle: int
    state: int
    energy: int
    busy: int


@dataclass
class Played:
    """What was seen of a run: frames to GPU and from it; when it was out of the ring, what it said it holds, and who
    has its engine."""

    into: dict[Port, list[Flits]] = field(default_factory=dict)
    out: list[Flits] = field(default_factory=list)
    bypassed: list[tuple[int, bool]] = field(default_factory=list)
    held: list[tuple[int, int]] = field(default_factory=list)
    turns: list[tuple[int, int]] = field(default_factory=list)
    arrived: list[tuple[int, int, bytes]] = field(default_factory=list)  # at a CPU link: cycle, GPU, frame
    metered: list["Reading"] = field(default_factory=list)
    end: int = 0  # cycles in all
    evaluations: int = 0


@dataclass
class Program:
    """What is set up, sent and changed. `delay`: by how many cycles later its neighbours hear it, and give credit."""

    setup: dict[str, int] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    delay: int = 0
    looks: list[int] = field(default_factory=list)


def play(library: Library, program: Program, tail: int, *, skip: bool = True) -> Played:
    """The whole program, and `tail` cycles after the last of it."""
    with Engine(library, Topology((RING,)), skipping=skip) as engine:
        for gpu in (ENTRY, GPU):
            engine.poke(gpu, "control", registers.ControlBit.ENTRY)
        for name, value in program.setup.items():
            engine.poke(GPU, name, value)
        for cell, link in _SENDERS.values():
            engine.set_delay(cell, link, program.delay)
        engine.watch_register(GPU, "memory_held")
        engine.watch_register(GPU, "turn")
        engine.watch_register(GPU, "status", int(BYPASSED))
        todo: list[tuple[int, Callable[[Engine], None]]] = [(s.cycle, _sending(s)) for s in program.sent]
        readings: list[Reading] = []
        # Before what is done in the same cycle.
        todo = [*((cycle, lambda e: readings.append(_reading(e))) for cycle in program.looks), *todo]
        todo = sorted([*todo, *((c.cycle, _changing(c)) for c in program.changes)], key=lambda one: one[0])
        assert todo[0][0] >= START
        played = _played(engine, todo, todo[-1][0] + tail, program.sent)
        played.metered = [*readings, _reading(engine)]
        return played


def _reading(engine: Engine) -> Reading:
    state, *words = (engine.peek(GPU, name) for name in registers.LIVE)
    return Reading(engine.now, state, words[1] << 32 | words[0], words[3] << 32 | words[2])


def _sending(sent: Sent) -> Callable[[Engine], None]:
    cell = GPU if sent.way is Port.CPU else ENTRY
    return lambda e: e.send_from_cpu(cell, sent.frames, at=sent.cycle)


def _changing(change: Change) -> Callable[[Engine], None]:
    if change.register:
        return lambda e: e.poke(GPU, change.what, change.value)
    return lambda e: e.set_fault(GPU, change.what, bool(change.value))


def _played(engine: Engine, todo: list[tuple[int, Callable[[Engine], None]]], end: int, sent: Iterable[Sent]) -> Played:
    played = Played({way: [] for way in (Port.CW, Port.CCW, Port.CPU)})
    wires: dict[int, _Wire] = {}
    while engine.now < end:
        while todo and todo[0][0] <= engine.now:
            todo.pop(0)[1](engine)
        start, until = engine.now, min(end, todo[0][0] if todo else end, engine.now + _CHUNK)
        data, ctl = engine.trace(until - start)
        for way, (cell, link) in _SENDERS.items():
            wire_in = wires.setdefault(10 + way.code, _Wire(way.code))
            played.into[way] += wire_in.frames(data[:, cell, link], ctl[:, cell, link], start)
        for port in range(len(_PORTS)):
            wire_out = wires.setdefault(port, _Wire(port))
            played.out += wire_out.frames(data[:, GPU, port], ctl[:, GPU, port], start)
        for row in engine.observations():
            cycle, value = int(row["cycle"]), int(row["value"])
            if row["address"] == registers.ADDRESS["status"]:
                played.bypassed.append((cycle, bool(value)))
            else:
                kept = played.held if row["address"] == registers.ADDRESS["memory_held"] else played.turns
                kept.append((cycle, value))
        events = engine.events()
        for row in events.table[events.table["kind"] == TO_CPU]:
            assert not row["bad"]
            played.arrived.append((int(row["cycle"]), int(row["cell"]), events.frame(row)))
    played.out.sort(key=lambda frame: frame.cycles[0])
    played.into[Port.CPU] = [*_from_the_cpu(sent)]
    played.end = end
    played.evaluations = engine.evaluations
    return played


def _from_the_cpu(sent: Iterable[Sent]) -> Iterable[Flits]:
    """Frames on GPU's own link to the CPU: one flit a cycle. A program leaves GPU time to take them: no credit is
    waited for."""
    free = 0
    for one in sorted((s for s in sent if s.way is Port.CPU), key=lambda s: s.cycle):
        for data in one.frames:
            begin, flits = max(free, one.cycle), len(data) // wire.FLIT_BYTES
            free = begin + flits
            yield Flits(Port.CPU.code, data, tuple(range(begin, free)))


@dataclass
class _Wire:
    """Data frames of one link, as they go by; control frames may be in between."""

    port: int
    flits: list[int] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)

    def frames(self, data: "np.ndarray", ctl: "np.ndarray", start: int) -> list[Flits]:  # type: ignore[type-arg]
        done = []
        both = int(_VALID | _DATA)
        for i in np.flatnonzero(ctl & both == both):
            if ctl[i] & int(_SOF):
                self.flits, self.cycles = [], []
            self.flits.append(int(data[i]))
            self.cycles.append(start + int(i))
            if ctl[i] & int(_EOF):
                whole = b"".join(flit.to_bytes(wire.FLIT_BYTES, "big") for flit in self.flits)
                done.append(Flits(self.port, whole, tuple(self.cycles)))
        return done
