"""A GPU as its guest sees it: registers, and memory. Each access to a register of the GPU is one of a Verilated node.

The node is one of the server's RTL, from reset on. It goes by the guest's time: it is clocked when the guest says so.
Frames go in and out by its port to the CPU, and lie in the GPU's memory, which the guest reaches without the server.
"""

import mmap
import os
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from ringhil.emulator.engine.engine import TO_CPU, Engine, RtlStopped, Topology
from ringhil.emulator.engine.library import Library
from ringhil.protocol.registers import LIVE, OF_METER, REGISTERS

BAR_BYTES = 4096
MAGIC = 0x474E4952  # "RING", as a guest reads it
ALL_ONES = 0xFFFFFFFF  # what is read where nothing answers
MAX_STEP = 1 << 16  # cycles at once: who asks for the meters waits for them
MAX_FRAME = 512  # bytes that are taken for one
MAX_WAITING = 64  # frames that wait for either side


# Registers of a GPU that its lender sets before a guest has it.
HOST_SETTINGS = (
    *("gpu_type", "compute_setup", "compute_per_flit", "device_memory", "context_switch", "default_slice"),
    *(name for name in OF_METER if name not in LIVE),
)


class CardRegister(IntEnum):
    """Byte offsets in BAR 0 behind the registers of the node, which are at four times their address. `writable`: the
    guest may write it; `doc`: what it is."""

    writable: bool
    doc: str

    def __new__(cls, offset: int, writable: bool, doc: str) -> Self:
        member = int.__new__(cls, offset)
        member._value_, member.writable, member.doc = offset, writable, doc
        return member

    MAGIC = 0x400, False, "0x474E4952, `RING`"
    MEMORY = 0x404, False, "bytes of the GPU's memory"
    SEND_AT = 0x408, True, "offset in the memory of the next frame for the GPU"
    SEND = 0x40C, True, "its bytes, whole flits; written, it goes to the GPU by its port to the CPU"
    TAKE_AT = 0x410, True, "offset in the memory to which the next frame of the GPU goes"
    TAKE = 0x414, False, "read, the next frame is put there: its bytes, 0 when there is none; bit 31: it came damaged"
    STEP = 0x418, True, "written, so many cycles pass, 65,536 at most, fewer when a frame comes from the GPU"
    NOW_LOW = 0x41C, False, "cycles since reset, bits 31 to 0"
    NOW_HIGH = 0x420, False, "the same, bits 63 to 32"
    REFUSED = 0x424, False, "accesses since reset that were refused: offset, size, read-only, no such frame"


@dataclass(frozen=True)
class CardMeters:
    """Since the card was made, resets or not. `busy`: cycles; `energy`: the node's units; `cycles` that have passed."""

    busy: int
    energy: int
    cycles: int

    def __add__(self, other: Self) -> Self:
        return type(self)(self.busy + other.busy, self.energy + other.energy, self.cycles + other.cycles)


_READABLE = {4 * each.address: each.name for each in REGISTERS}
# What the lender meters by is none of the guest's.
_WRITABLE = {4 * each.address: each.name for each in REGISTERS if each.access == "rw" and each.name not in OF_METER}
_DAMAGED = 1 << 31


