"""Where clients are: at the other end of the standard streams, or of a socket of this machine."""

import ipaddress
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

from ringhil.emulator.dap.adapter import Adapter
from ringhil.emulator.dap.door import Make, serve
from ringhil.emulator.dap.launching import Offer
from ringhil.emulator.dap.wire import WireError
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import reason_of
from ringhil.emulator.forks import fork

_MOST_SESSIONS = 8  # at a time
_WHERE = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]]+):(?P<port>[0-9]{1,5})")
_HIGHEST = 65535


class DapError(RinghilError):
    """An address that can't be listened at."""


def _adapter(offer: Offer) -> Make:
    return lambda say, breaks, folder: Adapter(offer, say, breaks, folder)


def on_streams(offer: Offer) -> None:
    """One session; whatever else is printed goes to standard error. Raises WireError."""
    sys.stdout.flush()
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    serve(reading, writing, _adapter(offer))


def on_socket(where: str, offer: Offer, say: Callable[[str], None]) -> None:
    """A session for each client that connects, until this is interrupted. Raises DapError."""
    if offer.file is None:
        raise DapError("--dap: found no RECORDING|SERVER.yaml; over a socket clients launch what is named here")
    with _listening(where) as listening:
        host, port = listening.getsockname()[:2]
        say(f"listening at {f'[{host}]' if ':' in host else host}:{port}")
        sessions = set[int]()
        while True:
            client, _ = listening.accept()
            with client:
                sessions -= {pid for pid in sessions if os.waitpid(pid, os.WNOHANG)[0]}
                if len(sessions) >= _MOST_SESSIONS:
                    continue
                if pid := fork():
                    sessions.add(pid)
                else:
                    listening.close()
                    _one(client, offer)


def _one(client: socket.socket, offer: Offer) -> None:
    code = 1
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        serve(client.fileno(), client.fileno(), _adapter(offer))
        code = 0
    except WireError as error:
        print(f"ringhil: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _listening(where: str) -> socket.socket:
    match = _WHERE.fullmatch(where)
    if match is None or int(match["port"]) > _HIGHEST:
        raise DapError(f"--dap: found {where[:50]!r}; allowed is HOST:PORT, such as 127.0.0.1:4711")
    host = match["host"].strip("[]")
    loopback = host == "localhost"
    with suppress(ValueError):
        loopback = loopback or ipaddress.ip_address(host).is_loopback
    if not loopback:
        raise DapError(
            f"--dap: found {host[:50]!r}; allowed is an address of this machine alone, such as 127.0.0.1: "
            "the protocol has no password"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, int(match["port"])), family=family, backlog=_MOST_SESSIONS)
    except OSError as error:
        raise DapError(f"--dap {where}: cannot be listened at: {reason_of(error)}") from None
