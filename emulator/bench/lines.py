"""Management ports: requests a second and how long each takes, beside a bare echo on a line of the same kind; and
whether speeds are kept.

The echo is another process that writes back what it reads; pyserial is at the other end of both.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import serial

from ringhil.emulator.children import Child, temporary_folder
from ringhil.emulator.serial.client import CardClient, opened_port

_SERVER = "server: {cards: {a: {gpus: 8}}}\n"
_ECHO = "import os, sys\nline = int(sys.argv[1])\nwhile data := os.read(line, 4096): os.write(line, data)\n"
_MESSAGE = bytes(9)  # as long as a request for the time
_TRANSPORTS = {"pty": "pty", "tcp": "tcp://127.0.0.1:0", "rfc2217": "rfc2217://127.0.0.1:0"}
_TURNS = 5
_CLOCK = 1_000_000  # Hz, where the ring is paced
_BAUDS = (115_200, 3_000_000)
_FILLER = b"\1"  # what a line is filled with: no message


@dataclass(frozen=True)
class LineRate:
    """Round trips one after the other; `p50` and `p99` in microseconds."""

    per_second: float
    p50: float
    p99: float

    @classmethod
    def of(cls, taken: list[float]) -> "LineRate":
        """Trips, each so many seconds."""
        sorted_ = sorted(taken)
        return cls(len(taken) / sum(taken), 1e6 * sorted_[len(taken) // 2], 1e6 * sorted_[len(taken) * 99 // 100])


def measure(*, seconds: float = 2.0, progress: Callable[[str], None]) -> dict[str, Any]:
    """Each transport for about so many seconds, and its echo in turn with it."""
    document: dict[str, Any] = {"transports": []}
    echoes = {"pty": _pty_echo, "tcp": _tcp_echo}
    with serving(*_TRANSPORTS.values()) as (process, ports):
        for name, url in zip(_TRANSPORTS, ports, strict=True):
            progress(f"requests over {name}")
            with CardClient.open(url, timeout=10) as card, echoes.get(name, nullcontext)() as echo:
                document["transports"].append({"name": name, **_beside(card, echo, process, seconds)})
    document["pacing"] = [_paced(baud, seconds, progress) for baud in _BAUDS]
    return document


def _beside(
    card: CardClient, echo: "serial.SerialBase | None", process: "subprocess.Popen[str]", seconds: float
) -> dict[str, Any]:
    """In turns, so that both meet the same machine; the card's process stands while the echo has its turn."""
    asked, echoed = list[float](), list[float]()
    for _ in range(_TURNS):
        asked += _trips(card.now, seconds / _TURNS)
        if echo is not None:
            process.send_signal(signal.SIGSTOP)
            echoed += _trips(partial(_round_trip, echo), seconds / _TURNS)
            process.send_signal(signal.SIGCONT)
    rate = LineRate.of(asked)
    if echo is None:
        return asdict(rate)
    beside = LineRate.of(echoed)
    return {**asdict(rate), "echo": asdict(beside), "ratio": rate.per_second / beside.per_second}


@contextmanager
def served(*where: str, options: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """The ports of a card that another process serves."""
    with serving(*where, options=options) as (_, ports):
        yield ports


@contextmanager
def serving(*where: str, options: tuple[str, ...] = ()) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """That process, and the ports."""
    with temporary_folder("ringhil-bench-") as scratch:
        server = scratch / "server.yaml"
        server.write_text(_SERVER)
        command = [sys.executable, "-m", "ringhil.emulator", "serve", str(server), "--json", *options]
        command += [word for each in where for word in ("--listen", each)]
        with Child(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield process, json.loads(process.stdout.readline())["ports"]["a"]
            finally:
                process.send_signal(signal.SIGCONT)  # one that stands ends never
                process.terminate()


def _trips(trip: Callable[[], object], seconds: float) -> list[float]:
    """How long each took, in seconds, one after the other."""
    trip()
    taken = list[float]()
    began = now = time.perf_counter()
    while now - began < seconds:
        trip()
        before, now = now, time.perf_counter()
        taken.append(now - before)
    return taken


def _round_trip(port: "serial.SerialBase") -> None:
    port.write(_MESSAGE)
    if len(port.read(len(_MESSAGE))) != len(_MESSAGE):
        raise RuntimeError("the echo is gone")


@contextmanager
def _echoing(line: int) -> Iterator[None]:
    with Child([sys.executable, "-c", _ECHO, str(line)], pass_fds=[line]) as process:
        try:
            yield
        finally:
            process.kill()


@contextmanager
def _pty_echo() -> Iterator["serial.SerialBase"]:
    with ExitStack() as stack:
        ours, theirs = os.openpty()
        for descriptor in (ours, theirs):
            stack.callback(os.close, descriptor)
        tty.setraw(theirs)
        stack.enter_context(_echoing(ours))
        yield stack.enter_context(serial.Serial(os.ttyname(theirs), timeout=10))


@contextmanager
def _tcp_echo() -> Iterator["serial.SerialBase"]:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = stack.enter_context(serial.serial_for_url("socket://{}:{}".format(*listener.getsockname()), timeout=10))
        peer = stack.enter_context(listener.accept()[0])
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stack.enter_context(_echoing(peer.fileno()))
        yield port


def _paced(baud: int, seconds: float, progress: Callable[[str], None]) -> dict[str, Any]:
    """How fast bytes and cycles pass while the line is full: told, and found."""
    progress(f"pacing at {baud:,} baud")
    options = ("--clock", str(_CLOCK), "--baud", str(baud))
    filler = _FILLER * round(seconds * baud / 10)
    with served("tcp://127.0.0.1:0", options=options) as (url,), opened_port(url, timeout=10 + 2 * seconds) as port:
        card = CardClient(port, timeout=10 + 2 * seconds)
        before, began = card.now(), time.perf_counter()
        port.write(filler)
        after, ended = card.now(), time.perf_counter()
    spent = ended - began
    return {
        "baud": baud,
        "found_baud": 10 * len(filler) / spent,
        "clock": _CLOCK,
        "found_clock": (after - before) / spent,
    }
