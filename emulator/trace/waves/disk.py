"""What the library that writes FST doesn't look after: a disk that is full.

It maps temporary files of its own into memory: without room for them it dies by a signal. What it can't write to the
file itself it leaves out, and says nothing.
"""

import errno
import os
import zlib
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

_TEMPORARY = "/tmp"  # where C makes such files, whatever the environment says
_PLACE = 16  # bytes that it keeps of a variable, beside one for each of its bits

# A file is a row of blocks: one byte, what it is; eight, how long it is with these. The names come last, packed: eight
# bytes, how many there are unpacked, and as `gzip` has it.
_HEADER, _GEOMETRY, _NAMES = 0, 3, 4
_LENGTH = 8  # bytes


def check_room(variables: int, bits: int) -> None:
    """Whether there is room for its temporary files. Raises OSError."""
    needed = variables * _PLACE + bits
    try:
        with TemporaryFile(dir=_TEMPORARY, buffering=0) as file:
            if file.write(bytes(needed)) < needed:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise OSError(error.errno, f"no room in {_TEMPORARY}: {error.strerror}") from None


def check_whole(path: Path) -> None:
    """Whether all of a file is there. Raises OSError."""
    with path.open("rb") as file:
        if not _is_whole(file, path.stat().st_size):
            raise OSError(errno.ENOSPC, "a part of it is missing; is the disk full?", str(path))


def _is_whole(file: BinaryIO, size: int) -> bool:
    """One that couldn't be written to its end lacks blocks there, has one with the length 0 that it was begun with, or
    names that can't be unpacked."""
    found, at, length = list[int](), 0, 0
    while at < size:
        file.seek(at)
        head = file.read(1 + _LENGTH)
        length = int.from_bytes(head[1:])
        if length < _LENGTH:
            return False
        found.append(head[0])
        at += 1 + length
    if at != size or found[-1:] != [_NAMES] or found[0] != _HEADER or _GEOMETRY not in found:
        return False
    file.seek(size - length + _LENGTH)
    names = int.from_bytes(file.read(_LENGTH))
    try:
        return len(zlib.decompress(file.read(), zlib.MAX_WBITS | 16)) == names
    except zlib.error:
        return False
