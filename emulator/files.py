"""Files that appear whole or not at all, files that grow in their place, and files that are read.

What is no file, such as a pipe or a device, is written to as it comes, and never read: it may have no end, or keep
its reader waiting. So is a descriptor that whoever started us has opened, whatever it leads to. `-` is standard output.
"""

import errno
import fcntl
import logging
import os
import re
import sqlite3
import stat
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from ringhil.emulator.errors import RinghilError

STDOUT = Path("-")
_STDOUT = 1
_NAMED = {"-": _STDOUT, "/dev/stdout": _STDOUT, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")
_LOOK = 0.05  # seconds
_log = logging.getLogger(__name__)
_drafts: set[Path] = set()  # of this process, which are being written


class NobodyReadsError(RinghilError, OSError):
    """A FIFO whose other end nobody has opened."""


def reason_of(error: OSError) -> str:
    """What is wrong with a file, in the same words everywhere."""
    return "it is a folder; name a file" if error.errno == errno.EISDIR else error.strerror or str(error)


def open_database(path: Path | str, how: str = "", *, patience: float = 5.0) -> sqlite3.Connection:
    """A file of SQLite's, or `:memory:`, in which each statement counts at once, unless it stands in a transaction.

    `how`: parameters of SQLite's URIs, `mode=ro` or `immutable=1`; without any the file is made when it isn't there.
    `patience`: seconds to wait for another writer. Raises sqlite3.Error.
    """
    name = f"file:{quote(os.fsencode(Path(path).absolute()))}?{how}" if how else path
    return sqlite3.connect(name, timeout=patience, isolation_level=None, uri=bool(how))


def is_stdout(path: Path | None) -> bool:
    """Whether this is standard output, under any of its names."""
    return path is not None and _descriptor(path) == _STDOUT


def is_stream(path: Path) -> bool:
    """Whether it is written to as it comes: an open descriptor, a pipe, a device."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file() and not path.is_dir())


def _descriptor(path: Path) -> int | None:
    """The descriptor that is named: opened once more, its file would be written from the beginning, or replaced."""
    found = _NUMBERED.fullmatch(str(path))
    return int(found[1]) if found else _NAMED.get(str(path))


def shown(path: Path) -> str:
    """Its name in what people are told."""
    return "stdout" if str(path) == "-" else str(path)


def open_stream(path: Path, *, wait: bool = True) -> int:
    """A descriptor to write to what `is_stream`. Waits for somebody to read a FIFO, or, without `wait`, raises
    NobodyReadsError. Raises OSError."""
    own = _descriptor(path)
    if own is not None:
        # What we have opened for ourselves isn't handed on to other programs, and isn't what was meant.
        if not os.get_inheritable(own) or fcntl.fcntl(own, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), str(path))
        if own == _STDOUT:
            sys.stdout.flush()
        return os.dup(own)
    told = False
    while True:
        # Not by waiting in `open`: a signal that comes right before it would be heard only after it.
        try:
            opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO or not path.is_fifo():
                raise
            if not wait:
                raise NobodyReadsError(error.errno, "nobody reads it", str(path)) from None
        else:
            os.set_blocking(opened, True)
            return opened
        if not told:
            _log.info("%s: nobody reads it yet", path)
            told = True
        time.sleep(_LOOK)


def drop(file: IO[str] | IO[bytes]) -> None:
    """Close it without what it still holds: whoever reads it may never take that."""
    if not file.closed:
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(null, file.fileno(), inheritable=False)
        os.close(null)
        file.close()


def open_input(path: Path) -> IO[bytes]:
    """A regular file, to be read. Raises OSError for anything else, at once."""
    # Without O_NONBLOCK, opening a pipe waits for somebody who writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise _folder(path)
    raise OSError(errno.EINVAL, "it is no file", str(path))


def check_file(path: Path) -> None:
    """Raises OSError when there can't be a file of its own, to be written in place."""
    if path.is_dir():
        raise _folder(path)
    if is_stream(path):
        raise OSError(errno.ESPIPE, "it is no file; name a file", str(path))


class AtomicFile:
    """Written beside its place and moved there by `commit`; without it, nothing is left. Raises OSError.

    What `is_stream` is written to as it comes. A process that is killed leaves its draft: whoever writes the same
    file next removes it.

    `binary`: the caller writes `partial` itself, so its place must be one for a file. `beside`: endings of what its
    writer keeps beside `partial`, which goes with it. `wait`: for somebody who reads a FIFO.
    """

    def __init__(self, path: Path, *, binary: bool = False, beside: tuple[str, ...] = (), wait: bool = True) -> None:
        self._stream = is_stream(path)
        if binary or path.is_dir():
            check_file(path)
        self._path = path = Path(os.path.realpath(path)) if path.is_symlink() and not self._stream else path
        if not path.name:
            raise _folder(path)
        self.partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        # Before the file is there: an interrupt may come between its creation and the caller's `with`.
        unfinished = [self.partial, *(self.partial.with_name(self.partial.name + ending) for ending in beside)]
        if not self._stream:
            if self.partial in _drafts:
                raise FileExistsError(errno.EEXIST, "two reports have this name", str(path))
            _remove_abandoned(path, beside)
        self._discard = weakref.finalize(self, _remove, unfinished, os.getpid())
        self.file: IO[str] | None = None
        if self._stream:
            self.file = os.fdopen(open_stream(path, wait=wait), "w", encoding="utf-8")
        elif not binary:
            self.file = self.partial.open("x", encoding="utf-8")
        _drafts.add(self.partial)

    def commit(self) -> None:
        """The file is complete."""
        if self.file is not None:
            self.file.flush()  # `close` writes what is left once more when a signal ends the first try
            self.file.close()
        if not self._stream:
            self.partial.replace(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            drop(self.file)
        self._discard()


def write_whole(path: Path, text: str) -> None:
    """The file is there with all of the text, or as it was before. Raises OSError."""
    with AtomicFile(path) as file:
        assert file.file is not None
        file.file.write(text)
        file.commit()


def open_growing(path: Path) -> IO[bytes]:
    """A file in its place from the beginning, empty at first: what is flushed stays, whatever becomes of its writer.

    What `is_stream` is written to, and the file that a link names. Raises OSError.
    """
    return os.fdopen(open_stream(path), "wb") if is_stream(path) else path.open("wb")


def _folder(path: Path) -> OSError:
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def _remove(files: list[Path], process: int) -> None:
    if os.getpid() != process:  # a forked process has no say over its parent's files
        return
    _drafts.difference_update(files)
    for file in files:
        with suppress(OSError, ValueError):  # a path at which no file could be
            file.unlink()


def _remove_abandoned(path: Path, beside: tuple[str, ...]) -> None:
    """Drafts of this file whose process is gone, and what lies beside them."""
    endings = "|".join(map(re.escape, ("", *beside)))
    draft = re.compile(rf"\.{re.escape(path.name)}\.([0-9]{{1,9}})\.partial({endings})")
    try:
        found = [(file, int(name[1])) for file in path.parent.iterdir() if (name := draft.fullmatch(file.name))]
    except (OSError, ValueError):  # a folder that isn't there, or can't be listed: it is said when the file is opened
        return
    for file, process in found:
        # In a container the one that was killed often had the number that this one has.
        mine = process == os.getpid() and not any(file.name.startswith(draft.name) for draft in _drafts)
        if mine or not _alive(process):
            with suppress(OSError):
                file.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
