"""Files that appear whole or not at all, files that grow in their place, and files that are read.

What is no file, such as a pipe or /dev/stdout, is written to as it comes, and never read: it may have no end, or keep
its reader waiting. `-` is standard output.
"""

import errno
import os
import re
import stat
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

STDOUT = Path("-")
_drafts: set[Path] = set()  # of this process, which are being written


def open_input(path: Path) -> IO[bytes]:
    """A regular file, to be read. Raises OSError for anything else, at once."""
    # Without O_NONBLOCK, opening a pipe waits for somebody who writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is no file", str(path))


class AtomicFile:
    """Written beside its place and moved there by `commit`; without it, nothing is left. Raises OSError.

    What `STDOUT` names is written to as it comes. A process that is killed leaves its draft: whoever writes the same
    file next removes it.

    `binary`: the caller writes `partial` itself, so its place must be one for a file. `beside`: endings of what its
    writer keeps beside `partial`, which goes with it.
    """

    def __init__(self, path: Path, *, binary: bool = False, beside: tuple[str, ...] = ()) -> None:
        self._stream = path == STDOUT or (path.exists() and not path.is_file() and not path.is_dir())
        if self._stream and binary:
            raise OSError(errno.ESPIPE, "it is not a file", str(path))
        self._path = path = Path(os.path.realpath(path)) if path.is_symlink() and not self._stream else path
        if not path.name:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        self.partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        # Before the file is there: an interrupt may come between its creation and the caller's `with`.
        unfinished = [self.partial, *(self.partial.with_name(self.partial.name + ending) for ending in beside)]
        if not self._stream:
            if self.partial in _drafts:
                raise FileExistsError(errno.EEXIST, "two reports have this name", str(path))
            _remove_abandoned(path, beside)
        self._discard = weakref.finalize(self, _remove, unfinished, os.getpid())
        self.file: IO[str] | None = None
        if path == STDOUT:
            sys.stdout.flush()
            self.file = os.fdopen(os.dup(1), "w", encoding="utf-8")
        elif not binary:
            where, mode = (path, "w") if self._stream else (self.partial, "x")
            self.file = where.open(mode, encoding="utf-8")
        _drafts.add(self.partial)

    def commit(self) -> None:
        """The file is complete."""
        if self.file is not None:
            self.file.close()
        if not self._stream:
            self.partial.replace(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            self.file.close()
        self._discard()


def write_whole(path: Path, text: str) -> None:
    """The file is there with all of the text, or as it was before. Raises OSError."""
    with AtomicFile(path) as file:
        assert file.file is not None
        file.file.write(text)
        file.commit()


def open_growing(path: Path) -> IO[bytes]:
    """A file in its place from the beginning, empty at first: what is flushed stays, whatever becomes of its writer.

    What is no file is written to, and the file that a link names. Raises OSError.
    """
    return path.open("wb")


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
