"""A whole card and a whole server in cocotb: the same benches on Verilator and on Icarus."""

from pathlib import Path

import pytest
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from ringhil.emulator.engine.library import rtl_files

from .tools import environment, needs_icarus, needs_perl

GPUS = 4
CENSUS = ["all_gpus_are_counted", "a_dead_gpu_is_not_counted", "a_hang_loses_no_message"]
SERVER = ["frames_cross_to_the_gpu_that_is_wired_there", "a_cut_is_seen_at_both_ends"]
PATIENCE = 20  # seconds for the simulation; it takes one

# -O0 for the C++: compiling is all that takes time here.
VERILATOR = ["-CFLAGS", "--std=c++20", "-Wno-fatal", "--x-initial", "fast", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0"]


@pytest.mark.parametrize(
    ("simulator", "options"),
    [
        pytest.param("verilator", VERILATOR, marks=needs_perl, id="verilator"),
        pytest.param("icarus", [], marks=needs_icarus, id="icarus"),
    ],
)
def test_census(simulator: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = play("cocotb_census", "card_top", simulator, options, CENSUS, tmp_path, monkeypatch)
    assert results == (len(CENSUS), 0)


@pytest.mark.parametrize(
    ("simulator", "options"),
    [
        pytest.param("verilator", VERILATOR, marks=needs_perl, id="verilator"),
        pytest.param("icarus", [], marks=needs_icarus, id="icarus"),
    ],
)
def test_server(simulator: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = play("cocotb_server", "server_top", simulator, options, SERVER, tmp_path, monkeypatch)
    assert results == (len(SERVER), 0)


def play(
    module: str,
    top: str,
    simulator: str,
    options: list[str],
    tests: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[int, int]:
    """Build and run a bench; how many tests ran, and failed."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SIM_CMD_PREFIX", f"timeout -k 1 {PATIENCE}")
    monkeypatch.syspath_prepend(Path(__file__).parent)  # the simulator's Python gets this one's path
    runner = get_runner(simulator)
    runner.build(
        sources=list(rtl_files()),
        hdl_toplevel=top,
        parameters={"N": GPUS} if top == "card_top" else {},
        build_args=options,
        build_dir=folder,
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        test_module=module,
        hdl_toplevel=top,
        build_dir=folder,
        test_dir=folder,
        seed=1,
        testcase=tests,
        timescale=("1ns", "1ps"),
    )
    total, failed = get_results(results)
    return total, failed
