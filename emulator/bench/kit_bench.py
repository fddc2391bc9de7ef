"""The cocotb side of the kit's peer: the same card, census rounds and links, watched by the kit and by a naive monitor.

Run by `kit.measure`; settings come by environment variables.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.bench.naive import sliced, watch_naively
from ringhil.emulator.testbench.card import CardBench
from ringhil.emulator.testbench.firmware import FirmwareDriver
from ringhil.firmware.census import Census, CensusConfig


async def _rounds(dut: Any, naive: bool) -> tuple[float, int]:
    """Seconds for the clock loop, and frames seen on the ring."""
    gpus, cycles, period = (int(os.environ[f"RINGHIL_BENCH_{n}"]) for n in ("GPUS", "CYCLES", "PERIOD"))
    bench = CardBench(dut, gpus)
    await bench.start()
    monitors = watch_naively(bench, sliced) if naive else []
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
    """Run with the kit's monitors."""
    _write("kit", *await _rounds(dut, naive=False))


@cocotb.test()
async def naive(dut: Any) -> None:
    """Run with monitors that look at every clock edge."""
    _write("naive", *await _rounds(dut, naive=True))


def _write(name: str, seconds: float, frames: int) -> None:
    file = Path(os.environ["RINGHIL_BENCH_RESULT"])
    found = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**found, name: {"seconds": seconds, "frames": frames}}))
