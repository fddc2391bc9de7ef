"""Serves a server at work to clients of its cards' management ports.

Bytes take effect in the cycle that the server has reached when they come. The ring never waits for a client: a slow
client misses events, and a client that has gone is forgotten.
"""

import ctypes
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from ringhil.emulator.judge.run import Run
from ringhil.emulator.serial.line.bit_true_wire import BitTrueWire
from ringhil.emulator.serial.line.pacing import Pacing
from ringhil.emulator.serial.line.wire import CardEnd, Wire, byte_time
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ManagementPort, room_at
from ringhil.emulator.serial.server.clients import Note, NotedPort
from ringhil.emulator.serial.server.lines import ClientLine, TcpListener

MOST_CLIENTS = 64  # at a time
_SLICE, _PACED_SLICE = 512, 2048  # cycles between two looks at the lines, at most
_LONG = 0.02  # seconds that may lie between them where hardware outside takes its time
_LOOK = 0.002  # seconds between two looks of a paced ring that keeps up
_BITE = 512  # bytes of one client at a time: whoever has sent more doesn't keep the others waiting
_HEARD, _MOST_HEARD = 0.0003, 0.005  # seconds of listening after a request, before time passes again


@dataclass
class _Client:
    line: ClientLine
    wire: Wire | BitTrueWire
    unsent: bytes = b""
    heard: bool = True


class Serving:
    """`clock`: cycles of the ring in a second; None: as fast as they can be simulated. `baud`: speed of the lines,
    which needs a clock; None: bytes take no time. `uart`: they pass through UARTs, bit by bit (`link_library`). `run`
    has not started yet. `note` writes down what clients do. `lost` is told the name of a line that is gone for good.
    Lines and listeners are closed with it."""

    def __init__(
        self,
        run: Run,
        *,
        clock: int | None = None,
        baud: int | None = None,
        uart: ctypes.CDLL | None = None,
        note: Note | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        lost: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._run, self._clock, self._monotonic = run, clock, monotonic
        self._pacing = None if clock is None else Pacing(clock, monotonic)
        self._baud, self._uart = baud, uart
        self._note, self._lost = note, lost
        self._numbers = count(1)
        self._cards = [ManagedCard(run.server, number) for number in range(len(run.server.wiring.cards))]
        self._clients: dict[int, _Client] = {}
        self._listeners: dict[int, tuple[TcpListener, ManagedCard]] = {}
        self._readers: dict[int, Callable[[], None]] = {}
        self._selector = selectors.DefaultSelector()
        self._behind = False
        self._slice = self._most = _SLICE if clock is None else _PACED_SLICE
        self._slow = bool(run.engine.outside())

    def listen(self, card: int, listener: TcpListener) -> None:
        """Lets clients of a card connect by TCP."""
        self._listeners[listener.fileno()] = (listener, self._cards[card])
        self._selector.register(listener.fileno(), selectors.EVENT_READ)

    def add_reader(self, descriptor: int, read: Callable[[], None]) -> None:
        """Call `read`, which does not wait, between two cycles whenever a descriptor can be read."""
        self._readers[descriptor] = read
        self._selector.register(descriptor, selectors.EVENT_READ)

    def add(self, card: int, line: ClientLine) -> None:
        """Adds a client of a card, at the other end of a line."""
        managed = self._cards[card]
        room = room_at(self._baud or line.speed)
        port: CardEnd = ManagementPort(managed, clock=self._clock or 0, room=room)
        number = next(self._numbers)
        if self._note is not None:
            port = NotedPort(port, self._note, number, managed.card.name, lambda: managed.now, room)
        seed = f"{self._run.scenario.seed} {managed.card.name} {number}"
        self._clients[line.fileno()] = _Client(line, self._wire(port, managed, line, seed))
        self._selector.register(line.fileno(), selectors.EVENT_READ)

    def _wire(self, port: CardEnd, card: ManagedCard, line: ClientLine, seed: str) -> Wire | BitTrueWire:
        def now() -> int:
            return card.now

        clock, baud, faults = self._clock or 0, self._baud, card.line_faults
        if self._uart is None or baud is None:
            return Wire(port, faults, now, byte=byte_time(clock, baud), seed=seed)
        return BitTrueWire(port, faults, now, self._uart, clock=clock, baud=baud, set_baud=lambda: line.baud, seed=seed)

    def serve(self, until: Callable[[], bool]) -> None:
        """Serves until `until` says so."""
        if self._pacing is not None:
            self._pacing.begin(self._run.kernel.now)
        while not until():
            self._pass_time()
            if self._pacing is None:
                self._attend(0, _MOST_HEARD)
            else:
                self._attend(0 if self._behind else _LOOK, _LOOK)

    @property
    def behind(self) -> float:
        """Seconds that the ring is behind its clock since the beginning; 0 without a clock."""
        return 0.0 if self._pacing is None else self._pacing.behind

    @property
    def deserted(self) -> bool:
        """Says that nobody is there, and that nobody can come."""
        return not self._clients and not self._listeners and not self._readers

    def close(self) -> None:
        """Closes all lines and listeners; a second call does nothing."""
        for client in list(self._clients.values()):
            self._gone(client)
        for listener, _ in self._listeners.values():
            listener.close()
        self._listeners.clear()
        self._selector.close()

    # ----------------------------------------------------------------------------------------------------------

    def _pass_time(self) -> None:
        now, began = self._run.kernel.now, self._monotonic() if self._slow else 0.0
        due = now + self._slice
        if self._pacing is not None:
            due = self._pacing.due(now, self._slice)
            self._behind = due > now + self._slice  # the lines are looked at all the same
        self._run.run_to(min(due, now + self._slice))
        if self._slow:
            took = self._monotonic() - began
            self._slice = max(1, self._slice // 2) if took > _LONG else min(2 * self._slice, self._most)

    def _attend(self, wait: float, most: float) -> None:
        """Waits for the lines for `wait` seconds. After a request it listens for a moment more, since the client may
        ask again; `most` seconds in all."""
        end = time.monotonic() + most
        while self._look(wait) and (left := end - time.monotonic()) > 0:
            wait = min(_HEARD, left)

    def _look(self, wait: float) -> bool:
        """Reads what has come, and sends what waits; returns whether anything had come."""
        ready = self._selector.select(wait)
        for key, _ in ready:
            if key.fd in self._listeners:
                self._accept(*self._listeners[key.fd])
                continue
            if key.fd in self._readers:
                self._readers[key.fd]()
                continue
            client = self._clients[key.fd]
            data = client.line.read(max(1, min(client.wire.room, _BITE)))
            if data is None:
                self._left(client)
            elif data:
                client.wire.receive(data)
        for client in list(self._clients.values()):
            self._send(client)
        return bool(ready)

    def _send(self, client: _Client) -> None:
        if client.unsent:
            client.wire.advance()
        data = client.unsent or client.wire.take()
        if data:
            written = client.line.write(data)
            if written is None and not client.heard:  # otherwise what it has sent is read first, and then that it left
                self._left(client)
                return
            client.unsent = data[written or 0 :]
        if client.heard == client.wire.full:  # who doesn't read isn't read from
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

    def _left(self, client: _Client) -> None:
        """Forgets a client that has gone by itself."""
        self._gone(client)
        if client.line.lasting:
            self._lost(client.line.name)

    def _gone(self, client: _Client) -> None:
        if client.heard:
            self._selector.unregister(client.line.fileno())
        del self._clients[client.line.fileno()]
        client.wire.close()
        client.line.close()
