"""The testbench kit beside a naive per-clock cocotb monitor: same card, same messages, one run."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.children import temporary_folder
from ringhil.emulator.engine.library import rtl_files
from ringhil.emulator.testbench.build import HDL, build_bench
from ringhil.emulator.testbench.runner import run_bench


@dataclass(frozen=True)
class KitRate:
    """Simulated cycles a second with all ring links of the card monitored; both saw the same number of frames."""

    gpus: int
    period: int  # cycles between two census rounds
    frames: int
    cycles_per_second: float
    naive_cycles_per_second: float

    @property
    def ratio(self) -> float:
        return self.cycles_per_second / self.naive_cycles_per_second


def measure(
    gpus: int = 8, period: int = 2000, *, cycles: int = 40_000, progress: Callable[[str], None] | None = None
) -> KitRate:
    """One census round each `period` cycles, both directions; Verilator."""
    bench = build_bench(
        "verilator", "card_bench", [*rtl_files(), HDL / "card_bench.sv"], parameters={"N": gpus}, progress=progress
    )
    with temporary_folder("ringhil-bench-") as scratch:
        result = scratch / "result.json"
        names = {"GPUS": gpus, "CYCLES": cycles, "PERIOD": period, "RESULT": result}
        settings = {f"RINGHIL_BENCH_{name}": str(value) for name, value in names.items()}
        run = run_bench(bench, ["ringhil.emulator.bench.kit_bench"], scratch / "run", settings=settings)
        if run.failed:
            raise RuntimeError(f"the kit's benchmark failed: {run.failed[0].failure}")
        found = json.loads(result.read_text())
    kit, naive = found["kit"], found["naive"]
    if kit["frames"] != naive["frames"] or not kit["frames"]:
        raise RuntimeError(f"the kit saw {kit['frames']} frames, the naive monitors {naive['frames']}")
    return KitRate(gpus, period, kit["frames"], cycles / kit["seconds"], cycles / naive["seconds"])
