"""The group tree as a directory of this machine, by FUSE (Linux): for `cat`, `echo`, `mkdir`, `rmdir`, `ls`.

A file is what the tree says when its beginning is read; each write of a program's is one write to the tree. A program
waits until the GPUs have answered.
"""

import ctypes
import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import reason_of
from ringhil.emulator.groups.desk import GroupDesk
from ringhil.emulator.host.groups.tree import GroupTree

_DEVICE = Path("/dev/fuse")
_PATIENCE = 10.0  # seconds
_MNT_DETACH = 2
_THREADS = 8


class GroupMountError(RinghilError):
    """The tree can't be a directory; one line says why."""


class GroupMount:
    """Mounted at `folder`, an empty directory, until `close`. Raises GroupMountError."""

    def __init__(self, tree: GroupTree, desk: GroupDesk, folder: Path) -> None:
        self._fuse, self._folder = check_mount(folder), folder.absolute()
        self._there, self._over = threading.Event(), threading.Event()
        operations = _operations(self._fuse, tree, desk, self._there.set)
        self._thread = threading.Thread(target=self._serve, args=(operations,), name="groups", daemon=True)
        with _as_it_was() as said:
            self._thread.start()
            while not self._there.wait(0.02):
                if self._over.is_set():
                    said.seek(0)
                    why = " ".join(said.read().decode(errors="replace").split())
                    raise GroupMountError(f"{folder}: cannot be mounted: {why}")

    @property
    def gone(self) -> bool:
        """Somebody has unmounted it."""
        return self._over.is_set()

    def close(self) -> None:
        """Unmount it, once or twice. Close the desk before: nobody may wait for it. Whoever is in it has nothing there
        from now on, and libfuse's thread ends when the last one has gone, or with this process."""
        if self._over.is_set():
            return
        if self._unmounted(detach=False):
            self._thread.join(_PATIENCE)
        else:
            self._unmounted(detach=True)

    def _unmounted(self, *, detach: bool) -> bool:
        if os.geteuid() == 0:
            flags = _MNT_DETACH if detach else 0
            return int(ctypes.CDLL(None).umount2(os.fsencode(self._folder), flags)) == 0
        command = ["fusermount3", "-u", *(["-z"] if detach else []), str(self._folder)]
        return subprocess.run(command, env=child_environment(), check=False, stderr=subprocess.DEVNULL).returncode == 0

    def _serve(self, operations: Any) -> None:
        options = {"fsname": "ringhil", "subtype": "groups", "direct_io": True, "max_threads": _THREADS}
        with suppress(RuntimeError):  # libfuse has said why
            self._fuse.FUSE(operations, str(self._folder), foreground=True, **options)
        self._over.set()


@contextmanager
def _as_it_was() -> Iterator[IO[bytes]]:
    """While libfuse mounts it goes to another directory, and says on stderr what has nothing to do with it, or why it
    fails: that is in what is yielded."""
    with TemporaryFile() as said:
        here, stderr = os.open(".", os.O_RDONLY | os.O_DIRECTORY), os.dup(2)
        sys.stderr.flush()
        os.dup2(said.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(stderr, 2)
            os.fchdir(here)
            os.close(stderr)
            os.close(here)


def check_mount(folder: Path) -> Any:
    """mfusepy, when all is there that is needed. Raises GroupMountError."""
    _check_folder(folder)
    try:
        os.close(os.open(_DEVICE, os.O_RDWR))
    except OSError as error:
        raise GroupMountError(f"{_DEVICE}: cannot be opened: {reason_of(error)}; groups as files need it") from None
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        raise GroupMountError("there is no fusermount3; install it, e.g. apt-get install fuse3")
    try:
        return import_module("mfusepy")
    except ModuleNotFoundError:
        raise GroupMountError("there is no mfusepy; install it: pip install 'ringhil[groups]'") from None
    except OSError:
        raise GroupMountError("there is no libfuse; install it, e.g. apt-get install fuse3") from None


def _check_folder(folder: Path) -> None:
    try:
        inside = next(folder.iterdir(), None)
    except OSError as error:
        gone = f"; a server that was killed has left it: umount {folder}" if error.errno == errno.ENOTCONN else ""
        raise GroupMountError(f"{folder}: {reason_of(error)}; allowed is an empty directory{gone}") from None
    if inside is not None:
        raise GroupMountError(f"{folder}: found {inside.name!r} in it; allowed is an empty directory")


def _operations(fuse: Any, tree: GroupTree, desk: GroupDesk, ready: Callable[[], None]) -> Any:
    """What libfuse calls, in threads of its own."""
    began, owner = time.time_ns(), {"st_uid": os.getuid(), "st_gid": os.getgid()}
    handles, contents = count(1), dict[int, bytes]()

    def answered(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except OSError as error:
            raise fuse.FuseOSError(error.errno) from None

    def writable(path: str) -> bool:
        return tree.file(path)[1].write is not None

    def refuse(number: int) -> Callable[..., Any]:
        def refused(self: Any, *arguments: Any) -> Any:
            raise fuse.FuseOSError(number)

        return refused

    class Operations(fuse.Operations):  # type: ignore[misc]
        use_ns = True

        def init(self, path: str) -> None:
            ready()

        def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
            def found() -> dict[str, int]:
                if tree.is_group(path):
                    return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
                return {"st_mode": stat.S_IFREG | (0o644 if writable(path) else 0o444), "st_nlink": 1}

            times = {"st_atime": began, "st_mtime": began, "st_ctime": began}
            return {**answered(found), **owner, **times, "st_size": 0}

        def readdir(self, path: str, fh: int) -> list[str]:
            return [".", "..", *answered(lambda: tree.names(path))]

        def mkdir(self, path: str, mode: int) -> None:
            if not path.isascii():
                raise fuse.FuseOSError(errno.EINVAL)
            answered(lambda: desk.ask("mkdir", path))

        def rmdir(self, path: str) -> None:
            answered(lambda: desk.ask("rmdir", path))

        def open(self, path: str, flags: int) -> int:
            if flags & os.O_ACCMODE != os.O_RDONLY and not answered(lambda: writable(path)):
                raise fuse.FuseOSError(errno.EACCES)
            return next(handles)

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            if offset == 0 or fh not in contents:
                contents[fh] = answered(lambda: desk.ask("read", path)).encode()
            return contents[fh][offset : offset + size]

        def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
            if not data.isascii():
                raise fuse.FuseOSError(errno.EINVAL)
            answered(lambda: desk.ask("write", path, data.decode()))
            return len(data)

        def truncate(self, path: str, length: int, fh: int | None = None) -> int:
            if not answered(lambda: writable(path)):
                raise fuse.FuseOSError(errno.EACCES)
            return 0

        def release(self, path: str, fh: int) -> int:
            contents.pop(fh, None)
            return 0

        def utimens(self, path: str, times: Any = None) -> int:
            return 0

        create = refuse(errno.EACCES)
        chmod = chown = link = mknod = rename = symlink = unlink = refuse(errno.EPERM)

    return Operations()
