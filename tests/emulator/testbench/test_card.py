"""Firmware unchanged inside cocotb, on both simulators."""

import shutil
from collections.abc import Callable

import pytest

from ringhil.emulator.engine.library import rtl_files
from ringhil.emulator.testbench.build import HDL


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.slow(part="benches"))])
def test_card(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog isn't installed: apt-get install iverilog")
    sources = [*rtl_files(), HDL / "card_bench.sv"]
    ringhil_bench("bench_card", "card_bench", sources, simulator=simulator, parameters={"N": 4})
