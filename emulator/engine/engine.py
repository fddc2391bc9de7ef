"""Rings of RTL nodes under one clock: run until something happens, look, poke, break, save and go back."""

import copy
import ctypes
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ringhil.emulator.engine.library import Library
from ringhil.protocol import registers

FOREVER = 2**64 - 1

# Kinds of event.
# A control frame reached the mailbox of a GPU's firmware; port 0, 1 (ring), 2 (CPU) or 3 (another card).
FROM_RING = 0
TO_CPU = 1  # a frame reached the CPU from a GPU; port is the virtual channel, 0 control or 1 data

EVENT = np.dtype(
    [
        ("cycle", "u8"),  # in which the last flit was there
        ("cell", "u4"),
        ("kind", "u1"),
        ("port", "u1"),
        ("bad", "u1"),  # it arrived damaged
        ("reserved", "u1"),
        ("offset", "u8"),  # bytes, in the frame buffer
        ("length", "u8"),  # bytes
    ]
)

CHANGE = np.dtype(
    [
        ("cycle", "u8"),  # from which on it is so
        ("data", "u8"),
        ("cell", "u4"),
        ("port", "u1"),  # 0, 1: ring ports 1 and 2; 2: to the CPU; 3: to another card
        ("ctl", "u1"),  # bits of `wire.LINK_BITS`
        ("reserved", "u2"),
    ]
)

OBSERVATION = np.dtype(
    [
        ("cycle", "u8"),  # from which on the register reads so
        ("cell", "u4"),
        ("mask", "u4"),  # of the register, as it is watched
        ("value", "u4"),  # of it now, in the bits of `mask`
        ("address", "u4"),
    ]
)

PORTS = {"cw": 0, "ccw": 1, "cpu": 2, "boundary": 3}  # ways out of a GPU's mailbox


@dataclass(frozen=True)
class Topology:
    """Cards, by their number of GPUs; cells are numbered through, card by card, in ring order.

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
        """For each cell the one at the other end of its boundary port."""
        peers: list[int | None] = [None] * self.cells
        for a, b in self.crossings:
            peers[a], peers[b] = b, a
        return tuple(peers)


@dataclass(frozen=True)
class Events:
    """What a run brought: events, and the frames' bytes. Valid until the next call of run()."""

    raw: memoryview  # bytes of the table
    buffer: memoryview

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
        return bytes(self.buffer[start : start + int(row["length"])])


_HEADER = struct.Struct("=4Q")
_MESSAGE = struct.Struct("=5Q")
_ROW = struct.Struct("=QIBBBBQQ")  # as EVENT
_NO_OBSERVATION = np.empty(0, OBSERVATION)
_NOTHING = Events(memoryview(b""), memoryview(b""))
# Of the library's struct Ended.
_ENDED_AT, _NUMBER, _TABLE, _BYTES, _SIZE, _OBSERVED, _SEEN = range(7)
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
        return cls([0] * cells, [0] * cells, np.zeros((cells, 4), np.uint16), np.zeros((cells, 4), np.uint8))


class Snapshot:
    """The whole state of an engine at one cycle; lives in memory, may be restored any number of times."""

    def __init__(self, calls: Any, handle: int, topology: Topology, faults: _Faults) -> None:
        self._calls, self.handle = calls, handle
        self.topology, self._faults = topology, faults

    def fits(self, calls: Any, topology: Topology) -> bool:
        """Whether an engine of this library and topology can go on from here."""
        return self._calls is calls and self.topology == topology

    @property
    def faults(self) -> _Faults:
        """Faults that were set."""
        return copy.deepcopy(self._faults)

    @property
    def model_bytes(self) -> int:
        """Size of the RTL's state (bytes)."""
        return int(self._calls.ringhil_snapshot_bytes(self.handle))

    def __del__(self) -> None:
        if self.handle:
            self._calls.ringhil_forget(self.handle)
            self.handle = 0


