"""What the server hands over to guests that have a GPU: files of one folder, unchanged, packed if they like (V6)."""

import base64
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import IO, NamedTuple

from ringhil.emulator.errors import RinghilError, printable

DATA_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
DIGEST_HEADER = "Unencoded-Digest"
_CHUNK = 1 << 18  # bytes
_MOST_NAMES = 1000
_PATIENCE = 5.0  # seconds that a request waits for the digest of a file that is new
_FAST = 1  # level of packing: a link of a server is faster than any other
_GZIP = 31  # what zlib calls it
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class HandoverError(RinghilError, OSError):
    """A folder or file that can't be handed over."""


class HandoverBusy(RinghilError):
    """The file is read for its digest; it can be asked for again."""


class HandoverBroken(RinghilError):
    """The file has changed while it was handed over."""


class HandedFile(NamedTuple):
    """`digest`: SHA-256 of its content, as the header `Unencoded-Digest` has it. `state`: what says that it is another
    or has changed."""

    name: str
    size: int
    digest: str
    state: tuple[int, ...]


class HandoverFolder:
    """Regular files of a folder, by names that fit `DATA_NAME`; neither links nor what is in folders below. Raises
    HandoverError, as all of it does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests: dict[tuple[int, ...], Future[str]] = {}  # by what says that a file is another
        self._lock = Lock()
        try:
            self._names()
        except OSError as error:
            raise HandoverError(f"--data: {folder}: {error.strerror or error}") from None

    def names(self) -> dict[str, int]:
        """All files with their sizes in bytes; the first thousand, by name."""
        try:
            return self._names()
        except OSError as error:  # guests aren't told where it is
            raise HandoverError(f"data: the folder: {error.strerror or error}") from None

    def _names(self) -> dict[str, int]:
        found: dict[str, int] = {}
        with os.scandir(self._folder) as entries:
            for each in entries:
                with suppress(FileNotFoundError):  # it went meanwhile
                    if re.fullmatch(DATA_NAME, each.name) and each.is_file(follow_symlinks=False):
                        found[each.name] = each.stat(follow_symlinks=False).st_size
        return dict(sorted(found.items())[:_MOST_NAMES])

    def open(self, name: str) -> tuple[HandedFile, IO[bytes]]:
        """A file, at its beginning; when it is new or has changed it is read for its digest before."""
        if not re.fullmatch(DATA_NAME, name):
            raise HandoverError(f"data: found {printable(name[:100])!r}; there is no such file")
        try:
            file = os.fdopen(os.open(self._folder / name, _OPEN), "rb")
        except OSError as error:
            raise HandoverError(f"data: {name}: {error.strerror or error}") from None
        try:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise HandoverError(f"data: {name}: is no regular file")
            state = _state(file)
            return HandedFile(name, about.st_size, self._digest(name, state), state), file
        except BaseException:
            file.close()
            raise

    def _digest(self, name: str, state: tuple[int, ...]) -> str:
        """Raises HandoverBusy while it is made, by a thread of its own that goes on."""
        with self._lock:
            found = self._digests.get(state)
            if found is None or (found.done() and found.exception() is not None):
                found = Future()
                self._digests = dict(list(self._digests.items())[-_MOST_NAMES:]) | {state: found}
                Thread(target=_hash, args=(self._folder / name, state, found), daemon=True).start()
        try:
            return found.result(_PATIENCE)
        except TimeoutError:
            raise HandoverBusy(f"data: {name}: it is new, and is being read for its digest; ask again") from None


def _state(file: IO[bytes]) -> tuple[int, ...]:
    about = os.fstat(file.fileno())
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _hash(path: Path, state: tuple[int, ...], result: "Future[str]") -> None:
    try:
        hashed = hashlib.sha256()
        with os.fdopen(os.open(path, _OPEN), "rb") as file:
            while data := file.read(_CHUNK):
                hashed.update(data)
            if _state(file) != state:
                raise HandoverError(f"data: {path.name}: it has changed; ask again")
        result.set_result(f"sha-256=:{base64.b64encode(hashed.digest()).decode()}:")
    except BaseException as error:
        result.set_exception(error if isinstance(error, RinghilError) else HandoverError(f"data: {path.name}: {error}"))


def pieces(about: HandedFile, file: IO[bytes], *, packed: bool) -> Iterator[bytes]:
    """Its content, as gzip when it is to be packed. Closes the file. Raises HandoverBroken, before the last piece, when
    the file has changed since its digest was made: nobody takes for whole what isn't."""
    packer = zlib.compressobj(_FAST, zlib.DEFLATED, _GZIP) if packed else None
    left, held = about.size, b""
    with file:
        while left and (data := file.read(min(left, _CHUNK))):
            left -= len(data)
            piece = data if packer is None else packer.compress(data)
            if held and piece:
                yield held
            held = piece or held
        if left or _state(file) != about.state:
            raise HandoverBroken(f"data: {about.name}: it has changed while it was handed over")
        yield held if packer is None else held + packer.flush()
