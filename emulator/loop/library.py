"""A shared library in this process as the far end: firmware in C, say.

It has two functions, those of `ringhil_firmware.h`:

    size_t rhf_size(void);
    size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room);

Each boot of each GPU has a state of its own, zeroed. It is tried in another process first (`trial.py`); what crashes in
it later ends this one: it is not kept apart.
"""

import ctypes
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from ringhil.emulator.loop import trial
from ringhil.emulator.loop.far import Exchange, FarFirmware, asks_who, attach
from ringhil.emulator.server.foreign import FirmwareError, Maker
from ringhil.firmware.boot import Boot
from ringhil.firmware.program import Firmware
from ringhil.protocol.line.framing import LONGEST

_SIZE, _ANSWER = "rhf_size", "rhf_answer"
_MOST_STATE = 1 << 26  # bytes
_PATIENCE = 60  # seconds
_WORK = 10  # seconds of processor time, of which a trial takes a thousandth
_OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)
_STEPS = {"load": "it is loaded", _SIZE: f"{_SIZE} is called", _ANSWER: f"{_ANSWER} is called"}


def firmware_in(path: Path) -> Maker:
    """Makes the firmware that is in the library at `path`. Raises FirmwareError."""
    _try(path)
    try:
        library = ctypes.CDLL(str(path.absolute()))
    except OSError as error:
        text = " ".join(str(error).split())
        if path.is_file() and "No such file" in text:  # what the loader says of it, too
            text = f"{path}: is for another machine, or lacks a library that it needs"
        raise FirmwareError(text) from error
    functions = [getattr(library, name, None) for name in (_SIZE, _ANSWER)]
    missing = [name for name, found in zip((_SIZE, _ANSWER), functions, strict=True) if found is None]
    if missing:
        raise FirmwareError(f"{path}: has no {missing[0]}; wanted are {_SIZE} and {_ANSWER}")
    size, answer = functions
    assert size is not None
    assert answer is not None
    size.restype = answer.restype = ctypes.c_size_t
    bytes_ = size()
    if not 0 < bytes_ <= _MOST_STATE:
        raise FirmwareError(f"{path}: {_SIZE} is {bytes_}; allowed are 1 to {_MOST_STATE} bytes")
    answer.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    attach(_exchange(answer, bytes_))

    def made(boot: Boot) -> Firmware:
        return FarFirmware(_exchange(answer, bytes_), boot)

    return made


def _try(path: Path) -> None:
    """Raises FirmwareError for one that ends a process, or is never done."""
    values = [str(path.absolute()), str(_MOST_STATE), str(LONGEST), asks_who().hex(), str(_WORK)]
    command = [sys.executable, "-I", "-S", trial.__file__, *values]
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdin=nothing, stdout=pipe, stderr=nothing) as tried:
        try:
            said, _ = tried.communicate(timeout=_PATIENCE)
            ended = _ended(tried.returncode)
        except subprocess.TimeoutExpired:
            tried.kill()
            said, _ = tried.communicate()
            ended = f"takes more than {_PATIENCE} s"
        except BaseException:
            tried.kill()
            raise
    steps = said.decode(errors="replace").split()  # it may print, too
    if not steps or steps[-1] != "end":
        step = next((_STEPS[each] for each in reversed(steps) if each in _STEPS), "it is tried")
        wanted = f"wanted is a whole library with the functions {_SIZE} and {_ANSWER}"
        raise FirmwareError(f"{path}: {ended} when {step}; {wanted}")


def _ended(code: int) -> str:
    if code in _OUT_OF_TIME:
        return f"takes more than {_WORK} s"
    return f"crashes ({signal.strsignal(-code)})" if code < 0 else f"ends the program with exit code {code}"


def _exchange(answer: Any, size: int) -> Exchange:
    state, out = ctypes.create_string_buffer(size), ctypes.create_string_buffer(LONGEST)

    def exchange(request: bytes) -> bytes:
        length = answer(state, request, len(request), out, len(out))
        if not 0 < length <= len(out):
            raise FirmwareError(f"{_ANSWER} gave {length} bytes; allowed are 1 to {len(out)}")
        return out.raw[:length]

    return exchange
