"""A process that has imported ringhil, and forks for each command: it starts in some ms where a new one takes most of a
second, hundreds of times in `make test`.

    python -m tests.forked FD

A request on the socket FD is JSON with the command's arguments, folder and environment, whether it leads a session, and
the numbers of the file descriptors that come with it: its streams and what else it may use. The last one that comes is
a socket for the answers: its process id and, when it has ended, its wait status. In the forked process `main()` is the
last statement of this module, as in `python -m ringhil.emulator`: streams, signals, messages and exit codes are those
of a process that was started anew. What a fork can't show is a module that is imported too late or too early: `make
soak` starts new processes (`ANEW` in tests/command.py).

Every document of `--json` is checked by its published schema here: where it has a key of its own, the command ends with
exit code 2, and says so.
"""

import fcntl
import gc
import importlib
import json
import os
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs

from ringhil.emulator.front import printed
from ringhil.emulator.front.cli.main import COMMANDS, main

_named = printed.named
LONGEST = 1 << 20  # bytes of a request
MOST = 16  # descriptors
_ABOVE = 200  # of the numbers that are asked for


def command(server: socket.socket) -> None:
    """Serve requests. Returns in the forked process of each, ready for `main()`; ends the server with its socket."""
    running = dict[int, tuple[int, int]]()  # by its descriptor: a process, and the socket for its answers
    while True:
        ready, _, _ = select.select([server, *running], [], [])
        for ended in (each for each in ready if each is not server):
            process, answers = running.pop(ended)
            _tell(answers, os.waitpid(process, 0)[1])
            os.close(answers)
            os.close(ended)
        if server not in ready:
            continue
        request, given, _, _ = socket.recv_fds(server, LONGEST, MOST)
        if not request:
            sys.exit()
        *streams, answers = given
        process = os.fork()
        if not process:
            break
        for stream in streams:
            os.close(stream)
        _tell(answers, process)
        running[os.pidfd_open(process)] = process, answers
    server.close()
    for each in (answers, *running, *(others for _, others in running.values())):
        os.close(each)
    wanted = json.loads(request)
    moved = [fcntl.fcntl(stream, fcntl.F_DUPFD, _ABOVE) for stream in streams]
    for stream in streams:
        os.close(stream)
    for stream, number in zip(moved, wanted["numbers"], strict=True):
        os.dup2(stream, number)
        os.close(stream)
    if wanted["session"]:
        os.setsid()
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv[1:] = wanted["arguments"]


def published(name: str, document: Any) -> Any:
    """What `--json` prints, checked by the schema that is published for it. Raises jsonschema_rs.ValidationError."""
    said = _named(name, document)
    schema = (Path(__file__).parents[1] / "docs" / "reference" / "schemas" / f"{name}.json").read_text()
    jsonschema_rs.Draft202012Validator(json.loads(schema)).validate(json.loads(json.dumps(said)))
    return said


def _tell(answers: int, number: int) -> None:
    with suppress(BrokenPipeError):  # who has asked may be gone
        os.write(answers, str(number).encode())


if __name__ == "__main__":
    printed.named = published
    for name in COMMANDS:
        importlib.import_module(f"ringhil.emulator.front.cli.{name}")
    gc.freeze()  # no fork looks at what all share
    command(socket.socket(fileno=int(sys.argv[1])))
    main()
