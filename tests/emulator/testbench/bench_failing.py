"""A cocotb test that fails by a seeded draw, and one that never does."""

import random
from typing import Any

import cocotb

from ringhil.emulator.testbench.node import NodeBench


@cocotb.test()
async def sometimes(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    await bench.wait(20)
    drawn = random.randrange(1000)
    assert drawn < 0, f"drew {drawn}"


@cocotb.test()
async def always(dut: Any) -> None:
    bench = NodeBench(dut)
    await bench.start()
    await bench.wait(3)


@cocotb.test(skip=True)
@cocotb.parametrize(times=[1, 2])
async def skipped(dut: Any, times: int) -> None:
    raise NotImplementedError(times)
