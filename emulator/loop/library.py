"""A shared library in this process as the far end: what crashes in it ends this one, and a call that never ends can't
be interrupted. It is tried apart (`apart.py`) first.

It has two functions, those of `ringhil_firmware.h`:

    size_t rhf_size(void);
    size_t rhf_answer(void *state, const uint8_t *request, size_t length, uint8_t *answer, size_t room);

Each boot of each GPU has a state of its own, zeroed.
"""

import ctypes
import sys
from pathlib import Path
from typing import Any

from ringhil.emulator.loop.apart import ANSWER, LIMIT, MOST_STATE, SIZE, LibraryApart
from ringhil.emulator.loop.far import Exchange, FarFirmware, attach
from ringhil.emulator.server.foreign import FirmwareError, Maker
from ringhil.firmware.boot import Boot
from ringhil.firmware.program import Firmware
from ringhil.protocol.line.framing import LONGEST


def firmware_in(path: Path, *, limit: float = LIMIT, gdb: int | None = None, here: bool = False) -> Maker:
    """Makes the firmware that is in the library at `path`, in processes of its own, or in this one: `here`. `limit`:
    seconds that an answer may take there. `gdb`: the cycle in which each waits for a debugger. Raises FirmwareError."""
    if not here:
        return LibraryApart(path, limit, gdb).made
    if sys.platform == "linux":
        LibraryApart(path, limit)
    try:
        library = ctypes.CDLL(str(path.absolute()))
        size, answer = library[SIZE], library[ANSWER]
    except (OSError, AttributeError) as error:
        raise FirmwareError(f"{path}: {' '.join(str(error).split())}") from error
    size.restype = answer.restype = ctypes.c_size_t
    bytes_ = size()
    if not 0 < bytes_ <= MOST_STATE:
        raise FirmwareError(f"{path}: {SIZE} is {bytes_} bytes; allowed are 1 to {MOST_STATE} bytes")
    answer.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    attach(_exchange(answer, bytes_))

    def made(boot: Boot) -> Firmware:
        return FarFirmware(_exchange(answer, bytes_), boot)

    return made


def _exchange(answer: Any, size: int) -> Exchange:
    state, out = ctypes.create_string_buffer(size), ctypes.create_string_buffer(LONGEST)

    def exchange(request: bytes) -> bytes:
        length = answer(state, request, len(request), out, len(out))
        if not 0 < length <= len(out):
            raise FirmwareError(f"{ANSWER} gave {length} bytes; allowed are 1 to {len(out)}")
        return out.raw[:length]

    return exchange
