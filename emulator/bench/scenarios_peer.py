"""The same fault schedules in cocotb: one simulation plays them all, each after a reset."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ringhil.emulator.bench.schedules import Schedules
from ringhil.emulator.engine.library import rtl_files
from ringhil.emulator.judge.run import Run
from ringhil.emulator.testbench.build import HDL, build_bench
from ringhil.emulator.testbench.runner import run_bench
from ringhil.protocol import registers

MONITORS = ("kit", "naive")  # of each ring link: those of the kit sleep, the others look at every clock edge
_SLOWEST = 500  # cycles a second, of a machine that is busy with something else


def play(
    schedules: Schedules, files: Sequence[Path], monitors: str, folder: Path, progress: Callable[[str], None]
) -> tuple[float, float]:
    """Seconds, of the clock and of the processor, from the first one's reset to the last one's end; the build and the
    simulator's start are left out.

    Raises RuntimeError when something else is found at the end of one than `schedules` say.
    """
    (card,) = schedules.scenario.server.cards
    bench = build_bench(
        "verilator",
        "card_bench",
        [*rtl_files(), HDL / "card_bench.sv"],
        parameters={"N": card.gpus},
        progress=progress,
    )
    plan, result = folder / "plan.json", folder / f"{monitors}.jsonl"
    plan.write_text(json.dumps({**_told(schedules.warm.server), "files": [str(file) for file in files]}))
    names = {"PLAN": plan, "MONITORS": monitors, "RESULT": result}
    settings = {f"RINGHIL_BENCH_{name}": str(value) for name, value in names.items()}
    patience = 60 + sum(schedule.cycles for schedule in schedules.played) / _SLOWEST
    run = run_bench(
        bench, ["ringhil.emulator.bench.scenarios_bench"], folder / monitors, settings=settings, patience=patience
    )
    if run.failed:
        raise RuntimeError(f"cocotb: {run.failed[0].name}: {run.failed[0].failure}")
    found = [json.loads(line) for line in result.read_text().splitlines()]
    if len(found) != len(files):
        raise RuntimeError(f"cocotb: {len(found)} of {len(files)} schedules were played")
    for schedule, there in zip(schedules.played, found, strict=True):
        if there["found"] != schedule.found.to_json():
            here = schedule.found.to_json()
            raise RuntimeError(f"cocotb: {schedule.case.key}: found {there['found']}; explore: {here}")
    seconds, processor = (last - first for first, last in zip(found[0]["began"], found[-1]["ended"], strict=True))
    return seconds, processor


def _told(server: Run) -> dict[str, Any]:
    """What the CPU and the registers of the card are told at power-up."""
    known = {register.name: register.reset for register in registers.REGISTERS if register.access == "rw"}
    written = []
    for cell in range(server.scenario.server.cards[0].gpus):
        for name in _CONFIGURED:
            value = server.engine.peek(cell, name)
            if value != known[name]:
                written.append([cell, name, value])
    return {"cpu": asdict(server.cpu.config), "registers": written}


# What a server's settings say, and its firmware doesn't change.
_CONFIGURED = (
    *("watchdog", "heartbeat", "allowance", "allowance_period", "link_restore", "gpu_restore"),
    *("compute_setup", "compute_per_flit", "gpu_type", "weight"),
)
