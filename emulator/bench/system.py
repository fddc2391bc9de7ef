"""What a user waits for: data through a card, start-up, memory."""

import os
import resource
import sys
import time
from typing import Any

from ringhil.emulator.build.processes import run
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

_ONE_CARD = """
name: bench
server: {cards: {a: {gpus: 8}}}
workload: {units: 64, size: 4096}
"""


def data_rate(library: Library, *, units: int = 500, size: int = 4096) -> dict[str, Any]:
    """Bytes of work a second through one card of 8 GPUs, results checked; and bytes a cycle."""
    text = f"server: {{cards: {{a: {{gpus: 8}}}}}}\nworkload: {{units: {units}, size: {size}}}\n"
    server = Run(loads(text, "bench"), library)
    began = time.perf_counter()
    outcome = server.run()
    spent = time.perf_counter() - began
    if outcome.work["completed"] != units:
        raise RuntimeError("work was lost in the benchmark")
    total = units * size
    return {"bytes_per_second": total / spent, "bytes_per_cycle": total / outcome.cycles, "bytes": total}


def start_up() -> dict[str, float]:
    """Seconds of `ringhil run` of an 8-GPU server as a process: with an empty cache, and with a full one."""
    with temporary_folder("ringhil-bench-") as scratch:
        server = scratch / "server.yaml"
        server.write_text(_ONE_CARD)
        environment = {**os.environ, "RINGHIL_CACHE": str(scratch / "cache")}
        times = []
        for _ in range(4):
            began = time.perf_counter()
            arguments = [sys.executable, "-m", "ringhil.emulator", "run", str(server), "--json"]
            (done,) = run([arguments], env=environment)
            if done.returncode:
                raise RuntimeError(f"ringhil run failed: {done.output}")
            times.append(time.perf_counter() - began)
        return {"cold_seconds": times[0], "warm_seconds": min(times[1:])}


def peak_memory() -> int:
    """Most memory that this process has held so far (bytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
