"""Rings of RTL nodes under one clock: run until something happens, look, poke and break."""

import ctypes
import linecache
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ringhil.emulator.engine import layout
from ringhil.emulator.engine.layout import FROM_RING, TO_CPU
from ringhil.emulator.engine.library import Library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.events.hardware import NodeDiffered
from ringhil.protocol import registers
from ringhil.protocol.wire import Link

__all__ = [
    "CHANGE",
    "EVENT",
    "FOREVER",
    "FROM_RING",
    "OBSERVATION",
    "TO_CPU",
    "Engine",
    "Events",
    "OutsideError",
    "OutsideNode",
    "RtlStopped",
    "Topology",
]

FOREVER = 2**64 - 1
EVENT, CHANGE, OBSERVATION = (row.dtype for row in (layout.EVENT, layout.CHANGE, layout.OBSERVATION))


@dataclass(frozen=True)
class Topology:
    """How an engine's nodes are wired.

    Cards, by their number of GPUs; cells are numbered through, card by card, in ring order.

    `crossings`: pairs of cells whose boundary ports are wired to each other.
    """

    rings: tuple[int, ...]
    crossings: tuple[tuple[int, int], ...] = ()

    @property
    def cells(self) -> int:
        """GPUs in all."""
        return sum(self.rings)

    def first(self, card: int) -> int:
        """Cell of GPU 0 of a card."""
        return sum(self.rings[:card])

    def cell(self, card: int, gpu: int) -> int:
        """Cell of a GPU."""
        return self.first(card) + gpu

    @property
    def peers(self) -> tuple[int | None, ...]:
        """The cell at the other end of each cell's boundary port."""
        peers: list[int | None] = [None] * self.cells
        for a, b in self.crossings:
            peers[a], peers[b] = b, a
        return tuple(peers)


@dataclass(frozen=True)
class Events:
    """What a run brought: events, and the frames' bytes."""

    raw: bytes  # of the table
    buffer: bytes

    @property
    def table(self) -> NDArray[np.void]:
        """One row an event (dtype EVENT)."""
        return np.frombuffer(self.raw, EVENT)

    def __len__(self) -> int:
        return len(self.raw) // EVENT.itemsize

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Rows of the table, as plain numbers."""
        return _ROW.iter_unpack(self.raw)

    def frame(self, row: "np.void") -> bytes:
        """Bytes of the frame of one row."""
        start = int(row["offset"])
        return self.buffer[start : start + int(row["length"])]


_ROW = layout.EVENT.packed
_MESSAGE = layout.MESSAGE.packed
_OUTSIDE = layout.OUTSIDE.packed
_DIFFERENCE = layout.DIFFERENCE.packed
_NOTHING = Events(b"", b"")
# Places in the library's struct Ended; a table's address stands behind its number of rows.
_NOW, _EVENTS, _EVENTS_AT, _BYTES, _BYTES_AT, _CHANGES, _, _OBSERVATIONS, _, *_COUNTERS = range(
    len(layout.ENDED.fields)
)
_EVALUATIONS, _BUSY, _LOST, _DIFFERENCES = _COUNTERS
_NOBODY = 2**32 - 1


@dataclass
class _Faults:
    """What is set, by cell."""

    nodes: list[int]
    links: list[int]
    bit_errors: "NDArray[np.uint16]"  # by cell and port
    delays: "NDArray[np.uint8]"

    @classmethod
    def none(cls, cells: int) -> "_Faults":
        shape = (cells, len(Link))
        return cls([0] * cells, [0] * cells, np.zeros(shape, np.uint16), np.zeros(shape, np.uint8))


class OutsideError(RinghilError, RuntimeError):
    """A node outside can't be had; the text is the end of a sentence that begins with it."""


@dataclass(frozen=True)
class OutsideNode:
    """How a node outside is: `lost`, why nothing more comes of it, or nothing; `steps`, cycles in which it was clocked;
    in how many, from which on, its twin in this process did otherwise, or a register of it read otherwise."""

    cell: int
    lost: str
    lost_at: int
    steps: int
    differing: int
    first_differing: int
    sent: int  # bytes
    received: int


