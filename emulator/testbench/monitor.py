"""Watches one direction of a link without touching it: frames of both channels, credits, carrier, broken rules.

A monitor sleeps until a control bit changes; it looks at every clock edge only while something is under way. That
makes the difference between a few thousand and a few hundred thousand simulated cycles a second.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import RisingEdge, ValueChange

from ringhil.emulator.testbench.arguments import KitError
from ringhil.emulator.testbench.bus import Pin, logger
from ringhil.emulator.testbench.frame import Channel, RingFrame
from ringhil.emulator.testbench.link import BIT
from ringhil.protocol import wire

_VALID, _DATA, _SOF, _EOF, _ERR = (BIT[n] for n in ("valid", "data", "sof", "eof", "err"))
_CREDIT, _UP, _FAULT = (BIT[n] for n in ("credit", "up", "fault"))
_log = logger("monitor")
PERIOD = 1000  # steps of simulated time a cycle: a nanosecond, so that waves and messages of the RTL count cycles
_STAY = _VALID | _CREDIT  # while one of them is set, the next cycle may look the same and carry something new
LONGEST: dict[Channel, int] = {"control": wire.MAX_FRAME_FLITS, "data": wire.DATA_FRAME_FLITS}  # flits


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule of the link that was broken: its name `rule`, in which `cycle`, and `what` was seen."""

    rule: str
    cycle: int
    what: str


Cycle = Callable[[], int]


class RingMonitor:
    """Watches one direction of a link, both channels.

    Frames arrive in `frames`, each with its cycles; `recv` takes the next one.

    | callback | called with |
    |---|---|
    | `on_frame` | each frame, when its last flit (or the cut) has been seen |
    | `on_bits` | the control bits of each cycle that was looked at |
    | `on_breach` | each Breach |

    `cycle` answers the number of the cycle that the last clock edge ended. `name` stands before what is said of
    `breaches`, a list of all; `samples` counts clock edges that were looked at.
    """

    def __init__(self, name: str, data: Pin, ctl: Pin, clock: Pin, cycle: Cycle) -> None:
        self.name = name
        self._data, self._ctl, self._clock, self._cycle = data, ctl, clock, cycle
        self._open: dict[Channel, tuple[bytearray, int, bool] | None] = {"control": None, "data": None}
        # Channels on which the carrier was gone, or the link not used: the rest of a frame may still come, which no
        # receiver takes.
        self._cut: set[Channel] = set()
        self.frames: Queue[RingFrame] = Queue()
        self.on_frame: list[Callable[[RingFrame], None]] = []
        self.on_bits: list[Callable[[int, int], None]] = []
        self.on_breach: list[Callable[[Breach], None]] = []
        self.breaches: list[Breach] = []
        self.samples = 0
        self._task = cocotb.start_soon(self._run())

    async def recv(self) -> RingFrame:
        """The next frame, good or bad."""
        return await self.frames.get()

    def unfinished(self, channel: Channel) -> bool:
        """A frame has begun whose end has not come yet."""
        return self._open[channel] is not None

    def stop(self) -> None:
        """End the monitor's task."""
        self._task.cancel()

    def _breach(self, rule: str, what: str) -> None:
        found = Breach(rule, self._cycle(), f"{self.name}: {what}")
        self.breaches.append(found)
        _log.debug("%s in cycle %d: %s", rule, found.cycle, found.what)
        for call in self.on_breach:
            call(found)

    def _read(self, pin: Pin) -> int:
        try:
            return pin.read()
        except KitError as error:
            raise KitError(f"{self.name}, cycle {self._cycle()}: {error}") from None

    async def _run(self) -> None:
        ctl, edge, change = self._ctl, RisingEdge(self._clock.handle), ValueChange(self._ctl.handle)
        last = -1
        while True:
            await edge
            bits = self._read(ctl)
            self.samples += 1
            if bits != last or bits & _STAY:
                self._look(bits)
                last = bits
            elif not bits & _STAY:
                await change

    def _look(self, bits: int) -> None:
        if bits & _FAULT or not bits & _UP:
            self._unused()
            if bits & _VALID and not bits & _UP:
                self._breach("link.carrier", "a flit without carrier")
        elif bits & _VALID:
            self._flit(bits)
        elif bits & (_DATA | _SOF | _EOF | _ERR):
            self._breach("link.idle", f"control bits 0x{bits:02X} in a cycle without a flit")
        elif word := self._read(self._data):
            self._breach("link.idle", f"data 0x{word:016X} in a cycle without a flit")
        for call in self.on_bits:
            call(bits, self._cycle())

    def _unused(self) -> None:
        """This end doesn't use the link: what it sends isn't heard, and what it had begun is cut."""
        self._cut |= {"control", "data"}
        for channel, running in self._open.items():
            if running is not None:
                self._open[channel] = None
                self._finish(channel, running, eof=False, err=False, ended=self._cycle() - 1)

    def _flit(self, bits: int) -> None:
        channel: Channel = "data" if bits & _DATA else "control"
        word, cycle = self._read(self._data).to_bytes(8, "big"), self._cycle()
        running = self._open[channel]
        if bits & _ERR and not bits & _EOF:
            self._breach("link.framing", f"err without eof on the {channel} channel")
        if bits & _SOF and running is not None:
            self._breach("link.framing", f"a {channel} frame begins inside another")
            self._finish(channel, running, eof=False, err=False, ended=cycle - 1)
            running = None
        if bits & _SOF:
            self._cut.discard(channel)
        elif channel in self._cut:
            if bits & _EOF:
                self._cut.discard(channel)
            return
        if running is None:
            if not bits & _SOF:
                self._breach("link.framing", f"a {channel} flit outside of any frame")
            running = (bytearray(), cycle, bool(bits & _SOF))
        running[0].extend(word)
        if len(running[0]) == wire.FLIT_BYTES * (LONGEST[channel] + 1):
            self._breach("link.framing", f"a {channel} frame is longer than {LONGEST[channel]} flits")
        self._open[channel] = running
        if bits & _EOF:
            self._open[channel] = None
            self._finish(channel, running, eof=True, err=bool(bits & _ERR), ended=cycle)

    def _finish(
        self, channel: Channel, running: tuple[bytearray, int, bool], *, eof: bool, err: bool, ended: int
    ) -> None:
        data, began, sof = running
        frame = RingFrame(bytes(data), channel, err, sof, eof, began, ended)
        self.frames.put_nowait(frame)
        for call in self.on_frame:
            call(frame)
