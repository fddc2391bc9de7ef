"""The shared library of a bit-true link: RTL of the UART and C++, built once and loaded with ctypes."""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ringhil.emulator.build.build import BuildRequest, build
from ringhil.emulator.engine.library import RTL

_MODULES = ("uart_ticks", "uart_tx", "uart_rx", "uart_fifo", "uart", "uart_link")
_CPP = Path(__file__).resolve().parent / "link.cpp"

Progress = Callable[[str], None]

_u32, _u64, _int, _pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int, ctypes.c_void_p
_FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "create": (_pointer, [_u32, _u32, _int, _u32]),
    "destroy": (None, [_pointer]),
    "pass": (None, [_pointer, _u64]),
    "disturb": (None, [_pointer, _int, _u64]),
    "write": (_u32, [_pointer, _int, ctypes.c_char_p, _u64]),
    "read": (_u32, [_pointer, _int, ctypes.c_char_p, _u32]),
    "unsent": (_u32, [_pointer, _int]),
    "arrived": (_u32, [_pointer, _int]),
    "now": (_u64, [_pointer]),
    "idle": (_int, [_pointer]),
    "counts": (ctypes.POINTER(_u64), [_pointer, _int]),
}


def link_library(rtl: Path = RTL, *, progress: Progress | None = None) -> ctypes.CDLL:
    """The library, with the UART of directory `rtl`; from the cache, or built in some seconds. Raises BuildError."""
    request = BuildRequest(top="uart_link", rtl=tuple(rtl / f"{name}.sv" for name in _MODULES), cpp=(_CPP,))
    return _load(build(request, progress=progress).path)


@cache
def _load(path: Path) -> ctypes.CDLL:
    calls = ctypes.CDLL(str(path))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(calls, f"uart_{name}")
        function.restype = result
        function.argtypes = arguments
    return calls
