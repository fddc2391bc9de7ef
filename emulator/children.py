"""Processes and folders that end with this one, whatever ends it: an interrupt, a closed terminal, `kill -9`.

A child is the first of a process group, so that it ends with all that it has started. Which groups there are is told to
a process beside, when a group begins and when nobody is left in it. That process holds one end of a pipe, of which we
alone have the other: when that is closed, it ends the groups that are left, and removes the folders. (PR_SET_PDEATHSIG
reaches no grandchildren, and counts a thread's end for its process's.)
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_WATCH = """
import os, shutil, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_IGN)
left = set()
for line in sys.stdin:
    (left.add if line[0] == "+" else left.discard)(line[1:-1])
folders = {each for each in left if each.startswith("/")}
for group in left - folders:
    try:
        os.killpg(int(group), signal.SIGKILL)
    except OSError:
        pass
for folder in folders:
    for _ in range(50):  # who still writes there is about to end
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            break
        time.sleep(0.1)
"""


class Child(subprocess.Popen[Any]):
    """A process and all that it starts, in a group of their own; options as of Popen. Raises OSError."""

    def __init__(self, command: Sequence[str | Path], **options: Any) -> None:
        self._told = False
        _watcher.begin()  # before there is anything to watch
        super().__init__([str(word) for word in command], process_group=0, **options)
        _watcher.tell(f"+{self.pid}")
        self._told = True

    def wait(self, timeout: float | None = None) -> int:
        """As of Popen."""
        code: int = super().wait(timeout)
        self._look()
        return code

    def kill_all(self) -> None:
        """It, and all that it has started."""
        if self.returncode is None or self._told:  # else the number may be that of others
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """The same, and wait for it."""
        self.kill_all()
        self.wait()

    def _look(self) -> None:
        """Nobody is left, and the number may be that of others soon."""
        if self._told:
            with suppress(PermissionError):
                try:
                    os.killpg(self.pid, 0)
                except ProcessLookupError:
                    self._told = False
                    _watcher.tell(f"-{self.pid}")


class _Watcher:
    """That process, from the first child on."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self.forget)

    def begin(self) -> None:
        """Raises OSError."""
        with self._lock:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _WATCH],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    start_new_session=True,
                )

    def tell(self, line: str) -> None:
        with self._lock, suppress(OSError):
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(f"{line}\n".encode())

    def close(self) -> None:
        """This process ends."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()

    def forget(self) -> None:
        """In a fork: what the parent has started is none of ours."""
        process, self._process, self._lock = self._process, None, threading.Lock()
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.returncode = 0  # it isn't ours to wait for


_watcher = _Watcher()


def unwatch() -> None:
    """Nothing is left to watch over, and this process is to have no children but those of its own choice: it waits for
    all that it has, or becomes another program."""
    _watcher.close()


@contextmanager
def temporary_folder(prefix: str, below: Path | None = None) -> Iterator[Path]:
    """A new folder, by default where temporary files are, until the end of the block. Raises OSError."""
    folder = made_folder(prefix, below)
    try:
        yield Path(folder)
    finally:
        remove_folder(folder)


def made_folder(prefix: str, below: Path | None = None) -> str:
    """The same; `remove_folder` removes it, or the end of this process. Raises OSError."""
    _watcher.begin()
    folder = os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=below))
    _watcher.tell(f"+{folder}")
    return folder


def remove_folder(folder: str) -> None:
    """With all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)
    _watcher.tell(f"-{folder}")
