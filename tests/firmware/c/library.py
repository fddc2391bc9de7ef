"""The firmware in C, built by the host's compiler."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from tests.once import built_once
from tests.protocol.c.library import COMPILER, INCLUDE, SOURCES, compile_c

from ringhil.emulator.loop.library import firmware_in
from ringhil.emulator.server.firmware_choice import ALL, Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import Maker

__all__ = [
    "at",
    "board",
    "built",
    "compile_c",
    "everywhere",
    "made_by_make",
    "maker",
    "processes_of",
    "shared",
    "troubled",
]
FOLDER = Path(__file__).resolve().parents[3] / "firmware" / "c"
STRICT = "-Werror -O2"


def made_by_make(folder: Path, *what: str) -> Path:
    """The folder, with what its Makefile makes."""
    command = ["make", "-s", "-C", str(FOLDER), f"BUILD={folder}", f"CC={COMPILER}", f"CFLAGS={STRICT}", *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return folder


def built(folder: Path) -> Path:
    """The library, to be changed."""
    return made_by_make(folder) / "libringhil_gpu.so"


def shared(factory: pytest.TempPathFactory) -> Path:
    """The library, the same for all that ask."""
    return built_once(factory, "firmware_in_c", made_by_make) / "libringhil_gpu.so"


def board(factory: pytest.TempPathFactory) -> str:
    """The program that is a board, the same for all that ask."""
    return str(built_once(factory, "board_in_c", lambda folder: made_by_make(folder, "board")) / "ringhil_board")


def troubled(folder: Path) -> Path:
    """The library with `trouble.c` around it."""
    options = (f"-I{FOLDER}", f"-I{INCLUDE}", "-fPIC", "-O1", "-std=gnu99")
    renamed = ("-Drhf_size=whole_size", "-Drhf_answer=whole_answer", "-r", "-nostdlib")
    whole, trouble = folder / "whole.o", Path(__file__).with_name("trouble.c")
    for done in (
        compile_c(*options, *renamed, *sorted(FOLDER.glob("*.c")), *SOURCES, "-o", whole),
        compile_c(*options, "-g", "-w", "-shared", trouble, whole, "-o", folder / "libtrouble.so"),
    ):
        assert done.returncode == 0, done.stderr
    return folder / "libtrouble.so"


def maker(factory: pytest.TempPathFactory) -> Maker:
    return firmware_in(shared(factory))


def everywhere(made: Maker) -> FirmwareChoice:
    """That firmware on all GPUs that have any."""
    return FirmwareChoice(("*=c",), {ALL: Chosen("c", made, "")})


def at(places: list[str], made: Maker) -> FirmwareChoice:
    """That firmware on these GPUs."""
    return FirmwareChoice(tuple(f"{place}=c" for place in places), {place: Chosen("c", made, "") for place in places})


def processes_of(path: Path) -> list[int]:
    """Those that run this library; one that has ended has no words any more."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"firmware_host") and os.fsencode(path) in words:
                found.append(int(process.name))
    return found
