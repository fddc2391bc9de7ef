"""A server at work, and clients at its cards' management ports: time passes, bytes come and go.

What comes takes effect in the cycle that the server has reached. The ring never waits for a client: a slow one misses
events, and one that has gone is forgotten.
"""

import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.judge.run import Run
from ringhil.emulator.serial.lines import ClientLine, Connection, ListenError, Pty, TcpListener
from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.serial.port import ManagementPort

MOST_CLIENTS = 64  # at a time
_SLICE = 2048  # cycles between two looks at the lines, as fast as possible
_LOOK = 0.002  # seconds between two looks, paced


@dataclass
class _Client:
    line: ClientLine
    port: ManagementPort
    unsent: bytes = b""
    heard: bool = True


class Serving:
    """`clock`: cycles of the ring in a second; None: as fast as they can be simulated. Lines and listeners are closed
    with it."""

    def __init__(self, run: Run, *, clock: int | None = None, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._run, self._clock, self._monotonic = run, clock, monotonic
        self._cards = [ManagedCard(run.server, number) for number in range(len(run.server.wiring.cards))]
        self._clients: dict[int, _Client] = {}
        self._listeners: dict[int, tuple[TcpListener, ManagedCard]] = {}
        self._selector = selectors.DefaultSelector()
        self._began, self._from = 0.0, 0

    def listen(self, card: int, listener: TcpListener) -> None:
        """Have clients of a card come by TCP."""
        self._listeners[listener.fileno()] = (listener, self._cards[card])
        self._selector.register(listener.fileno(), selectors.EVENT_READ)

    def add(self, card: int, line: ClientLine) -> None:
        """Have a client of a card at the other end of a line."""
        port = ManagementPort(self._cards[card], clock=self._clock or 0)
        self._clients[line.fileno()] = _Client(line, port)
        self._selector.register(line.fileno(), selectors.EVENT_READ)

    def serve(self, until: Callable[[], bool]) -> None:
        """Go on until somebody says so."""
        self._began, self._from = self._monotonic(), self._run.kernel.now
        while not until():
            self._pass_time()
            self._look(_LOOK if self._clock else 0)

    def close(self) -> None:
        """Close all lines and listeners."""
        for client in list(self._clients.values()):
            self._gone(client)
        for listener, _ in self._listeners.values():
            listener.close()
        self._listeners.clear()
        self._selector.close()

    # ----------------------------------------------------------------------------------------------------------

    def _pass_time(self) -> None:
        now = self._run.kernel.now
        if self._clock is None:
            self._run.run_to(now + _SLICE)
            return
        seconds = self._monotonic()
        due = self._from + int((seconds - self._began) * self._clock)
        if due > now + self._clock:  # it can't keep up: the ring's clock is late, and doesn't try to catch up
            due = now + _SLICE
            self._began, self._from = seconds, due
        self._run.run_to(due)

    def _look(self, wait: float) -> None:
        for key, _ in self._selector.select(wait):
            if key.fd in self._listeners:
                self._accept(*self._listeners[key.fd])
                continue
            client = self._clients[key.fd]
            data = client.line.read()
            if data is None:
                self._gone(client)
            elif data:
                client.port.receive(data)
        for client in self._clients.values():
            self._send(client)

    def _send(self, client: _Client) -> None:
        data = client.unsent or client.port.take()
        if data:
            client.unsent = data[client.line.write(data) :]
        if client.heard == client.port.full:  # who doesn't read isn't read from
            client.heard = not client.heard
            change = self._selector.register if client.heard else self._selector.unregister
            change(client.line.fileno(), *([selectors.EVENT_READ] if client.heard else []))

    def _accept(self, listener: TcpListener, card: ManagedCard) -> None:
        line = listener.accept()
        if line is None:
            return
        if len(self._clients) >= MOST_CLIENTS:
            line.close()
            return
        self.add(card.number, line)

    def _gone(self, client: _Client) -> None:
        if client.heard:
            self._selector.unregister(client.line.fileno())
        del self._clients[client.line.fileno()]
        client.port.close()
        client.line.close()


def opened(where: str) -> TcpListener | Pty:
    """`pty`, or `tcp://HOST:PORT`. Raises ListenError."""
    if where == "pty":
        return Pty()
    scheme, _, rest = where.partition("://")
    host, _, port = rest.rpartition(":")
    if scheme != "tcp" or not host or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ListenError(f"--listen: found {where!r}; allowed are pty and tcp://HOST:PORT")
    return TcpListener(host.strip("[]"), int(port))


__all__ = ["Connection", "Serving", "opened"]
