"""Where work units come from: generated, or a file or directory of any size, read piece by piece."""

import bisect
import os
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import open_input, reason_of
from ringhil.protocol import crc


class DataError(RinghilError, ValueError):
    """The data can't be read; the message says which and why."""


class WorkUnits(Protocol):
    """Numbered units of work; `read` may be called for any of them, any number of times."""

    units: int

    def read(self, unit: int) -> bytes:
        """Bytes of a unit, at least one."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


class Generated:
    """Units of `size` bytes that all differ and depend on nothing but seed and number."""

    def __init__(self, units: int, size: int, seed: int) -> None:
        self.units, self._size = units, size
        self._base = np.random.default_rng(seed).integers(0, 2**64, -(-size // 8), dtype=np.uint64)

    def read(self, unit: int) -> bytes:
        """Bytes of a unit."""
        # An odd factor: every word differs from unit to unit.
        words = self._base + np.uint64(unit * 0x9E3779B97F4A7C15 % 2**64)
        return words.tobytes()[: self._size]

    def close(self) -> None:
        """Nothing is open."""


class Files:
    """A file, or all files below a directory in order of their names, cut into units of at most `size` bytes.

    No unit reaches over the end of a file; an empty file has none. Memory: one entry a file.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._size = size
        self._open: tuple[Path, IO[bytes]] | None = None
        self._files: list[tuple[Path, int]] = []  # path, bytes
        self._first: list[int] = []  # number of each file's first unit
        self.units = 0
        try:
            if not path.is_dir():
                open_input(path).close()
            for file in _below(path) if path.is_dir() else [path]:
                length = file.stat().st_size
                if length:
                    self._files.append((file, length))
                    self._first.append(self.units)
                    self.units += -(-length // size)
        except OSError as error:
            raise DataError(f"{error.filename or path}: cannot be read: {reason_of(error)}") from None

    def read(self, unit: int) -> bytes:
        """Bytes of a unit. Raises DataError when the file has gone or changed its size."""
        index = bisect.bisect_right(self._first, unit) - 1
        path, length = self._files[index]
        start = (unit - self._first[index]) * self._size
        want = min(self._size, length - start)
        try:
            if self._open is None or self._open[0] != path:
                self.close()
                self._open = (path, open_input(path))
            # By place, not by the file's own position, which forked processes share.
            data = os.pread(self._open[1].fileno(), want, start)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {reason_of(error)}") from None
        if len(data) != want:
            raise DataError(f"{path}: has become shorter while it was being read")
        return data

    def close(self) -> None:
        """Close the file that is open."""
        if self._open:
            self._open[1].close()
            self._open = None


def _below(path: Path) -> list[Path]:
    """All files below a directory, sorted. Raises OSError for a directory that can't be listed."""

    def refuse(error: OSError) -> None:
        raise error

    walk = os.walk(path, onerror=refuse)
    return sorted(file for folder, _, names in walk for name in names if (file := Path(folder, name)).is_file())


def digest(data: bytes) -> int:
    """What a GPU answers for these bytes: CRC 32 | sum of 32-bit words, padded with zeros to whole flits."""
    padded = data + bytes(-len(data) % 8)
    total = int(np.frombuffer(padded, ">u4").sum(dtype=np.uint64)) & 0xFFFFFFFF
    return crc.crc32(padded) << 32 | total
