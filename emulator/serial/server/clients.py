"""Clients of a served session: what a recording keeps of them, and how a replay repeats what they did.

A row has the number of a client, from 1 in the order in which they came, and a cycle:

| key | |
|---|---|
| `opened` | a client comes, to this card; `room`: how many bytes may wait for it |
| `in` | bytes of a client's take effect, hexadecimal |
| `out` | bytes leave for a client |
| `closed` | a client goes; `left`: bytes that waited for it |
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.judge.run import Run
from ringhil.emulator.serial.line.wire import CardEnd
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ROOM, ManagementPort
from ringhil.protocol.line.codec import MessageError, decode
from ringhil.protocol.line.framing import Damaged, Unwrapper

Note = Callable[[dict[str, Any]], None]  # writes a row down
Cycle = Annotated[int, Field(ge=0, lt=1 << 63)]
Hex = Annotated[str, Field(pattern="^([0-9a-f]{2})+$")]
_Client = Annotated[int, Field(ge=1, lt=1 << 31)]
_SHOWN = 48  # bytes in a message


class ClientError(RinghilError, ValueError):
    """Is raised for a row that can't follow those before it; one line says why."""


class SessionRow(BaseModel):
    """A row of what came from outside; each has a `cycle`."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Opened(SessionRow):
    """A client has come."""

    cycle: Cycle
    client: _Client
    opened: str
    room: Annotated[int, Field(ge=1, le=ROOM)] = ROOM


class In(SessionRow):
    """A client has sent bytes."""

    cycle: Cycle
    client: _Client
    bytes: Hex = Field(alias="in")


class Out(SessionRow):
    """A client was given bytes."""

    cycle: Cycle
    client: _Client
    bytes: Hex = Field(alias="out")


class Closed(SessionRow):
    """A client has gone."""

    cycle: Cycle
    client: _Client
    closed: Literal[True]
    left: Annotated[int, Field(ge=0)] | None = None
    frees: Literal[True] | None = None  # its contexts; before there was this, none were


ClientRow = Opened | In | Out | Closed


class NotedPort:
    """Is a port of a card, and has `note` write down all that passes. `now` returns the cycle."""

    def __init__(self, port: CardEnd, note: Note, client: int, card: str, now: Callable[[], int], room: int) -> None:
        self._port, self._note, self._client, self._now = port, note, client, now
        self._write(opened=card, room=room)

    @property
    def full(self) -> bool:
        """Is as the port has it."""
        return self._port.full

    @property
    def waiting(self) -> int:
        """Is as the port has it."""
        return self._port.waiting

    def receive(self, data: bytes) -> None:
        """Takes bytes that have come now."""
        self._write(**{"in": data.hex()})
        self._port.receive(data)

    def take(self, most: int) -> bytes:
        """Removes and returns up to `most` bytes to be sent."""
        data = self._port.take(most)
        if data:
            self._write(out=data.hex())
        return data

    def close(self) -> None:
        """Ends the port of a client that has gone."""
        self._write(closed=True, left=self._port.waiting, frees=True)
        self._port.close()

    def _write(self, **what: object) -> None:
        self._note({"cycle": self._now(), "client": self._client, **what})


class ClientsAgain:
    """Repeats what clients did to `run`, which has not started yet, in the cycle that it has reached. `clock` is what
    their ports say of it, in Hz. `note`, if it is set, writes down what comes of it this time."""

    def __init__(self, run: Run, clock: int) -> None:
        self._clock = clock
        wiring = run.server.wiring
        self._cards = {card.name: ManagedCard(run.server, n) for n, card in enumerate(wiring.cards)}
        self._ports: dict[int, ManagementPort] = {}
        self.note: Note | None = None
        self.came = self.bytes_in = self.bytes_out = 0

    def do(self, row: ClientRow) -> str | None:
        """Does one row, and returns in words what is otherwise than recorded. Raises ClientError."""
        if isinstance(row, Opened):
            self._open(row)
            return None
        port = self._ports.get(row.client)
        if port is None:
            raise ClientError(f"client {row.client} is not there")
        match row:
            case In():
                self.bytes_in += len(row.bytes) // 2
                self._note(row, {"in": row.bytes})
                port.receive(bytes.fromhex(row.bytes))
            case Out():
                wanted = bytes.fromhex(row.bytes)
                found = port.take(len(wanted))
                self.bytes_out += len(found)
                if found:
                    self._note(row, {"out": found.hex()})
                if found != wanted:
                    return _differs(row, found, wanted)
            case Closed():
                del self._ports[row.client]
                left = port.waiting
                self._note(row, {"closed": True, "left": left, **({"frees": True} if row.frees else {})})
                port.close(frees=bool(row.frees))
                if row.left is not None and left != row.left:
                    shown = _shown(port.take(left))
                    return f"{_place(row)}: found {left} bytes that wait for it, recorded {row.left}: {shown}"
        return None

    def _note(self, row: ClientRow, what: dict[str, object]) -> None:
        if self.note is not None:
            self.note({"cycle": row.cycle, "client": row.client, **what})

    def _open(self, row: Opened) -> None:
        card = self._cards.get(row.opened)
        if card is None or row.client in self._ports:
            raise ClientError(f"client {row.client} cannot come to card {row.opened!r}")
        self._ports[row.client] = ManagementPort(card, clock=self._clock, room=row.room)
        self._note(row, {"opened": row.opened, "room": row.room})
        self.came += 1


def _place(row: ClientRow) -> str:
    return f"client {row.client}, cycle {row.cycle}"


def _differs(row: Out, found: bytes, wanted: bytes) -> str:
    at = next((n for n, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), len(found))
    return f"{_place(row)}, byte {at} of {len(wanted)}: found {_shown(found)}, recorded {_shown(wanted)}"


def _shown(data: bytes) -> str:
    """Returns the first message in it, or the bytes."""
    for message in Unwrapper().feed(data):
        if not isinstance(message, Damaged):
            try:
                return str(decode(message))
            except MessageError:
                break
    return data[:_SHOWN].hex() or "nothing"
