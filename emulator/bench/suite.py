"""The whole suite as one document."""

import os
import platform
from collections.abc import Callable
from typing import Any

from ringhil.emulator.bench import bare, census, cocotb_peer, kit, lines, scenarios, system
from ringhil.emulator.engine.library import Library, cells_library

SIZES = (8, 16, 64, 256, 1024)
SECTIONS = ("scenarios", "census", "kit", "data", "lines", "start_up")
SCHEDULES = 24
_BUILDABLE = 64  # GPUs; a monolithic design beyond takes many minutes to compile
_COCOTB_GPUS = 16

Progress = Callable[[str], None]


def run(
    *,
    sizes: tuple[int, ...] = SIZES,
    seconds: float = 2.0,
    peers: bool = True,
    only: tuple[str, ...] = SECTIONS,
    schedules: int = SCHEDULES,
    progress: Progress,
) -> dict[str, Any]:
    """Measure the sections `only`; `seconds` is about how long each rate is measured for, `schedules` the number of
    those that are played, at most. Returns the document of `bench --json`."""
    progress("engine")
    library = cells_library(progress=progress)
    document: dict[str, Any] = {
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "rtl": library.rtl,
        "targets": {
            "bare": {"16": 1.5, "64": 8, "1024": 200},
            "cocotb": {"16": 100},
            "kit": 5,
            "scenarios": 100,
            "lines": 0.5,
            "pacing": 0.01,
        },
    }
    # First, for what forks is slower the more memory it has.
    if "scenarios" in only:
        document["scenarios"] = scenarios.measure(
            library, number=schedules, seconds=seconds, peers=peers, progress=progress
        ).to_json()
    if "census" in only:
        document["census"] = _census(library, sizes, seconds, peers, progress)
    if "kit" in only and peers:
        progress("testbench kit")
        document["kit"] = _kit(kit.measure(progress=progress))
    if "data" in only:
        progress("data through a card")
        document["data"] = system.data_rate(library)
    if "lines" in only:
        document["lines"] = lines.measure(seconds=seconds, progress=progress)
    if "start_up" in only:
        progress("start-up")
        document["start_up"] = system.start_up()
    document["peak_memory_bytes"] = system.peak_memory()
    return document


def _census(
    library: Library, sizes: tuple[int, ...], seconds: float, peers: bool, progress: Progress
) -> list[dict[str, Any]]:
    rows = []
    largest: bare.BareRate | None = None
    for gpus in sizes:
        progress(f"census of {gpus} GPUs")
        rate = census.measure(library, gpus, records=False, seconds=seconds)
        recorded = census.measure(library, gpus, records=True, seconds=seconds / 2)
        row = _row(rate, recorded)
        if peers:
            if gpus <= _BUILDABLE:
                progress(f"monolithic Verilator, {gpus} GPUs")
                largest = bare.measure(gpus, rate.round_cycles, seconds=seconds, progress=progress)
                row["bare"] = _bare(largest, rate)
            elif largest is not None:
                row["bare"] = _bare(largest.extrapolated(gpus), rate)
            if gpus == _COCOTB_GPUS:
                progress(f"cocotb, {gpus} GPUs")
                peer = cocotb_peer.measure(gpus, rate.round_cycles, cycles=5000)
                row["cocotb"] = {"cycles_per_second": peer, "ratio": rate.cycles_per_second / peer}
        rows.append(row)
    return rows


def _row(rate: census.CensusRate, recorded: census.CensusRate) -> dict[str, Any]:
    return {
        "gpus": rate.gpus,
        "messages_per_second": rate.messages_per_second,
        "cycles_per_second": rate.cycles_per_second,
        "round_cycles": rate.round_cycles,
        "evaluations_per_second": rate.evaluations / rate.seconds,
        "with_records": {
            "messages_per_second": recorded.messages_per_second,
            "cycles_per_second": recorded.cycles_per_second,
        },
    }


def _bare(peer: bare.BareRate, rate: census.CensusRate) -> dict[str, Any]:
    return {
        "cycles_per_second": peer.cycles_per_second,
        "ratio": rate.cycles_per_second / peer.cycles_per_second,
        "build_seconds": peer.build_seconds,
        "extrapolated_from": peer.extrapolated_from,
    }


def _kit(rate: kit.KitRate) -> dict[str, Any]:
    return {
        "gpus": rate.gpus,
        "period": rate.period,
        "frames": rate.frames,
        "cycles_per_second": rate.cycles_per_second,
        "naive_cycles_per_second": rate.naive_cycles_per_second,
        "ratio": rate.ratio,
    }
