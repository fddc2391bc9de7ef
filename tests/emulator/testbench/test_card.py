"""Firmware unchanged inside cocotb, on both simulators."""

import shutil
from collections.abc import Callable

import pytest

from ringhil.emulator.engine.library import rtl_files
from ringhil.emulator.scenario import FAULTS
from ringhil.emulator.scenario.file.faults import FaultTarget
from ringhil.emulator.testbench.build import HDL
from ringhil.emulator.testbench.card import CardBench


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_card(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog isn't installed: apt-get install iverilog")
    sources = [*rtl_files(), HDL / "card_bench.sv"]
    ringhil_bench("bench_card", "card_bench", sources, simulator=simulator, parameters={"N": 4})


def test_every_link_fault_of_scenario_files_has_a_call_of_its_name() -> None:
    struck = (FaultTarget.RING_LINK, FaultTarget.BOUNDARY_LINK, FaultTarget.LINK, FaultTarget.HOST_LINKED)
    names = {name for name, fault in FAULTS.items() if fault.hits in struck}
    assert len(names) == 6
    assert names <= set(dir(CardBench))