class Engine:
    """One simulation. Any number of them may live in a process; one is for one thread at a time.

    Time is `now`: the cycle that is simulated next. What is set, written or sent takes effect in that
    cycle at the earliest.
    """

    now: int  # read often, so that asking the library each time would cost more than all else

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
        ended = (ctypes.c_uint64 * 7).from_address(self._calls.ringhil_ended(self._handle))
        self._ended = memoryview(ended).cast("B").cast("Q")
        self.now = 0

    def close(self) -> None:
        """Free the models."""
        if self._handle:
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
        return self._counters()[0]

    @property
    def busy_cycles(self) -> int:
        """Cycles so far in which at least one node was evaluated; the others were leapt over."""
        return self._counters()[1]

    def _counters(self) -> tuple[int, int]:
        evaluations, steps = ctypes.c_uint64(), ctypes.c_uint64()
        self._calls.ringhil_counters(self._handle, ctypes.byref(evaluations), ctypes.byref(steps))
        return evaluations.value, steps.value

    def run(self, until: int = FOREVER, *, lookahead: int = 1) -> Events:
        """Run to cycle `until`, or until `lookahead` cycles after the first event, whichever is first."""
        self._run(self._handle, until, lookahead)
        ended = self._ended
        self.now = ended[_ENDED_AT]
        if not ended[_NUMBER]:
            return _NOTHING
        return _events(ended[_TABLE], ended[_NUMBER], ended[_BYTES], ended[_SIZE])

    def trace(self, cycles: int) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """Run exactly `cycles` cycles; what every transmitter put on its wires after each of them.

        Two arrays of shape (cycles, GPUs, 4): data, and control bits; ports in the order 1, 2, CPU, other card.
        """
        shape = (cycles, self.topology.cells, 4)
        data, ctl = np.empty(shape, np.uint64), np.empty(shape, np.uint8)
        self._calls.ringhil_trace(self._handle, cycles, data.ctypes.data, ctl.ctypes.data)
        self.now += cycles
        return data, ctl

    def headers(self, cycles: int) -> list[tuple[int, ...]]:
        """First four flits of every statistics message that begins on a ring port in the next `cycles` cycles, if they
        are all sent within them. It is only foreseen: the engine stays as it is. What the last run brought is gone.
        """
        table = ctypes.c_void_p()
        count = self._calls.ringhil_headers(self._handle, cycles, ctypes.byref(table))
        if not count:
            return []
        return list(_HEADER.iter_unpack(ctypes.string_at(table.value or 0, count * _HEADER.size)))

    def watch(self) -> None:
        """From now on every run notes how the wires change; see `changes`."""
        self._calls.ringhil_watch(self._handle)

    def changes(self) -> NDArray[np.void]:
        """How the transmitters' wires changed in the last run (dtype CHANGE), in order of time."""
        table = ctypes.c_void_p()
        count = self._calls.ringhil_changes(self._handle, ctypes.byref(table))
        if not count:
            return np.empty(0, CHANGE)
        rows = (ctypes.c_char * (count * CHANGE.itemsize)).from_address(table.value or 0)
        return np.frombuffer(bytes(rows), CHANGE)

    def watch_register(self, cell: int, register: str, mask: int = 0xFFFFFFFF, *, on: bool = True) -> None:
        """Have it observed when a register changes in the bits of `mask`, from what it reads now; or no longer.

        What is asked for several times ends when it has been ended as often.
        """
        self._calls.ringhil_watch_register(self._handle, cell, registers.ADDRESS[register], mask, on)

    def observations(self) -> NDArray[np.void]:
        """How watched registers changed in the last run or trace (dtype OBSERVATION), by cycle, cell and address."""
        count = self._ended[_OBSERVED]
        if not count:
            return _NO_OBSERVATION
        rows = (ctypes.c_char * (count * OBSERVATION.itemsize)).from_address(self._ended[_SEEN])
        return np.frombuffer(bytes(rows), OBSERVATION)

    def messages(self, since: int) -> list[tuple[int, ...]]:
        """First four flits of the last statistics message that each ring port has sent, where its first flit was on
        the wire in cycle `since` or later; by cell and port."""
        table = ctypes.c_void_p()
        count = self._calls.ringhil_messages(self._handle, since, ctypes.byref(table))
        if not count:
            return []
        return [row[1:] for row in _MESSAGE.iter_unpack(ctypes.string_at(table.value or 0, count * _MESSAGE.size))]

    def events(self) -> Events:
        """What the last run or trace brought."""
        table, buffer, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
        refs = (ctypes.byref(table), ctypes.byref(buffer), ctypes.byref(size))
        count = self._calls.ringhil_events(self._handle, *refs)
        return _events(table.value or 0, count, buffer.value or 0, size.value) if count else _NOTHING

    def send_mail(self, cell: int, port: int, frame: bytes, *, at: int = 0) -> None:
        """The firmware of a GPU writes a frame into its mailbox, from cycle `at` on; see PORTS."""
        self._calls.ringhil_send_mail(self._handle, cell, at, port, frame, len(frame))

    def send_from_cpu(self, cell: int, frames: Sequence[bytes], *, at: int = 0) -> None:
        """The CPU sends frames to a GPU, one after the other, from cycle `at` on."""
        lengths = np.array([len(f) for f in frames], dtype=np.uint32)
        self._calls.ringhil_send_host(self._handle, cell, at, b"".join(frames), lengths.ctypes.data, len(frames))

    def forget_mail(self, cell: int) -> None:
        """Drop what a GPU's firmware had not yet written: it died."""
        self._calls.ringhil_forget_mail(self._handle, cell)

    def set_fault(self, cell: int, name: str, on: bool) -> None:
        """Set or clear a fault of a GPU (`registers.FAULT_BITS`)."""
        self._faults.nodes[cell] = _with_bit(self._faults.nodes[cell], registers.FAULT_BITS[name], on)
        self._apply_faults(cell)

    def set_link_fault(self, cell: int, name: str, on: bool) -> None:
        """Set or clear a fault of the medium before a GPU's port (`registers.LINK_FAULT_BITS`)."""
        self._faults.links[cell] = _with_bit(self._faults.links[cell], registers.LINK_FAULT_BITS[name], on)
        self._apply_faults(cell)

    def cut_link(self, before: int, after: int, on: bool) -> None:
        """Cut or mend the ring link from port 2 of `before` to port 1 of `after`, both directions."""
        self.set_link_fault(before, "cut_port2", on)
        self.set_link_fault(after, "cut_port1", on)

    def set_bit_errors(self, cell: int, port: int, share: int) -> None:
        """Of 65,536 flits that arrive at a port (0, 1, 2 = CPU, 3 = card), how many arrive with one bit flipped."""
        self._faults.bit_errors[cell, port] = share
        self._apply_faults(cell)

    def set_delay(self, cell: int, port: int, cycles: int) -> None:
        """By how many cycles (to MAX_LINK_DELAY) later everything arrives at a port (0, 1, 2 = CPU, 3 = card)."""
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

    def save(self) -> Snapshot:
        """The state now."""
        faults = copy.deepcopy(self._faults)
        return Snapshot(self._calls, self._calls.ringhil_save(self._handle), self.topology, faults)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back (or forward) to a snapshot of this engine, or of one with the same library and topology.

        Raises ValueError for any other.
        """
        if not snapshot.fits(self._calls, self.topology):
            raise ValueError(
                f"the snapshot is of {snapshot.topology}, this engine has {self.topology}; "
                "cards, crossings and engine library must be the same"
            )
        self._calls.ringhil_restore(self._handle, snapshot.handle)
        self._faults = snapshot.faults
        self.now = int(self._calls.ringhil_now(self._handle))


def _events(table: int, count: int, buffer: int, size: int) -> Events:
    rows = (ctypes.c_char * (count * EVENT.itemsize)).from_address(table)
    frames = (ctypes.c_char * size).from_address(buffer)
    return Events(memoryview(rows).cast("B"), memoryview(frames).cast("B"))


def _with_bit(value: int, bit: int, on: bool) -> int:
    return value | 1 << bit if on else value & ~(1 << bit)
