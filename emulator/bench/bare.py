"""The first peer: monolithic Verilator in a bare C++ loop, same RTL, same messages at the same cycles."""

import ctypes
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ringhil.emulator.build.build import BuildRequest, build
from ringhil.emulator.engine.library import RTL, Progress, rtl_files
from ringhil.firmware.census import Census, CensusConfig
from ringhil.firmware.commands import Send
from ringhil.protocol import registers

# More makes large cards take many times as long to compile, and none of them measurably faster.
_OPTIMISE = "-O1"
_ALLOWANCE = registers.ADDRESS["allowance"]
_CSRC = Path(__file__).resolve().parents[1] / "engine" / "csrc"


@dataclass(frozen=True)
class BareRate:
    """`extrapolated_from`: GPUs of the ring that was measured instead, when this one was too large to build."""

    gpus: int
    cycles_per_second: float
    build_seconds: float
    extrapolated_from: int | None = None

    def extrapolated(self, gpus: int) -> "BareRate":
        """The rate of a larger ring if a cycle costs the same for each GPU (caches make it cost more)."""
        return BareRate(gpus, self.cycles_per_second * self.gpus / gpus, 0.0, self.gpus)


def messages(gpus: int, *, records: bool) -> list[bytes]:
    """The two messages of a census round."""
    census = Census(CensusConfig(0, 0, gpus, 1, 10**9, 10**9, records=records))
    return [action.frame for action in census.start(0) if isinstance(action, Send)]


def measure(gpus: int, round_cycles: int, *, seconds: float, progress: Progress | None = None) -> BareRate:
    """Build the card and run it for about `seconds`; raises RuntimeError when the messages don't come home."""
    request = BuildRequest(
        top="card_top",
        rtl=rtl_files(RTL),
        cpp=(_CSRC / "bare.cpp",),
        headers=(_CSRC / "cell.h", _CSRC / "ringhil_wire.h"),
        parameters=(("N", gpus),),
        optimise=_OPTIMISE,
    )
    built = build(request, progress=progress)
    bare = ctypes.CDLL(str(built.path)).ringhil_bare
    bare.restype = ctypes.c_uint64
    u64 = ctypes.c_uint64
    bare.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32, u64, u64, ctypes.c_uint8]
    frames = messages(gpus, records=False)
    flits = np.frombuffer(b"".join(frames), ">u8").astype(np.uint64)
    cycles, spent = 4 * round_cycles, 0.0
    while True:
        began = time.perf_counter()
        home = bare(gpus, flits.ctypes.data, len(frames[0]) // 8, round_cycles, cycles, _ALLOWANCE)
        spent = time.perf_counter() - began
        # The last round may still be on its way.
        if home < 2 * (cycles // round_cycles - 1):
            raise RuntimeError(f"bare loop: {home} messages home in {cycles} cycles")
        if spent >= seconds / 2:
            return BareRate(gpus, cycles / spent, built.seconds)
        cycles = int(cycles * min(20, max(2, seconds / max(spent, 1e-4))))
