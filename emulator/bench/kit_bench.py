"""The cocotb side of the kit's peer: the same card, census rounds and links, watched by the kit and by a naive monitor.

Run by `kit.measure`; settings come by environment variables.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.task import Task
from cocotb.triggers import RisingEdge

from ringhil.emulator.testbench.bus import Pins, RingBus
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.firmware import FirmwareDriver
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.link import BIT
from ringhil.firmware.census import Census, CensusConfig


class _Naive:
    """Looks at every clock edge, as a first monitor usually does; collects frames of both channels."""

    def __init__(self, bus: RingBus, bench: CardBench) -> None:
        self.frames: list[RingFrame] = []
        self._bus, self._edge = bus, RisingEdge(bench.clock.handle)
        self.task: Task[None] = cocotb.start_soon(self._run())

    async def _run(self) -> None:
        flits: dict[int, bytearray] = {0: bytearray(), BIT["data"]: bytearray()}
        while True:
            await self._edge
            bits = self._bus.tx_ctl.read()
            if not bits & BIT["valid"]:
                continue
            frame = flits[bits & BIT["data"]]
            frame += self._bus.tx_data.read().to_bytes(8, "big")
            if bits & BIT["eof"]:
                self.frames.append(RingFrame(bytes(frame), "data" if bits & BIT["data"] else "control"))
                frame.clear()


async def _rounds(dut: Any, naive: bool) -> tuple[float, int]:
    """Seconds for the clock loop, and frames seen on the ring."""
    gpus, cycles, period = (int(os.environ[f"RINGHIL_BENCH_{n}"]) for n in ("GPUS", "CYCLES", "PERIOD"))
    bench = CardBench(dut, gpus)
    await bench.start()
    monitors: list[_Naive] = []
    if naive:
        for cell, gpu in enumerate(bench.gpus):
            for kit in gpu.ring:
                kit.stop()
            pins = Pins(dut, cell, bench.shadow)
            monitors += [_Naive(RingBus.from_prefix(pins, name), bench) for name in ("p1", "p2")]
    entry = bench.gpus[0]
    census = Census(CensusConfig(0, 0, gpus, 1, period, period, records=False))
    FirmwareDriver(census, entry.mailbox, entry.registers, bench.cycle).start()
    began = time.perf_counter()
    await bench.wait(cycles)
    seconds = time.perf_counter() - began
    if naive:
        return seconds, sum(len(m.frames) for m in monitors)
    return seconds, sum(m.frames.qsize() for gpu in bench.gpus for m in gpu.ring)


@cocotb.test()
async def kit(dut: Any) -> None:
    """With the kit's monitors."""
    _write("kit", *await _rounds(dut, naive=False))


@cocotb.test()
async def naive(dut: Any) -> None:
    """With monitors that look at every clock edge."""
    _write("naive", *await _rounds(dut, naive=True))


def _write(name: str, seconds: float, frames: int) -> None:
    file = Path(os.environ["RINGHIL_BENCH_RESULT"])
    found = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**found, name: {"seconds": seconds, "frames": frames}}))