class LentCard:
    """One GPU. `settings`: registers that the lender sets, at each reset. `memory`: bytes, a power of two.

    May be used by several threads. Whatever a guest reads or writes, it changes nothing but this.
    """

    def __init__(self, library: Library, memory: int, settings: Mapping[str, int] | None = None) -> None:
        """Raises OSError when there is no memory."""
        self._lock = threading.Lock()
        self._library, self._settings = library, dict(settings or {})
        self.memory = memory
        self.memory_file, self.bytes = _memory(memory)
        """An open file without a name: gone with whoever holds it last."""
        self.accesses = 0
        """To registers, by the guest."""
        self._past = CardMeters(0, 0, 0)
        self._engine: Engine | None = None
        self._start()

    def close(self) -> None:
        """The node and the memory go."""
        with self._lock:
            self._stop()
            self.bytes.close()
            os.close(self.memory_file)

    def renew_memory(self) -> None:
        """What a guest still holds is the GPU's memory no more. Raises OSError."""
        with self._lock:
            file, old = self.memory_file, self.bytes
            self.memory_file, self.bytes = _memory(self.memory)
            old.close()
            os.close(file)

    def reset(self) -> None:
        """As after power-up, but for the memory and the meters."""
        with self._lock:
            self._stop()
            self._start()

    def scrub(self) -> bool:
        """Zeros in all of the memory; whether it reads so."""
        zeros = bytes(min(self.memory, 1 << 20))
        with self._lock:
            for start in range(0, self.memory, len(zeros)):
                self.bytes[start : start + len(zeros)] = zeros
            return all(self.bytes[start : start + len(zeros)] == zeros for start in range(0, self.memory, len(zeros)))

    @property
    def meters(self) -> CardMeters:
        """What it has done."""
        with self._lock:
            return self._metered()

    def read(self, offset: int, size: int) -> int:
        """What the guest reads; `size` in bytes."""
        with self._lock:
            self.accesses += 1
            try:
                return self._read(offset, size)
            except RtlStopped:
                self._stop()
                return ALL_ONES

    def write(self, offset: int, size: int, value: int) -> None:
        """What the guest writes."""
        with self._lock:
            self.accesses += 1
            try:
                self._write(offset, size, value & ALL_ONES)
            except RtlStopped:  # an assertion of the RTL: the GPU has fallen off the bus until it is reset
                self._stop()

    def _start(self) -> None:
        self._engine = Engine(self._library, Topology((1,)))
        for name, value in self._settings.items():
            self._engine.poke(0, name, value)
        self._send_at = self._take_at = self._refused = 0
        self._may_send = MAX_WAITING
        self._waiting: deque[tuple[bytes, bool]] = deque(maxlen=MAX_WAITING)
        self._step(self._engine, len(self._settings) + 1)  # a cycle takes one write

    def _stop(self) -> None:
        if self._engine is not None:
            self._past = self._metered()
            self._engine.close()
            self._engine = None

    def _metered(self) -> CardMeters:
        engine, past = self._engine, self._past
        if engine is None:
            return past
        busy, energy = (engine.peek(0, f"{of}_high") << 32 | engine.peek(0, f"{of}_low") for of in ("busy", "energy"))
        return past + CardMeters(busy, energy, engine.now)

    def _refuse(self) -> int:
        self._refused = min(self._refused + 1, ALL_ONES)
        return ALL_ONES

    def _read(self, offset: int, size: int) -> int:
        engine = self._engine
        if engine is None or size != 4:
            return self._refuse()
        if offset in _READABLE:
            return engine.peek(0, _READABLE[offset])
        match offset:
            case CardRegister.MAGIC:
                return MAGIC
            case CardRegister.MEMORY:
                return self.memory
            case CardRegister.SEND_AT:
                return self._send_at
            case CardRegister.TAKE_AT:
                return self._take_at
            case CardRegister.TAKE:
                return self._take()
            case CardRegister.NOW_LOW:
                return engine.now & ALL_ONES
            case CardRegister.NOW_HIGH:
                return engine.now >> 32
            case CardRegister.REFUSED:
                return self._refused
        return self._refuse()

    def _take(self) -> int:
        if not self._waiting:
            return 0
        frame, bad = self._waiting[0]
        if self._take_at + len(frame) > self.memory:
            self._refuse()
            return 0
        self._waiting.popleft()
        self.bytes[self._take_at : self._take_at + len(frame)] = frame
        return len(frame) | (_DAMAGED if bad else 0)

    def _write(self, offset: int, size: int, value: int) -> None:
        engine = self._engine
        if engine is None or size != 4:
            self._refuse()
        elif offset in _WRITABLE:
            engine.poke(0, _WRITABLE[offset], value)
            self._step(engine, 1)  # what is written holds from the next cycle on
        elif offset == CardRegister.SEND_AT:
            self._send_at = value
        elif offset == CardRegister.TAKE_AT:
            self._take_at = value
        elif offset == CardRegister.SEND:
            self._send(engine, value)
        elif offset == CardRegister.STEP and value <= MAX_STEP:
            self._step(engine, value)
        else:
            self._refuse()

    def _send(self, engine: Engine, length: int) -> None:
        """A frame has whole flits. No more may wait than the node takes meanwhile."""
        if not 8 <= length <= MAX_FRAME or length % 8 or self._send_at + length > self.memory or not self._may_send:
            self._refuse()
            return
        self._may_send -= 1
        engine.send_from_cpu(0, [self.bytes[self._send_at : self._send_at + length]])

    def _step(self, engine: Engine, cycles: int) -> None:
        before = engine.now
        events = engine.run(before + cycles)
        for row in events.table:
            if row["kind"] == TO_CPU:
                self._waiting.append((events.frame(row)[:MAX_FRAME], bool(row["bad"])))
        self._may_send = min(MAX_WAITING, self._may_send + (engine.now - before) // MAX_FRAME)


def _memory(size: int) -> tuple[int, mmap.mmap]:
    file = os.memfd_create("ringhil-gpu", os.MFD_CLOEXEC)
    try:
        os.ftruncate(file, size)
        return file, mmap.mmap(file, size)
    except OSError:
        os.close(file)
        raise
