"""The cocotb side of `scenarios_peer`: one test for each scenario file, which plays it after a reset.

Settings come by environment variables.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb

from ringhil.emulator.bench.cocotb_server import CocotbServer
from ringhil.emulator.bench.naive import shifted, watch_naively
from ringhil.emulator.bench.schedules import Found
from ringhil.emulator.host.work.handing_out import CpuConfig
from ringhil.emulator.scenario import load
from ringhil.emulator.testbench.card import CardBench

_PLAN = json.loads(Path(os.environ["RINGHIL_BENCH_PLAN"]).read_text())
_SCENARIOS = [load(Path(file)) for file in _PLAN["files"]]
_CPU = CpuConfig(**_PLAN["cpu"])


@cocotb.test()
@cocotb.parametrize(number=range(len(_SCENARIOS)))
async def schedule(dut: Any, number: int) -> None:
    """Play from power-up to the end; what the CPU knows then is written down."""
    began = _clocks()
    scenario = _SCENARIOS[number]
    (card,) = scenario.server.cards
    bench = CardBench(dut, card.gpus)
    await bench.start()
    if os.environ["RINGHIL_BENCH_MONITORS"] == "naive":
        watch_naively(bench, shifted)
    server = CocotbServer(bench, scenario, _CPU)
    await server.power_up(_PLAN["registers"])
    assert scenario.until is not None
    await server.play(scenario.until)
    view = server.card
    found = Found(view.count, view.members, view.entry, view.epoch, view.reachable)
    line = {"began": began, "ended": _clocks(), "found": found.to_json()}
    with Path(os.environ["RINGHIL_BENCH_RESULT"]).open("a") as file:
        file.write(json.dumps(line) + "\n")


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()
