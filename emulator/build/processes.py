"""Runs compilers: a few at a time, bounded output, nothing left running.

Each command gets a process group of its own, so that Ctrl-C at the terminal reaches Python only, and
Python then kills the whole group (a compiler driver with its passes); see `children.py`. No shell is ever involved.
"""

import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.children import Child

OUTPUT_LIMIT = 1 << 20
"""Bytes kept of one command's output; the rest is read and dropped."""


@dataclass(frozen=True)
class Finished:
    """How a command ended; `output` is stdout and stderr as they came."""

    argv: tuple[str, ...]
    returncode: int
    output: str


@dataclass
class _Running:
    argv: tuple[str, ...]
    process: Child
    chunks: list[bytes] = field(default_factory=list)
    size: int = 0

    def keep(self, data: bytes) -> None:
        self.chunks.append(data[: max(0, OUTPUT_LIMIT - self.size)])
        self.size += len(data)

    def finish(self) -> Finished:
        output = b"".join(self.chunks).decode(errors="replace")
        if self.size > OUTPUT_LIMIT:
            output += f"\n... {self.size - OUTPUT_LIMIT} bytes more\n"
        return Finished(self.argv, self.process.wait(), output)

    def kill(self) -> None:
        self.process.end()


def run(
    commands: Sequence[Sequence[str]], *, env: Mapping[str, str], cwd: Path | None = None, jobs: int = 2
) -> list[Finished]:
    """Run `commands`, at most `jobs` at once; the answers are in the order of ending.

    The first failure kills the rest, and is the last in the list. An exception (an interrupt above all) kills
    everything before it goes on. Raises BuildError for a command that can't be started.
    """
    waiting = [tuple(c) for c in commands]
    running: dict[int, _Running] = {}
    finished: list[Finished] = []
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    started = _start(waiting.pop(0), env, cwd)
                    assert started.process.stdout is not None
                    fd = started.process.stdout.fileno()
                    running[fd] = started
                    selector.register(fd, selectors.EVENT_READ)
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 16)
                    if data:
                        running[key.fd].keep(data)
                        continue
                    selector.unregister(key.fd)
                    # Waited for while still in the table, so that an interrupt meanwhile kills it.
                    ended = running[key.fd].finish()
                    _close(running.pop(key.fd))
                    finished.append(ended)
                    if ended.returncode != 0:
                        return finished
        finally:
            for left in running.values():
                left.kill()
                _close(left)
    return finished


def _start(argv: tuple[str, ...], env: Mapping[str, str], cwd: Path | None) -> _Running:
    try:
        process = Child(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        raise BuildError(f"can't run {argv[0]}: {error.strerror}") from error
    return _Running(argv, process)


def _close(running: _Running) -> None:
    if running.process.stdout is not None:
        running.process.stdout.close()


class _TerminatedError(BaseException):
    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def unwinding_on_termination() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack, then end the process just as they would have.

    By default they end Python at once, with no `finally` run and compilers left behind. Handlers of the
    application's own are left alone, and so is everything outside the main thread.
    """

    def unwind(signum: int, _frame: FrameType | None) -> None:
        raise _TerminatedError(signum)

    mine: list[signal.Signals] = []
    try:
        if threading.current_thread() is threading.main_thread():
            for candidate in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(candidate) is signal.SIG_DFL:
                    mine.append(candidate)
                    signal.signal(candidate, unwind)
        yield
    except _TerminatedError as terminated:
        signal.signal(terminated.signum, signal.SIG_DFL)
        os.kill(os.getpid(), terminated.signum)
        raise
    finally:
        for candidate in mine:
            signal.signal(candidate, signal.SIG_DFL)
