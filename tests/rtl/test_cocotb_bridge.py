"""The bridge to a node outside, at its pins: the same benches on Verilator and on Icarus."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import rtl_files

from .tools import needs_icarus

HERE = Path(__file__).parent
QUICK = {"optimise": "-O0", "patience": 300}  # compiling takes longer than running
LONGER = {"RINGHIL_BENCH_ROUNDS": "20"}
# Ours but for the cell, and what is made of cells.
_WITHOUT = {"ring_cell.sv", "card_top.sv", "server_top.sv"}
ECHO = [*(file for file in rtl_files() if file.name not in _WITHOUT), HERE / "echo_cell.sv"]
BESIDE = [*rtl_files(), HERE / "bridge_beside_cell.sv"]

slow = pytest.mark.slow(part="benches")
both = pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=[needs_icarus, slow])])
each = pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])


@pytest.mark.rest
@both
def test_bridge(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    ringhil_bench("cocotb_bridge", "hil_bridge", ECHO, simulator=simulator, **QUICK)


@slow
@each
def test_a_gpu_behind_it_and_one_beside_it(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    ringhil_bench("cocotb_bridge_node", "bridge_beside_cell", BESIDE, simulator=simulator, **QUICK)


@pytest.mark.rest
def test_board(ringhil_bench: Callable[..., None]) -> None:
    some = ["without_leave_to_send_nothing_is_sent_and_nothing_is_lost"]
    ringhil_bench("cocotb_board", "hil_board", ECHO, tests=some, **QUICK)


@slow
@each
def test_all_of_the_board(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    ringhil_bench("cocotb_board", "hil_board", ECHO, simulator=simulator, **QUICK)


@slow
def test_bridge_behind_two_uarts(ringhil_bench: Callable[..., None]) -> None:
    ringhil_bench("cocotb_bridge", "hil_line", ECHO, **QUICK)


@slow
@pytest.mark.parametrize("seed", [2, 3])
@each
def test_bridge_for_longer(simulator: str, seed: int, ringhil_bench: Callable[..., None]) -> None:
    some = ["a_reset_at_any_time_begins_anew", "whatever_comes_is_answered_as_it_has_to_be"]
    given = {"simulator": simulator, "seed": seed, "settings": LONGER, "tests": some}
    ringhil_bench("cocotb_bridge", "hil_bridge", ECHO, **QUICK, **given)


@slow
@pytest.mark.parametrize("seed", [2, 3])
def test_a_gpu_behind_it_for_longer(seed: int, ringhil_bench: Callable[..., None]) -> None:
    some = ["a_gpu_behind_the_bridge_does_what_one_beside_it_does"]
    given = {"seed": seed, "settings": LONGER, "tests": some}
    ringhil_bench("cocotb_bridge_node", "bridge_beside_cell", BESIDE, **QUICK, **given)
