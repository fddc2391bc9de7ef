"""Receives what a node's port sends, gives credits back, hears carrier and remote fault."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import repeat

import cocotb
from cocotb.triggers import Event, Timer

from ringhil.emulator.testbench.bus import Pin, RingBus
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.link import LinkModel
from ringhil.emulator.testbench.monitor import PERIOD, Cycle, RingMonitor


class RingSink:
    """Takes what comes out of one port, and gives credits back.

    Frames arrive in order of their last flits; `recv` takes the next.

    A data frame keeps its slot of the receiver's buffer for as many cycles as the hold generator says (0 without
    one), and as long as `pause` is set: that is the back-pressure of this channel. The control channel has none.
    `monitor` watches the way out, `link` is what our end knows, `taken` counts data frames.
    """

    def __init__(self, bus: RingBus, clock: Pin, cycle: Cycle, link: LinkModel | None = None) -> None:
        self.link = link if link is not None else LinkModel()
        self._log = bus.log
        self.monitor = RingMonitor(f"{bus.name} out", bus.tx_data, bus.tx_ctl, clock, cycle)
        self.monitor.on_bits.append(lambda bits, _cycle: self.link.heard(bits))
        self.monitor.on_frame.append(self._arrived)
        self._holds: Iterator[int] = repeat(0)
        self._held: deque[int] = deque()
        self._wake = Event()
        self.pause = False
        self.taken = 0
        self._timing = False
        self._task = cocotb.start_soon(self._run())

    def set_hold_generator(self, holds: Iterable[int]) -> None:
        """The cycles for which each data frame keeps its slot; 0 once it has ended."""
        self._holds = iter(holds)

    def resume(self) -> None:
        """End of `pause`."""
        self.pause = False
        self._wake.set()

    @property
    def idle(self) -> bool:
        """No data frame keeps its slot for a time that runs."""
        return not self._timing and (self.pause or not self._held)

    async def recv(self) -> RingFrame:
        """The next frame, good or bad."""
        return await self.monitor.recv()

    def stop(self) -> None:
        """End the sink's tasks."""
        self.monitor.stop()
        self._task.cancel()

    def _arrived(self, frame: RingFrame) -> None:
        self._log.info("RX %s", frame)
        if frame.channel == "data":
            self.taken += 1
            self._held.append(next(self._holds, 0))
            self._wake.set()

    async def _run(self) -> None:
        while True:
            while self.pause or not self._held:
                self._wake.clear()
                await self._wake.wait()
            hold = self._held.popleft()
            if hold:
                self._timing = True
                await Timer(PERIOD * hold, "step")
                self._timing = False
            self.link.owe()
