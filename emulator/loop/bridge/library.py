"""The shared library of a bridge: RTL of the bridge and its GPU, and C++, built once and loaded with ctypes."""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ringhil.emulator.build.build import BuildRequest, build
from ringhil.emulator.build.node_rtl import NODE, OURS, cell_sources, modules

_CPP = Path(__file__).resolve().parent / "bridge.cpp"
_UART = ("uart_ticks", "uart_tx", "uart_rx", "uart_fifo", "uart")
_BRIDGE = (*_UART, "hil_rx", "hil_tx", "hil_look", "hil_bridge", "hil_board", "hil_line")

_BEHIND = ("-DRINGHIL_BRIDGE",)  # a netlist (examples/fpga/models.v): its inputs stand where the bridge says so

Progress = Callable[[str], None]


def bridge_library(
    rtl: Path = OURS,
    *,
    top: str = NODE,
    uart: bool = False,
    optimise: str = "-O3",
    progress: Progress | None = None,
) -> ctypes.CDLL:
    """The library, with the cell or node of directory `rtl`, and our bridge where it has none. `uart`: its bytes go
    through two UARTs, bit by bit. `optimise`: less compiles a netlist in less time. Raises BuildError."""
    return loaded(build(bridge_request(rtl, top=top, uart=uart, optimise=optimise), progress=progress).path)


def bridge_request(rtl: Path = OURS, *, top: str = NODE, uart: bool = False, optimise: str = "-O3") -> BuildRequest:
    """What `bridge_library` builds. Raises BuildError."""
    files = cell_sources(rtl, top)
    there = modules(files)
    files += tuple(OURS / f"{name}.sv" for name in _BRIDGE if name not in there)
    bridge = "hil_line" if uart else "hil_bridge"
    return BuildRequest(top=bridge, rtl=files, cpp=(_CPP,), optimise=optimise, options=_BEHIND)


@cache
def loaded(path: Path) -> ctypes.CDLL:
    """The library at `path`, which may have more functions than a bridge's."""
    calls = ctypes.CDLL(str(path))
    calls.bridge_create.restype = ctypes.c_void_p
    calls.bridge_create.argtypes = []
    calls.bridge_destroy.restype = None
    calls.bridge_destroy.argtypes = [ctypes.c_void_p]
    calls.bridge_feed.restype = ctypes.c_uint64
    calls.bridge_feed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p]
    return calls
