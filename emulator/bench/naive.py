"""The monitor that a first testbench usually has."""

from collections.abc import Callable

import cocotb
from cocotb.task import Task
from cocotb.triggers import RisingEdge

from ringhil.emulator.testbench.bus import Pin, Pins, RingBus
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.link import BIT


class NaiveMonitor:
    """Looks at every clock edge; collects frames of both channels. `read`: how it reads a pin."""

    def __init__(self, bus: RingBus, bench: CardBench, read: Callable[[Pin], int]) -> None:
        self.frames: list[RingFrame] = []
        self._bus, self._edge, self._read = bus, RisingEdge(bench.clock.handle), read
        self.task: Task[None] = cocotb.start_soon(self._run())

    async def _run(self) -> None:
        flits: dict[int, bytearray] = {0: bytearray(), BIT["data"]: bytearray()}
        while True:
            await self._edge
            bits = self._read(self._bus.tx_ctl)
            if not bits & BIT["valid"]:
                continue
            frame = flits[bits & BIT["data"]]
            frame += self._read(self._bus.tx_data).to_bytes(8, "big")
            if bits & BIT["eof"]:
                self.frames.append(RingFrame(bytes(frame), "data" if bits & BIT["data"] else "control"))
                frame.clear()


def sliced(pin: Pin) -> int:
    """A pin's value as cocotb's documentation reads a part of a vector."""
    return int(pin.handle.value[pin.lsb + pin.width - 1 : pin.lsb].to_unsigned())


def shifted(pin: Pin) -> int:
    """A pin's value, shifted out of the whole vector: faster than a slice of it, and as good where nothing is X."""
    return int(pin.handle.value.to_unsigned()) >> pin.lsb & (1 << pin.width) - 1


def watch_naively(bench: CardBench, read: Callable[[Pin], int]) -> list[NaiveMonitor]:
    """One on each ring link and direction of the card, instead of the kit's."""
    monitors = []
    for cell, gpu in enumerate(bench.gpus):
        for kit in gpu.ring:
            kit.stop()
        pins = Pins(bench.dut, cell, bench.shadow)
        monitors += [NaiveMonitor(RingBus.from_prefix(pins, name), bench, read) for name in ("p1", "p2")]
    return monitors
