"""The management port of an emulated card, as one client has it: it takes bytes, carries out requests and gives bytes.

It has no clock and no line: its caller says when bytes come. What it holds is bounded, whatever the client does.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass
from fractions import Fraction

from ringhil.emulator.errors import printable
from ringhil.emulator.host.contexts.outside import OutsideClient
from ringhil.emulator.serial.line import BITS
from ringhil.emulator.serial.port.managed_card import Answer, ManagedCard, NotDone
from ringhil.emulator.serial.port.terminal import Terminal
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import MessageError, decode, encode
from ringhil.protocol.line.framing import LONGEST, Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import (
    COUNTING,
    KEPT,
    MAJOR,
    MINOR,
    REQUESTS,
    Capability,
    EventKind,
    Refusal,
    Type,
)

ROOM = 1 << 18  # bytes that may wait for a client whose line takes no time
_WAITING = Fraction(1, 4)  # seconds that a line needs, at most, for what waits: an answer stands behind it
_LEAST_ROOM = 64  # bytes
_MOST_UNREAD = 4096  # requests that wait for a write to hold
_MOST_TYPED = 4096  # bytes that do, behind a person's
_REQUESTS = tuple(kind.code for kind in REQUESTS)
_KNOWN_EVENTS = sum(EventKind)
_CAPABILITIES = Capability.CENSUS | Capability.SEND | Capability.EVENTS | Capability.FAULTS | Capability.CONTEXTS
_32_BITS = 0xFFFFFFFF
_LONGEST_NAME = 64  # bytes


class Outgoing:
    """Holds the messages that wait to leave for a client; the first may have left in part. `len` is in bytes."""

    def __init__(self) -> None:
        self._messages = deque[bytes]()
        self._begun = b""  # what is left of a message that has begun to leave
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def put(self, message: bytes) -> None:
        """Adds a message behind the others."""
        self._messages.append(message)
        self._waiting += len(message)

    def take(self, most: int) -> bytes:
        """Removes and returns up to `most` bytes."""
        taken, left = list[bytes](), most
        while left > 0 and (self._begun or self._messages):
            first = self._begun or self._messages.popleft()
            taken.append(first[:left])
            self._begun = first[left:]
            left -= len(taken[-1])
        data = b"".join(taken)
        self._waiting -= len(data)
        return data

    def forget(self) -> None:
        """Drops all messages that have not begun to leave."""
        self._messages.clear()
        self._waiting = len(self._begun)


@dataclass
class LineCounts:
    """Counts what a line has carried, as the card sees it; `line_reply` tells it."""

    received: int = 0
    sent: int = 0
    requests: int = 0
    damaged: int = 0
    refused: int = 0
    events: int = 0
    missed: int = 0


@dataclass
class _Asked:
    """Pairs a request with its reply, once there is one."""

    data: bytes
    reply: bytes | None = None


class ManagementPort:
    """`clock`: of the ring, in Hz, 0 where its cycles pass as fast as they can. `room`: bytes that may wait for the
    client; beyond that, events are left out and requests not read."""

    def __init__(self, card: ManagedCard, *, clock: int = 0, room: int = ROOM) -> None:
        self._card, self._clock, self._room = card, clock, room
        self._name = card.card.name
        self._unwrapper = Unwrapper()
        self._out = Outgoing()
        self._events = 0
        self._session = 0
        self._coming = deque[bytes]()  # what comes while keys wait
        self._unread = deque[bytes]()
        self._writing = False
        self._counting = 0
        self._untold = 0  # events missed of which the client has not heard
        # By id: a request, and its reply if there is one yet. Who asks again under the same id was not heard, or did
        # not hear: it is not done twice.
        self._asked: OrderedDict[int, _Asked] = OrderedDict()
        self.counts = LineCounts()
        self._client = OutsideClient()
        self._terminal = Terminal(card.card, self._typed, self._say)
        card.followers.append(self._follow)

    def close(self, *, frees: bool = True) -> None:
        """Forgets the client, which has gone: requests that wait are not carried out, and its contexts are destroyed
        (`frees`)."""
        self._card.followers.remove(self._follow)
        if frees:
            self._card.gone(self._client)
        self._session += 1
        for waiting in (self._coming, self._unread, self._terminal.keys):
            waiting.clear()

    @property
    def full(self) -> bool:
        """So much waits, for the client to read or for a write to hold, that nothing more should be read from it."""
        typed = len(self._terminal.keys) + sum(map(len, self._coming))
        return self._has_no_room or len(self._unread) >= _MOST_UNREAD or typed >= _MOST_TYPED

    @property
    def _has_no_room(self) -> bool:
        return len(self._out) >= self._room

    @property
    def waiting(self) -> int:
        """Bytes that are there to be sent."""
        return len(self._out)

    def receive(self, data: bytes) -> None:
        """Takes bytes that have come now. They are lost while the port is `full`, as on a line without flow control."""
        self.counts.received += len(data)
        if self.full:
            return
        self._coming.append(data)
        self._work()

    def take(self, most: int = ROOM) -> bytes:
        """Removes and returns up to `most` bytes to be sent."""
        data = self._out.take(most)
        self.counts.sent += len(data)
        # Not as soon as there is room: that would fill it again, and no request be read.
        if self._untold and len(self._out) <= self._room // 2:
            missed, self._untold = self._untold, 0
            self._send(m.MissedEvent(0, missed))
        return data

    # -------------------------------------------------------------------------------------------- requests

    def _work(self) -> None:
        """Carries out requests one after the other, typed ones too. What comes behind a write waits until the write
        holds."""
        self._sort_out()
        while not self._writing and (self._unread or self._terminal.keys):
            if self._unread:
                self._request(self._unread.popleft())
            else:
                self._terminal.press()
            self._sort_out()

    def _sort_out(self) -> None:
        """Sorts what has come into requests and keys. Whether a person goes on typing is known once all keys are
        done."""
        while self._coming and not self._terminal.keys:
            for message in self._unwrapper.feed(self._terminal.sift(self._coming.popleft())):
                if isinstance(message, Damaged):
                    self.counts.damaged += 1
                else:
                    self._unread.append(message)

    def _request(self, data: bytes) -> None:
        number = int.from_bytes(data[1:3], "big")
        before = self._asked.get(number)
        if before is not None and before.data == data and data[0] != Type.HELLO.code:
            if before.reply is not None:
                self._out.put(before.reply)
            return
        self.counts.requests += 1
        # What was asked under this id before may be under way: its reply is not this one's.
        asked = self._asked[number] = _Asked(data)
        self._asked.move_to_end(number)
        while len(self._asked) > KEPT:
            self._asked.popitem(last=False)

        def answer(reply: m.Message) -> None:
            asked.reply = wrap(encode(reply))
            self._out.put(asked.reply)

        try:
            if data[0] not in _REQUESTS:
                raise NotDone(Refusal.UNKNOWN_TYPE, f"type 0x{data[0]:02X} is no request")
            self._carry_out(_decoded(data), answer)
        except NotDone as refused:
            self.counts.refused += 1
            answer(m.RefusedReply(number, refused.why.code, str(refused).encode()))

    def _carry_out(self, request: m.Message, answer: Answer) -> None:
        match request:
            case m.HelloRequest():
                self._hello(request)
                answer(self._greeting(request.id))
            case m.SubscribeRequest():
                if request.events & ~_KNOWN_EVENTS:
                    raise NotDone(Refusal.BAD_VALUE, f"events 0x{request.events:04X}: known are 0x{_KNOWN_EVENTS:04X}")
                self._events = request.events
                answer(m.SubscribeReply(request.id, self._events, self._card.now))
            case m.LineRequest():
                c = self.counts
                events = (c.requests, c.damaged, c.refused, c.events, c.missed)
                answer(m.LineReply(request.id, c.received, c.sent, *(n & _32_BITS for n in events)))
            case _:
                self._done(request, answer)

    def _done(self, request: m.Message, answer: Answer) -> None:
        """Has the card carry out a request. A client that has gone meanwhile, or said hello again, gets no answer."""
        session = self._session

        def answered(reply: m.Message) -> None:
            if session == self._session:
                answer(reply)

        match request:
            case m.WriteRequest():
                self._write(request, answered)
            case m.CensusRequest():
                self._count(request, answered)
            case _:
                self._card.carry_out(request, answered, self._client)

    def _write(self, request: m.WriteRequest, answer: Answer) -> None:
        def written(reply: m.Message) -> None:
            self._writing = False
            answer(reply)
            self._work()

        self._card.carry_out(request, written, self._client)
        self._writing = True

    def _count(self, request: m.CensusRequest, answer: Answer) -> None:
        """Begins a census. Their number is limited, so that no client takes much of the card's memory."""
        if self._counting >= COUNTING:
            raise NotDone(Refusal.BUSY, f"{COUNTING} censuses of this client are under way already")

        def counted(reply: m.Message) -> None:
            self._counting -= 1
            answer(reply)

        self._card.carry_out(request, counted, self._client)
        self._counting += 1

    def _hello(self, request: m.HelloRequest) -> None:
        """Begins with a client: what an earlier one asked for on this line, and what waited for it, is forgotten."""
        if len(request.name) > _LONGEST_NAME:
            raise NotDone(Refusal.BAD_LENGTH, f"name: {len(request.name)} bytes; allowed are {_LONGEST_NAME}")
        self._session += 1
        self._card.gone(self._client)
        self._client = OutsideClient(printable(request.name.decode(errors="replace")))
        self._asked.clear()
        self._events = self._untold = 0
        self._out.forget()

    def _greeting(self, number: int) -> m.HelloReply:
        capabilities = _CAPABILITIES | (Capability.PACED if self._clock else 0)
        card, name = self._card, self._name.encode()
        about = (card.number, card.card.gpus, capabilities, LONGEST, self._clock, 0, card.now)
        return m.HelloReply(number, MAJOR, MINOR, *about, name)

    # ---------------------------------------------------------------------------------------- at a terminal

    def _typed(self, request: m.Message, answer: Answer) -> None:
        self.counts.requests += 1
        if isinstance(request, m.HelloRequest):
            answer(self._greeting(0))
            return
        try:
            self._done(request, answer)
        except NotDone:
            self.counts.refused += 1
            raise

    def _say(self, data: bytes) -> None:
        if len(self._out) < ROOM:
            self._out.put(data)

    # ---------------------------------------------------------------------------------------------- events

    def _follow(self, kinds: int, event: m.Message) -> None:
        self._terminal.follow(kinds, event)
        if not self._events & kinds:
            return
        if self._untold or self._has_no_room:
            self.counts.missed += 1
            self._untold += 1
            return
        self.counts.events += 1
        self._send(event)

    def _send(self, event: m.Message) -> None:
        self._out.put(wrap(encode(event)))


def room_at(baud: int | None) -> int:
    """Bytes that may wait for a client at the other end of a line of this speed."""
    return ROOM if baud is None else min(ROOM, max(_LEAST_ROOM, int(_WAITING * baud / BITS)))


def _decoded(data: bytes) -> m.Message:
    try:
        return decode(data)
    except MessageError as error:
        raise NotDone(Refusal.BAD_LENGTH, str(error)) from None