class RtlStopped(RuntimeError):
    """An assertion inside the RTL has failed: file and line, the rule, the cycle. Which instance of the module it was
    is on standard output."""


class Engine:
    """RTL nodes under one clock, wired as rings.

    One simulation. Any number of them may live in a process; one is for one thread at a time.

    Time is `now`: the cycle that is simulated next. What is set, written or sent takes effect in that
    cycle at the earliest.
    """

    now: int  # read often, so that asking the library each time would cost more than all else
    attached: bool  # whether a node is outside

    def __init__(self, library: Library, topology: Topology, *, skipping: bool = True) -> None:
        self.library, self.topology = library, topology
        self._calls = library.calls
        columns = [
            (card, gpu, size, topology.cell(card, (gpu - 1) % size), topology.cell(card, (gpu + 1) % size))
            for card, size in enumerate(topology.rings)
            for gpu in range(size)
        ]
        table = np.array(columns, dtype=np.int64)
        cards, gpus, sizes = (np.ascontiguousarray(table[:, i], dtype=np.uint16) for i in range(3))
        before, after = (np.ascontiguousarray(table[:, i], dtype=np.uint32) for i in (3, 4))
        peers = np.array([_NOBODY if p is None else p for p in topology.peers], dtype=np.uint32)
        pointers = [a.ctypes.data for a in (cards, gpus, sizes, before, after, peers)]
        self._handle = self._calls.ringhil_create(*pointers, topology.cells)
        self._faults = _Faults.none(topology.cells)
        self._calls.ringhil_set_skipping(self._handle, skipping)
        self._run = self._calls.ringhil_run
        ended = (ctypes.c_uint64 * len(layout.ENDED.fields)).from_address(self._calls.ringhil_ended(self._handle))
        self._ended = memoryview(ended).cast("B").cast("Q")
        self.now = 0
        self.attached = False

    def close(self) -> None:
        """Free the models."""
        if self._handle:
            self._ended = memoryview(bytes(self._ended)).cast("Q")  # the counters can still be read
            self._calls.ringhil_destroy(self._handle)
            self._handle = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self.close()

    @property
    def evaluations(self) -> int:
        """Node evaluations so far: the real cost of what was simulated."""
        return self._ended[_EVALUATIONS]

    @property
    def busy_cycles(self) -> int:
        """Cycles so far in which at least one node was evaluated; the others were leapt over."""
        return self._ended[_BUSY]

    def attach(self, cell: int, fd: int, *, sequence: int, patience: int) -> None:
        """Before the first run: the hardware of a cell is at the other end of a line, an open descriptor that the
        caller closes. `sequence`: of the last message there; `patience`: milliseconds after which a request is asked
        again. Raises OutsideError.

        When it is lost in a cycle, the cell is a GPU that fails in the next one, and a run ends there; see `outside`.
        """
        why = self._calls.ringhil_attach(self._handle, cell, fd, sequence, patience)
        if why is not None:
            raise OutsideError(why.decode())
        self.attached = True

    @property
    def lost(self) -> int:
        """The number of nodes outside that have been lost."""
        return self._ended[_LOST]

    def outside(self) -> list[OutsideNode]:
        """The nodes outside, in the order in which they were attached."""
        table = ctypes.c_void_p()
        size = self._calls.ringhil_outside(self._handle, ctypes.byref(table)) * _OUTSIDE.size
        rows = _OUTSIDE.iter_unpack(ctypes.string_at(table.value or 0, size) if size else b"")
        return [
            OutsideNode(cell, ctypes.string_at(why_at).decode() if lost else "", lost_at, *rest)
            for cell, lost, lost_at, why_at, *rest in rows
        ]

    @property
    def differing(self) -> bool:
        """Whether `differences` has anything to say of the last run."""
        return bool(self._ended[_DIFFERENCES])

    def differences(self) -> list[NodeDiffered]:
        """What nodes outside did otherwise than their twins since the last call, by cycle."""
        table = ctypes.c_void_p()
        size = self._calls.ringhil_differences(self._handle, ctypes.byref(table)) * _DIFFERENCE.size
        rows = _DIFFERENCE.iter_unpack(ctypes.string_at(table.value or 0, size) if size else b"")
        return [NodeDiffered(cycle, cell, place, value) for cycle, value, cell, place in rows]

    def recall(self, cell: int, cycle: int, place: int, value: int) -> None:
        """Before the first run: the hardware here does again what a node outside did in its place (NodeDiffered)."""
        self._calls.ringhil_recall(self._handle, cell, cycle, place, value)

    def run(self, until: int = FOREVER, *, lookahead: int = 1) -> Events:
        """Run to cycle `until`, or until `lookahead` cycles after the first event, whichever is first."""
        if self._run(self._handle, until, lookahead):
            raise self._stopped()
        ended = self._ended
        self.now = ended[_NOW]
        return self.events() if ended[_EVENTS] else _NOTHING

    def trace(self, cycles: int) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """Run exactly `cycles` cycles; what every transmitter put on its wires after each of them.

        Two arrays of shape (cycles, GPUs, 4): data, and control bits; links in the order of `wire.Link`.
        """
        shape = (cycles, self.topology.cells, len(Link))
        data, ctl = np.empty(shape, np.uint64), np.empty(shape, np.uint8)
        if self._calls.ringhil_trace(self._handle, cycles, data.ctypes.data, ctl.ctypes.data):
            raise self._stopped()
        self.now += cycles
        return data, ctl

    def _stopped(self) -> RtlStopped:
        cycle, where = self._calls.ringhil_stopped_at(self._handle).decode().split(" ", 1)
        built_from, line = where.rsplit(":", 1)
        file = self.library.sources.get(Path(built_from).name, built_from)
        rule = re.search(r'"(.*)"', linecache.getline(str(file), int(line)))
        return RtlStopped(f"{file}:{line}: {rule[1] if rule else 'an assertion failed'} (cycle {cycle})")

    def watch(self) -> None:
        """Every run from now on notes how the wires change; see `changes`."""
        self._calls.ringhil_watch_wires(self._handle)

    def changes(self) -> NDArray[np.void]:
        """How the transmitters' wires changed in the last run (dtype CHANGE), in order of time."""
        return self._rows(_CHANGES, CHANGE)

    def watch_register(self, cell: int, register: str, mask: int = 0xFFFFFFFF, *, on: bool = True) -> None:
        """Have it observed when a register changes in the bits of `mask`, from what it reads now; or no longer.

        What is asked for several times ends when it has been ended as often. See `observations`.
        """
        self._calls.ringhil_watch_register(self._handle, cell, registers.ADDRESS[register], mask, on)

    @property
    def observed(self) -> int:
        """The number of changes that `observations` has."""
        return self._ended[_OBSERVATIONS]

    def observations(self) -> NDArray[np.void]:
        """How watched registers changed in the last run or trace (dtype OBSERVATION), by cycle, cell and address."""
        return self._rows(_OBSERVATIONS, OBSERVATION)

    def messages(self, since: int) -> list[tuple[int, ...]]:
        """First four flits of the last statistics message that each ring port has sent, where its first flit was on
        the wire in cycle `since` or later; by cell and port."""
        table = ctypes.c_void_p()
        size = self._calls.ringhil_messages(self._handle, since, ctypes.byref(table)) * _MESSAGE.size
        return [row[1:] for row in _MESSAGE.iter_unpack(ctypes.string_at(table.value or 0, size) if size else b"")]

    def events(self) -> Events:
        """What the last run or trace brought."""
        ended = self._ended
        if not ended[_EVENTS]:
            return _NOTHING
        # Copies: an array of ctypes is a type of its own for each length, which costs more than a frame has bytes.
        rows = ctypes.string_at(ended[_EVENTS_AT], ended[_EVENTS] * _ROW.size)
        frames = ctypes.string_at(ended[_BYTES_AT], ended[_BYTES]) if ended[_BYTES] else b""
        return Events(rows, frames)

    def _rows(self, number: int, dtype: "np.dtype[np.void]") -> NDArray[np.void]:
        """A copy of the table whose number of rows is at `number`."""
        size = self._ended[number] * dtype.itemsize
        return np.frombuffer(ctypes.string_at(self._ended[number + 1], size) if size else b"", dtype)

    def send_mail(self, cell: int, port: int, frame: bytes, *, at: int = 0) -> None:
        """The firmware of a GPU writes a frame into its mailbox, from cycle `at` on; see `wire.Port`."""
        self._calls.ringhil_send_mail(self._handle, cell, at, port, frame, len(frame))

    def send_from_cpu(self, cell: int, frames: Sequence[bytes], *, at: int = 0) -> None:
        """The CPU sends frames to a GPU, one after the other, from cycle `at` on."""
        lengths = struct.pack(f"={len(frames)}I", *map(len, frames))
        self._calls.ringhil_send_host(self._handle, cell, at, b"".join(frames), lengths, len(frames))

    def forget_mail(self, cell: int) -> None:
        """Drop what a GPU's firmware had not yet written: it died."""
        self._calls.ringhil_forget_mail(self._handle, cell)

    def set_fault(self, cell: int, name: str, on: bool) -> None:
        """Set or clear a fault of a GPU (`registers.FaultBit`)."""
        self._faults.nodes[cell] = _with_bit(self._faults.nodes[cell], registers.FaultBit.places()[name], on)
        self._apply_faults(cell)

    def set_link_fault(self, cell: int, name: str, on: bool) -> None:
        """Set or clear a fault of the medium before a GPU's port (`registers.LinkFaultBit`)."""
        self._faults.links[cell] = _with_bit(self._faults.links[cell], registers.LinkFaultBit.places()[name], on)
        self._apply_faults(cell)

    def cut_link(self, before: int, after: int, on: bool) -> None:
        """Cut or mend the ring link from port 2 of `before` to port 1 of `after`, both directions."""
        self.set_link_fault(before, "cut_port2", on)
        self.set_link_fault(after, "cut_port1", on)

    def set_bit_errors(self, cell: int, port: int, share: int) -> None:
        """The number of flits that arrive with one bit flipped, of 65,536 at a link of a GPU (`wire.Link.code`)."""
        self._faults.bit_errors[cell, port] = share
        self._apply_faults(cell)

    def draw_errors(self, draw: Callable[[int, int], int]) -> None:
        """From now on links with bit errors damage other flits: which, follows from what `draw(least, most)` says."""
        for cell in range(self.topology.cells):
            drawn = np.array([draw(1, _NOBODY) for _ in Link], dtype=np.uint32)
            self._calls.ringhil_draw_errors(self._handle, cell, drawn.ctypes.data)

    def set_delay(self, cell: int, port: int, cycles: int) -> None:
        """The cycles (to MAX_LINK_DELAY) by which everything arrives later at a link of a GPU (`wire.Link.code`)."""
        self._faults.delays[cell, port] = cycles
        self._apply_faults(cell)

    def _apply_faults(self, cell: int) -> None:
        f = self._faults
        shares, delays = f.bit_errors[cell], f.delays[cell]
        pointers = (shares.ctypes.data, delays.ctypes.data)
        self._calls.ringhil_set_faults(self._handle, cell, f.nodes[cell], f.links[cell], *pointers)

    def poke(self, cell: int, register: str, value: int) -> None:
        """Write a register; it holds from the next cycle on."""
        self._calls.ringhil_poke(self._handle, cell, registers.ADDRESS[register], value)

    def peek(self, cell: int, register: str) -> int:
        """Read a register without time passing."""
        return int(self._calls.ringhil_peek(self._handle, cell, registers.ADDRESS[register]))

    def inside(self, cell: int, path: Path) -> None:
        """Write all that is in a cell at this moment to `path`, as VCD. Only with `inside_library`; the engine is of no
        further use."""
        self._calls.ringhil_show(self._handle, cell, os.fsencode(path))


def _with_bit(value: int, bit: int, on: bool) -> int:
    return value | 1 << bit if on else value & ~(1 << bit)
