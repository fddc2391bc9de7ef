"""`ringhil` as a user calls it: a process of its own, with its streams, folder, environment and exit code."""

import json
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

RINGHIL = [sys.executable, "-m", "ringhil.emulator"]
ANEW = "RINGHIL_TESTS_START_ANEW"  # in the environment: no process is forked
_LIMIT = 300.0  # seconds
# Python reads these when it starts.
_OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG")
_CAPTURED = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
_PLAIN = (None, True, None, None, None, -1, -1)  # preexec_fn, restore_signals, GID, GIDs, UID, umask, process group


def ringhil(
    *arguments: object,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    timeout: float = _LIMIT,
    said: str | None = None,
    **streams: Any,
) -> "subprocess.CompletedProcess[str]":
    """A command that has ended, in the folder `cwd`, with the environment `env` and `said` on standard input.

    Its output is in the answer, where `streams` names no other place for it, as subprocess.Popen takes them. Raises
    TimeoutExpired after `timeout` seconds.
    """
    taken = {"stdin": subprocess.DEVNULL if said is None else subprocess.PIPE, **_CAPTURED, **streams}
    with started(*arguments, cwd=cwd, env=env, **taken) as process:
        try:
            output, errors = process.communicate(said, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def started(*arguments: object, text: bool = True, **options: Any) -> "subprocess.Popen[str]":
    """A command that runs; `options` are those of subprocess.Popen."""
    return _Forked([*RINGHIL, *map(str, arguments)], text=text, **options)


def refusal(*arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """The one line of a command that ends with exit code 2, and prints nothing."""
    done = ringhil(*arguments, cwd=cwd, env=env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


def _start(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_OF_THE_INTERPRETER)}


class _Forked(subprocess.Popen[str]):
    """Popen whose process another one forks, unless its user, session or the like can't be had by that."""

    _answers: socket.socket | None = None

    def _execute_child(self, args: list[str], *rest: Any) -> None:
        pass_fds, cwd, env = rest[3:6]
        ends, session = rest[9:15], rest[20]
        environment = dict(os.environ if env is None else env)
        asked = (rest[1], *rest[15:20], rest[21])
        if ANEW in os.environ or asked != _PLAIN or _start(environment) != _start(dict(os.environ)):
            super()._execute_child(args, *rest)
            return
        request = {
            "arguments": args[len(RINGHIL) :],
            "folder": str(Path(cwd or ".").resolve()),
            "environment": environment,
            "session": session,
            "numbers": [0, 1, 2, *pass_fds],
        }
        streams = [own if end == -1 else end for own, end in zip((0, 1, 2), (ends[0], ends[3], ends[5]), strict=True)]
        self._answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                given = [*streams, *pass_fds, theirs.fileno()]
                socket.send_fds(_server()[0], [json.dumps(request).encode()], given)
            self.pid = int(self._answers.recv(100))
            self._child_created = True
        finally:
            self._close_pipe_fds(*ends)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._answers is None:
            return super()._try_wait(wait_flags)
        self._answers.setblocking(not wait_flags & os.WNOHANG)
        try:
            return self.pid, int(self._answers.recv(100))
        except BlockingIOError:
            return 0, 0

    def _internal_poll(self, *args: Any, **more: Any) -> int | None:
        if self._answers is None:
            return super()._internal_poll(*args, **more)
        if self.returncode is None:
            process, status = self._try_wait(os.WNOHANG)
            if process:
                self._handle_exitstatus(status)
        return self.returncode


def forking() -> list[int]:
    """The process that forks, if there is one."""
    return [_server()[1].pid] if _server.cache_info().currsize else []


@cache
def _server() -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """The process that forks, one for each process of tests, and the socket to it, with which it ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=Path(__file__).resolve().parents[1],
        )
    return ours, process
