"""What the server hands over to guests that have a GPU: files of one folder, unchanged, packed if they like (V6)."""

import base64
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, NamedTuple

from ringhil.emulator.errors import RinghilError, printable

DATA_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
DIGEST_HEADER = "Unencoded-Digest"
_CHUNK = 1 << 18  # bytes
_MOST_NAMES = 1000
_FAST = 1  # level of packing: a link of a server is faster than any other
_GZIP = 31  # what zlib calls it
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class HandoverError(RinghilError, OSError):
    """A folder or file that can't be handed over."""


class HandedFile(NamedTuple):
    """`digest`: SHA-256 of its content, as the header `Unencoded-Digest` has it."""

    name: str
    size: int
    digest: str


class HandoverFolder:
    """Regular files of a folder, by names that fit `DATA_NAME`; neither links nor what is in folders below. Raises
    HandoverError, as all of it does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests: dict[tuple[int, ...], str] = {}  # by what says that a file is another
        self._lock = Lock()
        self.names()

    def names(self) -> dict[str, int]:
        """All files with their sizes in bytes; the first thousand, by name."""
        found: dict[str, int] = {}
        try:
            with os.scandir(self._folder) as entries:
                for each in entries:
                    with suppress(FileNotFoundError):  # it went meanwhile
                        if re.match(DATA_NAME, each.name) and each.is_file(follow_symlinks=False):
                            found[each.name] = each.stat(follow_symlinks=False).st_size
        except OSError as error:
            raise HandoverError(f"{self._folder}: {error.strerror or error}") from None
        return dict(sorted(found.items())[:_MOST_NAMES])

    def open(self, name: str) -> tuple[HandedFile, IO[bytes]]:
        """A file, at its beginning; when it is new or has changed it is read for its digest before."""
        if not re.match(DATA_NAME, name):
            raise HandoverError(f"data: found {printable(name[:100])!r}; there is no such file")
        try:
            file = os.fdopen(os.open(self._folder / name, _OPEN), "rb")
        except OSError as error:
            raise HandoverError(f"data: {name}: {error.strerror or error}") from None
        try:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise HandoverError(f"data: {name}: is no regular file")
            key = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
            return HandedFile(name, about.st_size, self._digest(key, file)), file
        except BaseException:
            file.close()
            raise

    def _digest(self, key: tuple[int, ...], file: IO[bytes]) -> str:
        with self._lock:
            found = self._digests.get(key)
        if found is None:
            hashed = hashlib.sha256()
            while data := file.read(_CHUNK):
                hashed.update(data)
            file.seek(0)
            found = f"sha-256=:{base64.b64encode(hashed.digest()).decode()}:"
            with self._lock:
                self._digests = dict(list(self._digests.items())[-_MOST_NAMES:]) | {key: found}
        return found


def pieces(file: IO[bytes], size: int, *, packed: bool) -> Iterator[bytes]:
    """So many bytes of a file, as gzip when they are to be packed. Closes it."""
    packer = zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP) if packed else None
    with file:
        while size and (data := file.read(min(size, _CHUNK))):
            size -= len(data)
            piece = data if packer is None else packer.compress(data)
            if piece:
                yield piece
        if packer is not None:
            yield packer.flush()
