"""A whole card and a whole server in cocotb: the same benches on Verilator and on Icarus."""

from collections.abc import Callable

import pytest

from ringhil.emulator.engine.library import rtl_files

from .tools import needs_icarus

GPUS = 4
BOTH = ["verilator", pytest.param("icarus", marks=needs_icarus)]
QUICK = "-O0"  # compiling is all that takes time here
PATIENCE = 60  # seconds for a simulation; it takes a few


@pytest.mark.rest(but_one_in=2, start=1)
@pytest.mark.parametrize("simulator", BOTH)
def test_census(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    given = {"parameters": {"N": GPUS}, "optimise": QUICK, "patience": PATIENCE}
    ringhil_bench("cocotb_census", "card_top", rtl_files(), simulator=simulator, **given)


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("simulator", BOTH)
def test_server(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    ringhil_bench("cocotb_server", "server_top", rtl_files(), simulator=simulator, optimise=QUICK, patience=PATIENCE)
