"""The UART against somebody else's (cocotbext-uart): the same benches on Verilator and on Icarus."""

from collections.abc import Callable

import pytest

from ringhil.emulator.engine.library import rtl_files

from .tools import needs_icarus

BOTH = ["verilator", pytest.param("icarus", marks=[needs_icarus, pytest.mark.slow(part="benches")])]
QUICK = {"optimise": "-O0", "patience": 120}  # compiling takes longer than running


@pytest.mark.rest
@pytest.mark.parametrize("simulator", BOTH)
def test_uart(simulator: str, ringhil_bench: Callable[..., None]) -> None:
    ringhil_bench("cocotb_uart", "uart", rtl_files(), simulator=simulator, **QUICK)


@pytest.mark.slow(part="benches")
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=needs_icarus)])
@pytest.mark.parametrize(("data_bits", "parity"), [(8, 2), (8, 1), (7, 1)])
def test_uart_with_parity(data_bits: int, parity: int, simulator: str, ringhil_bench: Callable[..., None]) -> None:
    given = {"DATA_BITS": data_bits, "PARITY": parity, "STOP_BITS": 2}
    ringhil_bench("cocotb_uart_parity", "uart", rtl_files(), simulator=simulator, parameters=given, **QUICK)
