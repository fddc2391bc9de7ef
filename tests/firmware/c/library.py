"""The firmware in C, built by the host's compiler."""

import subprocess
from pathlib import Path

from tests.protocol.c.library import COMPILER, compile_c

from ringhil.emulator.loop.library import firmware_in
from ringhil.emulator.server.firmware_choice import ALL, Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import Maker

__all__ = ["at", "built", "compile_c", "everywhere", "made_by_make", "maker"]
FOLDER = Path(__file__).resolve().parents[3] / "firmware" / "c"
STRICT = "-Werror -O2"


def made_by_make(folder: Path, *what: str) -> Path:
    """The folder, with what its Makefile makes."""
    command = ["make", "-s", "-C", str(FOLDER), f"BUILD={folder}", f"CC={COMPILER}", f"CFLAGS={STRICT}", *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return folder


def built(folder: Path) -> Path:
    """The library."""
    return made_by_make(folder) / "libringhil_gpu.so"


def maker(folder: Path) -> Maker:
    return firmware_in(built(folder))


def everywhere(made: Maker) -> FirmwareChoice:
    """That firmware on all GPUs that have any."""
    return FirmwareChoice(("*=c",), {ALL: Chosen("c", made, "")})


def at(places: list[str], made: Maker) -> FirmwareChoice:
    """That firmware on these GPUs."""
    return FirmwareChoice(tuple(f"{place}=c" for place in places), {place: Chosen("c", made, "") for place in places})
