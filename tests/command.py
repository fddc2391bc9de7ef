"""`ringhil` as a user calls it: a process of its own, with its streams, folder, environment and exit code."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

RINGHIL = [sys.executable, "-m", "ringhil.emulator"]
ANEW = "RINGHIL_TESTS_START_ANEW"  # in the environment: no process is forked
_LIMIT = 300.0  # seconds
# Python reads these when it starts.
_OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG")


def ringhil(
    *arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None, timeout: float = _LIMIT
) -> "subprocess.CompletedProcess[str]":
    """A command that has ended, in the folder `cwd`, with the environment `env` and nothing on standard input.

    Raises TimeoutExpired after `timeout` seconds.
    """
    environment = dict(os.environ if env is None else env)
    words = [*map(str, arguments)]
    if ANEW in os.environ or _start(environment) != _start(dict(os.environ)):
        return subprocess.run(
            [*RINGHIL, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=cwd,
            env=environment,
        )
    request = {"arguments": words, "folder": str(Path(cwd or ".").resolve()), "environment": environment}
    return _forked(request, timeout)


def refusal(*arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """The one line of a command that ends with exit code 2, and prints nothing."""
    done = ringhil(*arguments, cwd=cwd, env=env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


def _start(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_OF_THE_INTERPRETER)}


def _forked(request: dict[str, object], timeout: float) -> "subprocess.CompletedProcess[str]":
    server, _ = _server()
    with Path(os.devnull).open() as nothing, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        streams = [nothing.fileno(), output.fileno(), errors.fileno()]
        socket.send_fds(server, [json.dumps(request).encode()], streams)
        process = int(server.recv(100))
        server.settimeout(timeout)
        try:
            status = int(server.recv(100))
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            server.settimeout(None)
            server.recv(100)
            raise subprocess.TimeoutExpired([*RINGHIL, *map(str, request["arguments"])], timeout) from None
        for stream in (output, errors):
            stream.seek(0)
        said = [stream.read().decode() for stream in (output, errors)]
    words = request["arguments"]
    assert isinstance(words, list)
    return subprocess.CompletedProcess([*RINGHIL, *words], os.waitstatus_to_exitcode(status), *said)


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
