"""The C library as a program of Python's, and programs made with it: built by the host's compiler."""

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from ringhil.protocol.c import FOLDER
from ringhil.protocol.generate.tables import parts
from ringhil.protocol.line.management import MESSAGES, Type

HERE = Path(__file__).parent
INCLUDE = FOLDER
SOURCES = sorted(INCLUDE.glob("*.c"))
COMPILER = shutil.which("gcc") or shutil.which("cc") or "cc"
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion")
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_INTEGERS = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}
_ALL = "; ".join(f"BOTH_WAYS({kind})" for kind in MESSAGES)


def compile_c(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the host's compiler."""
    command = [COMPILER, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def program(name: str, folder: Path, *options: str) -> Path:
    """A program of this folder, with the library."""
    posix = "-D_POSIX_C_SOURCE=200809L"
    defines = (posix, f"-DALL_MESSAGES={_ALL}")
    strict = [option for option in STRICT if option != "-Wconversion"]
    done = compile_c(*strict, *options, *defines, f"-I{INCLUDE}", HERE / f"{name}.c", *SOURCES, "-o", folder / name)
    assert done.returncode == 0, done.stderr
    return folder / name


@cache
def shared(folder: Path) -> ctypes.CDLL:
    """The library, loaded."""
    path = folder / "libringhil.so"
    done = compile_c(*STRICT, "-O2", "-shared", "-fPIC", *SOURCES, "-o", path)
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(path))
    library.rh_wrap.restype = library.rh_receive.restype = ctypes.c_size_t
    for kind in Type:
        getattr(library, f"rh_pack_{kind}").restype = ctypes.c_size_t
    return library


class Receiver(ctypes.Structure):
    """`struct rh_receiver`."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("room", ctypes.c_size_t),
        ("used", ctypes.c_size_t),
        ("left", ctypes.c_uint8),
        ("code", ctypes.c_uint8),
        ("begun", ctypes.c_uint8),
        ("spoilt", ctypes.c_uint8),
        ("damaged", ctypes.c_uint32),
    )


@cache
def structure(kind: Type) -> type[Any]:
    """`struct rh_...` of a message."""
    fixed, tail = parts(MESSAGES[kind])
    fields: list[tuple[str, Any]] = [(name, _INTEGERS[size]) for name, size in fixed]
    if tail is not None:
        fields += [(tail[0], ctypes.c_char_p), ("tail_size", ctypes.c_size_t)]
    return type(f"C{kind}", (ctypes.Structure,), {"_fields_": fields})
