"""A process that has imported ringhil, and forks for each command: it starts in some ms where a new one takes most of a
second, hundreds of times in `make test`.

    python -m tests.forked FD

A request on the socket FD is JSON with the command's arguments, folder and environment, and its three streams as file
descriptors; the answers are its process id and, when it has ended, its wait status. In the forked process `main()` is
the last statement of this module, as in `python -m ringhil.emulator`: streams, signals, messages and exit codes are
those of a process that was started anew. What a fork can't show is a module that is imported too late or too early:
`make soak` starts new processes (`ANEW` in tests/command.py).
"""

import gc
import importlib
import json
import os
import socket
import sys

from ringhil.emulator.front.cli.main import COMMANDS, main

LONGEST = 1 << 20  # bytes of a request


def command(server: socket.socket) -> None:
    """Serve requests. Returns in the forked process of each, ready for `main()`; ends the server with its socket."""
    while True:
        request, streams, _, _ = socket.recv_fds(server, LONGEST, 3)
        if not request:
            sys.exit()
        process = os.fork()
        if not process:
            break
        for stream in streams:
            os.close(stream)
        server.send(str(process).encode())
        server.send(str(os.waitpid(process, 0)[1]).encode())
    wanted = json.loads(request)
    server.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    sys.argv[1:] = wanted["arguments"]


if __name__ == "__main__":
    for name in COMMANDS:
        importlib.import_module(f"ringhil.emulator.front.cli.{name}")
    gc.freeze()  # no fork looks at what all share
    command(socket.socket(fileno=int(sys.argv[1])))
    main()
