"""Sends frames into a node's port: both virtual channels, credits, pauses."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import repeat
from logging import Logger

import cocotb
from cocotb.triggers import Event, RisingEdge

from ringhil.emulator.testbench.arguments import KitError, flits
from ringhil.emulator.testbench.bus import Pin, RingBus
from ringhil.emulator.testbench.frame import Channel, Flit, RingFrame
from ringhil.emulator.testbench.link import BIT, LinkModel


class _Stream:
    """Frames waiting on one channel, and the rest of the one that is being sent."""

    def __init__(self, log: Logger) -> None:
        self.frames: deque[RingFrame] = deque()
        self.log = log
        self.flits: Iterator[Flit] | None = None
        self.open: Flit | None = None  # next flit of the frame that is being sent

    def begin(self) -> None:
        frame = self.frames.popleft()
        self.log.info("TX %s", frame)
        self.flits = frame.flits()
        self.open = next(self.flits, None)

    def take(self) -> Flit:
        assert self.open is not None
        assert self.flits is not None
        flit, self.open = self.open, next(self.flits, None)
        return flit

    def drop(self) -> None:
        """The rest of what is being sent is lost."""
        self.open = None


class RingSource:
    """Drives the inputs of one port: at most one flit a cycle, control first, a data frame only with a credit.

    A pause generator answers, for each cycle in which something could be sent, whether the source pauses. While the
    node doesn't use the link nothing is sent, and the frame on its way is lost, as with a real far end. While `pause`
    is set it sends nothing; `link` is what our end knows, `began` counts data frames.
    """

    def __init__(self, bus: RingBus, clock: Pin, link: LinkModel | None = None) -> None:
        assert bus.rx_data is not None, f"{bus.name} has no inputs here"
        assert bus.rx_ctl is not None
        self._data, self._ctl, self._clock = bus.rx_data, bus.rx_ctl, clock
        self.link = link if link is not None else LinkModel()
        self._streams: dict[Channel, _Stream] = {"control": _Stream(bus.log), "data": _Stream(bus.log)}
        self._wake, self._idle = Event(), Event()
        self._pauses: Iterator[bool] = repeat(False)
        self.pause = False
        self._asleep = False
        self.began = 0
        self._data.write(0)
        self._ctl.write(self.link.levels)
        self.link.woken.append(self.refresh)
        self._idle.set()
        self._task = cocotb.start_soon(self._run())

    def set_pause_generator(self, pauses: Iterable[bool]) -> None:
        """One answer a cycle; when it ends, there are no more pauses."""
        self._pauses = iter(pauses)

    def send_nowait(self, frame: RingFrame) -> None:
        """Queue a frame behind the others of its channel. Raises KitError."""
        if not isinstance(frame, RingFrame):
            raise KitError(f"frame: found {type(frame).__name__}; allowed is a RingFrame, as of RingFrame.of(message)")
        flits("frame", frame.data)
        self._streams[frame.channel].frames.append(frame)
        self._idle.clear()
        self.refresh()

    async def send(self, frame: RingFrame) -> None:
        """Queue it and wait until the queue is empty."""
        self.send_nowait(frame)
        await self.wait()

    async def wait(self) -> None:
        """Wait until all that was queued has been sent."""
        await self._idle.wait()

    @property
    def waiting(self) -> int:
        """Frames that have not been begun."""
        return sum(len(s.frames) for s in self._streams.values())

    def clear(self) -> None:
        """Forget all frames; the rest of one that is being sent too."""
        for stream in self._streams.values():
            stream.frames.clear()
            stream.drop()
        self.refresh()

    def stop(self) -> None:
        """End the source's task; the pins keep their last values."""
        self._task.cancel()

    def refresh(self) -> None:
        """Look again: carrier, fault mark or `pause` has changed."""
        self._asleep = False
        self._wake.set()

    def _next(self, settled: bool) -> tuple[Channel, Flit] | None:
        if not (self.link.used and settled):
            for stream in self._streams.values():
                stream.drop()
            return None
        control, data = self._streams["control"], self._streams["data"]
        may_begin = data.frames and self.link.credits > 0
        if not (control.open or control.frames or data.open or may_begin):
            return None
        if self.pause or next(self._pauses, False):
            return None
        if control.open is None and control.frames:
            control.begin()
        if control.open is not None:
            return "control", control.take()
        if data.open is None:
            data.begin()
            self.link.credits -= 1
            self.began += 1
        return "data", data.take()

    @property
    def asleep(self) -> bool:
        """The pins stay as they are until something happens."""
        return self._asleep

    @property
    def _busy(self) -> bool:
        return any(s.frames or s.open for s in self._streams.values())

    @property
    def _blocked(self) -> bool:
        """There is nothing to send until something changes."""
        if not self._busy or self.pause:
            return True
        control, data = self._streams["control"], self._streams["data"]
        return not self.link.used or not (control.open or control.frames or data.open or self.link.credits > 0)

    async def _run(self) -> None:
        clock, data, ctl, link = self._clock.handle, self._data, self._ctl, self.link
        last_ctl, last_data = -1, -1
        edge = RisingEdge(clock)
        woken: int | None = None
        while True:
            await edge
            # By now what woke the source may be over again: its levels are shown all the same, for this cycle.
            bits, word = link.levels if woken is None else woken, 0
            settled, woken = bits == link.levels, None
            flit = self._next(settled)
            if flit is not None:
                channel, (word, sof, eof, err) = flit
                bits |= BIT["valid"] | BIT["data"] * (channel == "data")
                bits |= BIT["sof"] * sof | BIT["eof"] * eof | BIT["err"] * err
            if link.owed and link.up and settled:
                link.owed -= 1
                bits |= BIT["credit"]
            if not bits & BIT["up"]:
                bits = 0
            if bits != last_ctl:
                ctl.write(bits)
                last_ctl = bits
            if word != last_data:
                data.write(word)
                last_data = word
            if not self._busy:
                self._idle.set()
            if flit is None and not bits & BIT["credit"] and self._blocked and not link.owed and settled:
                self._wake.clear()
                self._asleep = True
                await self._wake.wait()
                self._asleep = False
                woken = link.levels
