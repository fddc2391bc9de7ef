"""Both ends of one link of a node, seen from the bench."""

from ringhil.emulator.testbench.bus import Pin, RingBus
from ringhil.emulator.testbench.link import LinkModel
from ringhil.emulator.testbench.monitor import Cycle, RingMonitor
from ringhil.emulator.testbench.sink import RingSink
from ringhil.emulator.testbench.source import RingSource


class RingPort:
    """`source` drives into the link, `sink` takes what comes out, `arriving` watches the way in; `link` is what our end
    knows of the other one."""

    def __init__(self, bus: RingBus, clock: Pin, cycle: Cycle) -> None:
        self.link = LinkModel()
        self.source = RingSource(bus, clock, self.link)
        self.sink = RingSink(bus, clock, cycle, self.link)
        assert bus.rx_data is not None
        assert bus.rx_ctl is not None
        self.arriving = RingMonitor(f"{bus.name} in", bus.rx_data, bus.rx_ctl, clock, cycle)

    def cut(self, on: bool) -> None:
        """Our end's carrier is gone (one way: the node's own still arrives)."""
        self.link.up = not on
        if on:
            self.link.owed = 0
        self.source.refresh()

    def mark(self, on: bool) -> None:
        """Our end's remote-fault mark: while it is on, we don't use the link."""
        self.link.fault = on
        self.source.refresh()

    def stop(self) -> None:
        """End all tasks of this port."""
        self.source.stop()
        self.sink.stop()
        self.arriving.stop()
