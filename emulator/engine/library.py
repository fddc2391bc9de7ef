"""The engine's shared library: built from RTL and C++, loaded with ctypes."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ringhil.emulator.build.build import BuildRequest, build, rtl_hash
from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.node_rtl import NODE, cell_sources
from ringhil.emulator.build.request import Edge
from ringhil.emulator.engine.usual import CALM, FAIR

RTL = Path(__file__).resolve().parents[2] / "rtl"
_CSRC = Path(__file__).resolve().parent / "csrc"
_FRAMING = Path(__file__).resolve().parents[2] / "protocol" / "c"
_CPP = (_CSRC / "abi.cpp", _FRAMING / "ringhil_framing.c")
_HEADERS = (*sorted(_CSRC.glob("*.h")), *(_FRAMING / f"ringhil_{name}.h" for name in ("framing", "messages")))
_PACKAGE = "ringhil_pkg.sv"
_BOTH_ENDS = ("-DRINGHIL_BOTH_ENDS",)  # of all links: the RTL asserts more
_EDGE = Edge(late=("reg_rdata_o",), usual=(FAIR, CALM))  # cells_backend.h reads registers through ___look alone
_DEFINES = (("VL_USER_STOP", "1"),)  # abi.cpp has vl_stop

Progress = Callable[[str], None]

_u8, _u16, _u32, _u64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
_handle, _pointer, _int = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int
WaitForLine = ctypes.CFUNCTYPE(_int, _int, _int, _int)  # descriptor, whether to write, milliseconds; 0: it can't

_FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "create": (_handle, [_pointer] * 6 + [_u32]),
    "destroy": (None, [_handle]),
    "set_skipping": (None, [_handle, _int]),
    "run": (_int, [_handle, _u64, _u64]),
    "stopped_at": (ctypes.c_char_p, [_handle]),
    "ended": (_pointer, [_handle]),
    "trace": (_int, [_handle, _u64, _pointer, _pointer]),
    "attach": (ctypes.c_char_p, [_handle, _u32, _int, _u8, _int]),
    "wait_for_lines_by": (None, [WaitForLine]),
    "outside": (_u64, [_handle, _pointer]),
    "differences": (_u64, [_handle, _pointer]),
    "recall": (None, [_handle, _u32, _u64, _u32, _u64]),
    "watch_wires": (None, [_handle]),
    "watch_register": (None, [_handle, _u32, _u8, _u32, _int]),
    "messages": (_u64, [_handle, _u64, _pointer]),
    "send_mail": (None, [_handle, _u32, _u64, _u8, ctypes.c_char_p, _u64]),
    "send_host": (None, [_handle, _u32, _u64, ctypes.c_char_p, _pointer, _u32]),
    "set_faults": (None, [_handle, _u32, _u16, _u8, _pointer, _pointer]),
    "draw_errors": (None, [_handle, _u32, _pointer]),
    "poke": (None, [_handle, _u32, _u8, _u32]),
    "peek": (_u32, [_handle, _u32, _u8]),
    "forget_mail": (None, [_handle, _u32]),
}

_INSIDE: dict[str, tuple[object, list[object]]] = {"show": (None, [_handle, _u32, ctypes.c_char_p])}


@dataclass(frozen=True)
class Library:
    """A loaded engine library; `rtl` is the hash of the RTL that it runs ("sha256:...").

    A library from the cache may have been built from other files of the same names and contents, which may be gone:
    `sources` are the ones asked for, a name each.
    """

    calls: ctypes.CDLL
    rtl: str
    from_cache: bool
    build_seconds: float
    sources: Mapping[str, Path] = field(default_factory=dict)


def rtl_files(rtl: Path = RTL) -> tuple[Path, ...]:
    """The SystemVerilog files of a directory, the package of constants first."""
    files = sorted(rtl.glob("*.sv"), key=lambda f: (f.name != _PACKAGE, f.name))
    if not files:
        raise BuildError(f"{rtl}: no SystemVerilog files (*.sv) found")
    return tuple(files)


@cache
def _load(path: Path, functions: tuple[str, ...] = tuple(_FUNCTIONS)) -> ctypes.CDLL:
    calls = ctypes.CDLL(str(path))
    for name in functions:
        result, arguments = {**_FUNCTIONS, **_INSIDE}[name]
        function = getattr(calls, f"ringhil_{name}")
        function.restype = result
        function.argtypes = arguments
    return calls


def _library(
    request: BuildRequest, progress: Progress | None, functions: tuple[str, ...] = tuple(_FUNCTIONS)
) -> Library:
    built = build(request, progress=progress)
    sources = {file.name: file for file in request.rtl}
    return Library(_load(built.path, functions), rtl_hash(request.rtl), built.from_cache, built.seconds, sources)


def cells_library(
    rtl: Path = RTL, *, top: str = NODE, optimise: str = "-O3", progress: Progress | None = None
) -> Library:
    """The engine over one Verilated cell per GPU: any topology without a rebuild.

    `rtl` is a directory with a whole `ring_cell`, or with a node (module `top`) that is completed with ours.
    `optimise` trades the time of the build against speed.
    """
    request = BuildRequest(
        top="ring_cell",
        rtl=cell_sources(rtl, top),
        cpp=_CPP,
        headers=_HEADERS,
        defines=_DEFINES,
        optimise=optimise,
        edge=_EDGE,
    )
    return _library(request, progress)


def inside_library(library: Library, *, progress: Progress | None = None) -> Library:
    """The RTL of `cells_library` once more, built so that `Engine.inside` shows what is in its cells. It is slower."""
    request = BuildRequest(
        top="ring_cell",
        rtl=tuple(library.sources.values()),
        cpp=_CPP,
        headers=_HEADERS,
        defines=_DEFINES,
        trace="vcd",
        optimise="-O1",  # compiles a third faster: who looks into it waits for the build, and plays little
    )
    return _library(request, progress, (*_FUNCTIONS, *_INSIDE))


def card_library(gpus: int, rtl: Path = RTL, *, optimise: str = "-O3", progress: Progress | None = None) -> Library:
    """The same engine over one Verilated card of `gpus` GPUs: the yardstick for the other one.

    The assertions inside the RTL are on: one that fails ends a run with `RtlStopped`.
    It compiles for the longer the more GPUs there are; `optimise` trades that against speed.
    """
    request = BuildRequest(
        top="card_top",
        rtl=rtl_files(rtl),
        cpp=_CPP,
        headers=_HEADERS,
        parameters=(("N", gpus),),
        defines=(*_DEFINES, ("RINGHIL_CARD", "1")),
        assertions=True,
        options=_BOTH_ENDS,
        optimise=optimise,
    )
    return _library(request, progress)


def server_library(
    cards: int,
    gpus: int,
    peers: Sequence[int | None],
    rtl: Path = RTL,
    *,
    optimise: str = "-O3",
    progress: Progress | None = None,
) -> Library:
    """The same engine over one Verilated server of `cards` cards of `gpus` GPUs each, with assertions.

    `peers`: for each cell the one that its boundary port is wired to.
    """
    wiring = "".join(f"{0xFFFF if peer is None else peer:04x}" for peer in reversed(peers))
    request = BuildRequest(
        top="server_top",
        rtl=rtl_files(rtl),
        cpp=_CPP,
        headers=_HEADERS,
        parameters=(("CARDS", cards), ("N", gpus), ("PEERS", f"{16 * cards * gpus}'h{wiring}")),
        defines=(*_DEFINES, ("RINGHIL_CARD", "1"), ("RINGHIL_SERVER", "1")),
        assertions=True,
        options=_BOTH_ENDS,
        optimise=optimise,
    )
    return _library(request, progress)
