"""A client of any card's management port, real or emulated, over any URL that pyserial knows.

    with CardClient.open("emulated:///server.yaml#a") as card:
        print(card.info.name, card.census().count, card.read(3, "status"))

A request whose answer doesn't come is asked again under the same id: the card carries it out once. An error says what
the line did.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import serial

from ringhil.emulator.documents import one_line
from ringhil.emulator.serial.client.ports import TIMEOUT, CardError, arrived, clock_of, gone, line_gone, opened_port
from ringhil.emulator.serial.line import BAUD
from ringhil.emulator.serial.session.format import SessionError
from ringhil.emulator.serial.session.recording import RecordedLine
from ringhil.emulator.serial.words import RingCensus, address_of
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import MessageError, decode, encode
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import MAJOR, MINOR, Belongs, Capability, Injection, LineFault, Refusal
from ringhil.protocol.wire import Port

TRIES = 4
_COUNTING = 10.0  # seconds for a census
_MOST_EVENTS = 10_000  # kept for whoever asks later; the oldest go
_MEASURED = 0.5  # seconds in which a ring's speed is measured
_SHOWN = 24  # bytes of nonsense in a message
R = TypeVar("R", bound=m.Message)


class RefusedError(CardError):
    """Is raised when the card refuses; `why` is its reason."""

    def __init__(self, why: Refusal | None, text: str) -> None:
        super().__init__(text)
        self.why = why


class SilentError(CardError):
    """Is raised when no answer came, however often was asked. The text says what came instead."""


@dataclass(frozen=True)
class Info:
    """Holds what a card says of itself. `clock` is that of its ring in Hz, 0 if it isn't known; `now` is in cycles
    since power-up."""

    name: str
    version: str
    card: int
    gpus: int
    capabilities: tuple[str, ...]
    clock: int
    serial: int
    now: int


@dataclass(frozen=True)
class ClientContext:
    """A context of a GPU that a client has created. `client`: its number in the order in which they came, `name`: as
    it said hello. `held` and `limit`: pages."""

    gpu: int
    context: int
    belongs: str
    client: int
    name: str
    held: int
    limit: int


@dataclass
class Strays:
    """Counts what came unasked: answers, and bytes that are no message. `repeats` counts requests that were asked
    again, so that a second answer may come."""

    answers: int = 0
    nonsense: int = 0
    repeats: int = 0


class CardClient:
    """Asks a card, real or emulated, by its management port.

    A card at the other end of `line`, an open port of pyserial's. `timeout`: seconds for an answer, at each of
    `tries`. Says hello at once. Raises CardError.
    """

    def __init__(self, line: "serial.SerialBase", *, timeout: float = TIMEOUT, tries: int = TRIES) -> None:
        self._line, self._timeout, self._tries = line, timeout, tries
        self._time = clock_of(line)
        self._unwrapper = Unwrapper()
        self._id = 0
        self._events: deque[m.Message] = deque(maxlen=_MOST_EVENTS)
        self._nonsense = bytearray()
        self._heard = self._told = 0
        self._quiet = False
        self.strays = Strays()
        self.info = self._hello()

    @classmethod
    def open(
        cls, url: str, *, baud: int = BAUD, timeout: float = TIMEOUT, tries: int = TRIES, record: Path | None = None
    ) -> Self:
        """Open a port, a device or a URL, and say hello. `record`: a file for the session. Raises CardError."""
        line = opened_port(url, baud=baud, timeout=timeout)
        try:
            line = line if record is None else RecordedLine.at(line, record, url)
            return cls(line, timeout=timeout, tries=tries)
        except SessionError as error:
            line.close()
            raise CardError(str(error)) from error
        except BaseException:
            line.close()
            raise

    def close(self) -> None:
        """Close the port. Raises CardError when a recorded session isn't whole."""
        try:
            self._line.close()
        except SessionError as error:
            raise gone(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -------------------------------------------------------------------------------------------- requests

    def now(self) -> int:
        """Returns the card's present cycle."""
        return self._ask(m.TimeRequest(self._next()), m.TimeReply).now

    def kept(self, seconds: float = _MEASURED) -> float | None:
        """Returns how much of its clock the ring keeps, 1 for all of it, measured for so many seconds. None: its cycles
        keep to no clock. Raises CardError."""
        if Capability.PACED.name.lower() not in self.info.capabilities or not self.info.clock:
            return None
        began, first = self._time(), self.now()
        coming = [*self.events(seconds)]
        took, cycles = self._time() - began, self.now() - first
        self._events.extendleft(reversed(coming))  # they are for who asks later
        return cycles / took / self.info.clock if took > 0 else None

    def read(self, gpu: int, register: str | int) -> int:
        """Returns the value of a register of a GPU's node, by name or address. Raises CardError, and RefusedError."""
        return self.read_at(gpu, register).value

    def read_at(self, gpu: int, register: str | int) -> m.ReadReply:
        """Returns the same, with the cycle in which it was read."""
        return self._ask(m.ReadRequest(self._next(), gpu, _address(register)), m.ReadReply)

    def write(self, gpu: int, register: str | int, value: int) -> int:
        """Writes a register of a GPU's node. Returns the cycle in which it was done."""
        return self._ask(m.WriteRequest(self._next(), gpu, _address(register), value), m.WriteReply).now

    def census(self, *, timeout: float = _COUNTING) -> RingCensus:
        """Begins a census, and waits for its end. Raises RefusedError when it isn't accepted."""
        return _census(self._ask(m.CensusRequest(self._next()), m.CensusReply, timeout))

    def last_census(self) -> RingCensus:
        """Returns the last census that was accepted. Raises RefusedError when there is none yet."""
        return _census(self._ask(m.LastCensusRequest(self._next()), m.LastCensusReply))

    def send(self, gpu: int, port: Port, frame: bytes) -> int:
        """Makes a GPU send a whole frame by a port of its mailbox. Returns the cycle."""
        return self._ask(m.SendRequest(self._next(), gpu, port.code, frame), m.SendReply).now

    def fault(self, fault: LineFault, gpu: int, *, value: int = 0) -> int:
        """Injects a fault with this value of its parameter, 0 for the default. Returns the cycle. Raises RefusedError
        on a physical card."""
        return self._inject(Injection.SET, fault, gpu, value)

    def clear(self, fault: LineFault, gpu: int) -> int:
        """Ends a fault that was injected. Returns the cycle."""
        return self._inject(Injection.CLEAR, fault, gpu, 0)

    def subscribe(self, events: int) -> None:
        """Makes the card send events of these kinds from now on, and no others."""
        self._ask(m.SubscribeRequest(self._next(), events), m.SubscribeReply)

    def line(self) -> m.LineReply:
        """Returns what the line has carried, as the card sees it."""
        return self._ask(m.LineRequest(self._next()), m.LineReply)

    def contexts(self) -> list[ClientContext]:
        """Returns the contexts that clients of this card have created, by GPU and number. Raises RefusedError on a
        card that doesn't know."""
        found = list[ClientContext]()
        while True:
            each = self._ask(m.ClientContextRequest(self._next(), len(found)), m.ClientContextReply)
            if len(found) >= each.number:
                return found
            name = _printable(each.name)
            belongs = _belongs(each.belongs)
            found.append(ClientContext(each.gpu, each.context, belongs, each.client, name, each.held, each.limit))

    def free_context(self, gpu: int, context: int) -> int:
        """Destroys a context that a client has created, and waits until its GPU says so. Returns the cycle. Raises
        RefusedError when there is none, or its GPU doesn't answer."""
        asked = m.FreeContextRequest(self._next(), gpu, context)
        return self._ask(asked, m.FreeContextReply, _COUNTING).now

    def keep_contexts(self, keep: bool = True) -> None:
        """Makes the contexts of this client stay when it goes, or not."""
        self._ask(m.KeepContextsRequest(self._next(), int(keep)), m.KeepContextsReply)

    def exchange(self, request: bytes, *, timeout: float | None = None) -> m.Message:
        """Sends a request, given as it goes over the line, under a new id, and returns its answer. A refusal is an
        answer. Raises SilentError when no answer comes."""
        number = self._next()
        data = request[:1] + number.to_bytes(2, "big") + request[3:]
        asked = f"type 0x{request[0]:02X}"
        found: m.Message = self._exchanged(number, data, m.Message, asked, timeout)
        return found

    def events(self, seconds: float) -> Iterator[m.Message]:
        """Returns events as they come, for so many seconds."""
        end = self._time() + seconds
        while True:
            while self._events:
                yield self._events.popleft()
            left = end - self._time()
            if left <= 0:
                return
            self._hear(min(left, self._timeout), end)

    # ---------------------------------------------------------------------------------------- how it is done

    def _hello(self) -> Info:
        self._write(b"\0")  # whatever was begun by others is ended
        reply = self._ask(m.HelloRequest(self._next(), MAJOR, MINOR, b"ringhil"), m.HelloReply)
        self._events.clear()  # what came before it was for others
        self.strays = Strays(repeats=self.strays.repeats)
        version = f"{reply.major}.{reply.minor}"
        if reply.major != MAJOR:
            raise CardError(f"the card speaks version {version} of the protocol; this program speaks {MAJOR}.{MINOR}")
        capabilities = tuple(bit.name.lower() for bit in Capability if reply.capabilities & bit)
        name = _printable(reply.name)
        return Info(name, version, reply.card, reply.gpus, capabilities, reply.clock, reply.serial, reply.now)

    def _inject(self, injection: Injection, fault: LineFault, gpu: int, value: int) -> int:
        asked = m.InjectRequest(self._next(), injection.code, fault.code, gpu, value)
        return self._ask(asked, m.InjectReply).now

    def _next(self) -> int:
        self._id = self._id % 0xFFFF + 1
        return self._id

    def _ask(self, request: m.Message, reply: type[R], timeout: float | None = None) -> R:
        try:
            data = encode(request)
        except MessageError as error:
            raise CardError(str(error)) from None
        asked = type(request).__name__.removesuffix("Request").lower()
        found: R = self._exchanged(request.id, data, reply, asked, timeout)
        return found

    def _exchanged(self, number: int, data: bytes, reply: Any, asked: str, timeout: float | None) -> Any:
        """Sends a request, again and again, until a reply of that class has come. `asked` names the request in
        errors."""
        self._heard = self._told = 0
        patience = timeout or self._timeout
        self._nonsense.clear()
        for n in range(self._tries):
            self.strays.repeats += n > 0
            self._write(wrap(data))
            found = self._answer(number, reply, patience)
            if found is not None:
                return found
        raise SilentError(self._silence(asked, patience))

    def _answer(self, number: int, reply: Any, patience: float) -> Any:
        end = self._time() + patience
        while True:
            heard = self._hear(patience, end)
            ours = [each for each in heard if each.id == number and isinstance(each, reply | m.RefusedReply)]
            self.strays.answers += len(heard) - bool(ours)
            if ours and isinstance(ours[0], reply):
                return ours[0]
            if ours:
                raise _refused(ours[0])
            if self._quiet:
                return None

    def _hear(self, patience: float, end: float) -> list[m.Message]:
        """Returns replies that have come, and keeps events. `_quiet` says that nothing came for `patience`, or until
        `end`."""
        data = arrived(self._line, patience)
        self._quiet = not data or self._time() > end
        self._heard += len(data)
        replies = list[m.Message]()
        for found in self._unwrapper.feed(data):
            try:
                message = None if isinstance(found, Damaged) else decode(found)
            except MessageError:
                message = None
            if message is None:
                data = found.data if isinstance(found, Damaged) else bytes(found)
                self.strays.nonsense += len(data)
                self._nonsense += data[:_SHOWN]
                continue
            self._told += not message.id
            (replies if message.id else self._events).append(message)
        return replies

    def _write(self, data: bytes) -> None:
        with line_gone():
            self._line.write(data)

    def _silence(self, asked: str, patience: float) -> str:
        tries = f"no answer to {asked} in {self._tries} tries of {patience:g} s"
        if not self._heard:
            return f"{tries}: nothing came"
        if self._nonsense:
            return f"{tries}: {self._heard} bytes came, such as {bytes(self._nonsense[:_SHOWN])!r}"
        if self._told:
            return f"{tries}: {self._told} events of a ringhil card came"
        return f"{tries}: {self._heard} bytes came, and no message of a ringhil card"


def _printable(name: bytes) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in name.decode(errors="replace"))


def _belongs(code: int) -> str:
    try:
        return str(Belongs.of(code))
    except ValueError as error:
        raise CardError(f"the card's context is none: {error}") from None


def _census(reply: m.CensusReply | m.LastCensusReply) -> RingCensus:
    try:
        return RingCensus.of(reply)
    except ValueError as error:
        raise CardError(f"the card's census is none: {error}") from None


def _address(register: str | int) -> int:
    try:
        return address_of(register)
    except ValueError as error:
        raise CardError(str(error)) from None


def _refused(message: m.RefusedReply) -> RefusedError:
    text = one_line(message.text.decode(errors="replace"))
    try:
        why = Refusal.of(message.why)
    except ValueError:
        return RefusedError(None, f"the card refuses: {text}")
    return RefusedError(why, f"the card refuses: {text} ({why})")
