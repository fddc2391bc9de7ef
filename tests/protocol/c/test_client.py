"""The C client on a line that loses, delays and makes things up; and the card's end of it."""

import ctypes
from collections.abc import Callable

import pytest

from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import LONGEST, Unwrapper, wrap
from ringhil.protocol.line.management import KEPT, MAJOR, MINOR, Type
from ringhil.protocol.line.messages import (
    HelloReply,
    HelloRequest,
    LineRequest,
    Message,
    MissedEvent,
    ReadReply,
    ReadRequest,
    RefusedReply,
    TimeReply,
    TimeRequest,
)

from . import library as c
from .ends import ANSWER, EVENT, GONE, NO_ROOM, ODD, OK, READ, REFUSED, SILENT, WRITE, Client, Device, Stream


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return c.shared(tmp_path_factory.mktemp("library"))


class Line:
    """The other end: `card` says what comes back for a request, by its number, from 0; None: nothing, for too long."""

    def __init__(self, built: ctypes.CDLL, card: Callable[[Message, int], bytes | None]) -> None:
        self.built, self.card = built, card
        self.requests: list[Message] = []
        self.events: list[Message] = []
        self.raw = b""
        self.gone = self.deaf = False
        self.restarts = 0
        self._unwrapper, self._coming = Unwrapper(), bytearray()
        self._in, self._out = ctypes.create_string_buffer(LONGEST + 4), ctypes.create_string_buffer(400)
        self.client = Client()
        self._calls = WRITE(self._write), READ(self._read), EVENT(self._event)  # kept, as C holds them
        stream = Stream(None, self._calls[0], self._calls[1])
        built.rh_client_init(
            ctypes.byref(self.client), stream, self._in, ctypes.c_size_t(LONGEST + 4), self._out, ctypes.c_size_t(400)
        )
        self.client.on_event = self._calls[2]

    def _write(self, context: object, data: "ctypes._Pointer[ctypes.c_uint8]", length: int) -> int:
        if self.deaf:
            return 0
        sent = bytes(data[:length])
        self.raw += sent
        for message in self._unwrapper.feed(sent):
            if isinstance(message, bytes):
                self.requests.append(decode(message))
                self._coming += self.card(self.requests[-1], len(self.requests) - 1) or b""
        return 1

    def _read(self, context: object, byte: "ctypes._Pointer[ctypes.c_uint8]", restart: int) -> int:
        self.restarts += bool(restart)
        if self._coming:
            byte[0] = self._coming.pop(0)
            return 1
        return -1 if self.gone else 0

    def _event(self, context: object, data: "ctypes._Pointer[ctypes.c_uint8]", length: int) -> None:
        self.events.append(decode(bytes(data[:length])))

    def read(self) -> tuple[int, int]:
        value = ctypes.c_uint32()
        status = self.built.rh_read(
            ctypes.byref(self.client), ctypes.c_uint16(2), ctypes.c_uint8(7), ctypes.byref(value)
        )
        return status, value.value

    def hello(self, name: bytes = b"x") -> int:
        reply = c.structure(Type.HELLO_REPLY)()
        return int(self.built.rh_hello(ctypes.byref(self.client), name, ctypes.byref(reply)))

    def listen(self, data: bytes) -> int:
        self._coming += data
        return int(self.built.rh_listen(ctypes.byref(self.client)))


def sent(*messages: Message) -> bytes:
    return b"".join(wrap(encode(message)) for message in messages)


def right(request: Message, number: int) -> bytes:
    return sent(ReadReply(request.id, 40 + number, 0))


def test_it_asks_and_is_answered(built: ctypes.CDLL) -> None:
    line = Line(built, right)
    assert line.read() == (OK, 40)
    assert line.read() == (OK, 41)
    assert line.requests == [ReadRequest(1, 2, 7), ReadRequest(2, 2, 7)]
    assert line.restarts == 2


@pytest.mark.parametrize("lost", range(5))
def test_it_asks_again_under_the_same_id_four_times_in_all(built: ctypes.CDLL, lost: int) -> None:
    line = Line(built, lambda request, number: right(request, number) if number >= lost else None)
    assert line.read() == ((OK, 40 + lost) if lost < 4 else (SILENT, 0))
    assert line.requests == [ReadRequest(1, 2, 7)] * min(lost + 1, 4)
    assert line.restarts == min(lost + 1, 4)


def test_answers_to_others_and_damaged_ones_are_passed_over(built: ctypes.CDLL) -> None:
    damaged = bytearray(right(ReadRequest(1, 2, 7), 0))
    damaged[5] ^= 0x80
    noise = sent(ReadReply(9, 1, 0), TimeReply(8, 3)) + bytes(damaged) + b"noise"
    line = Line(built, lambda request, number: noise + right(request, number))
    assert line.read() == (OK, 40)
    assert len(line.requests) == 1
    assert line.client.receiver.damaged == 2


def test_a_refusal_says_why(built: ctypes.CDLL) -> None:
    line = Line(built, lambda request, number: sent(RefusedReply(request.id, 3, b"no such GPU")))
    assert line.read()[0] == REFUSED
    refusal = line.client.refusal
    assert (refusal.why, ctypes.string_at(refusal.text, refusal.tail_size)) == (3, b"no such GPU")


@pytest.mark.parametrize(
    "answer", [TimeReply(1, 5), RefusedReply(1, 1, b"")], ids=["of another type", "a refusal is no such"]
)
def test_an_answer_of_another_type_is_odd(built: ctypes.CDLL, answer: Message) -> None:
    line = Line(built, lambda request, number: sent(answer))
    assert line.read()[0] == (ODD if isinstance(answer, TimeReply) else REFUSED)


def test_events_are_told_while_it_waits_and_while_it_listens(built: ctypes.CDLL) -> None:
    line = Line(built, lambda request, number: sent(MissedEvent(0, 3)) + right(request, number))
    assert line.read() == (OK, 40)
    assert line.events == [MissedEvent(0, 3)]
    assert line.listen(sent(MissedEvent(0, 4), TimeReply(7, 1), MissedEvent(0, 5))) == OK
    assert line.events[1:] == [MissedEvent(0, 4), MissedEvent(0, 5)]


def test_a_line_that_is_gone_is_told_at_once(built: ctypes.CDLL) -> None:
    line = Line(built, lambda request, number: None)
    line.gone = True
    assert line.read()[0] == GONE
    assert len(line.requests) == 1
    assert line.listen(b"") == GONE
    line.deaf = True
    assert line.read()[0] == GONE
    assert line.hello() == GONE


def test_ids_go_from_1_to_65535_and_begin_again(built: ctypes.CDLL) -> None:
    """0 is an event's."""
    line = Line(built, right)
    line.client.id = 0xFFFE
    assert line.read()[0] == line.read()[0] == OK
    assert [request.id for request in line.requests] == [0xFFFF, 1]


def greeting(request: Message, number: int, major: int = MAJOR) -> bytes:
    return sent(HelloReply(request.id, major, 0, 0, 4, 0, 100, 0, 0, 0, b"card"))


def test_hello_ends_what_others_have_begun(built: ctypes.CDLL) -> None:
    line = Line(built, greeting)
    assert line.hello(b"n" * 64) == OK
    assert line.raw.startswith(b"\0\0")
    assert line.requests == [HelloRequest(1, MAJOR, MINOR, b"n" * 64)]


def test_hello_takes_no_longer_name_and_no_other_version(built: ctypes.CDLL) -> None:
    line = Line(built, lambda request, number: greeting(request, number, MAJOR + 1))
    assert line.hello(b"n" * 65) == NO_ROOM
    assert line.requests == []
    assert line.hello() == ODD


def test_a_request_that_has_no_room_is_not_sent(built: ctypes.CDLL) -> None:
    line = Line(built, right)
    line.client.room = 10
    assert line.read()[0] == NO_ROOM
    assert line.raw == b""


# --------------------------------------------------------------------------------------------------- the card's end


def test_a_card_does_a_request_once_but_greets_each_time(built: ctypes.CDLL) -> None:
    """Whoever says hello begins anew, and may use the ids of another before it."""
    done: list[Message] = []
    heard = Unwrapper()
    answers: list[Message] = []

    def answer(context: object, request: object, length: int, out: object, room: int) -> int:
        message = decode(bytes(request[:length]))  # type: ignore[index]
        done.append(message)
        reply = encode(TimeReply(message.id, len(done)))
        ctypes.memmove(out, reply, len(reply))  # type: ignore[arg-type]
        return len(reply)

    def write(context: object, data: "ctypes._Pointer[ctypes.c_uint8]", length: int) -> int:
        answers.extend(decode(m) for m in heard.feed(bytes(data[:length])) if isinstance(m, bytes))
        return 1

    calls = WRITE(write), READ(lambda context, byte, restart: 0), ANSWER(answer)
    buffers = [ctypes.create_string_buffer(size) for size in (400, KEPT * 400, 400)]
    device = Device()
    size = ctypes.c_size_t(400)
    built.rh_device_init(
        ctypes.byref(device), Stream(None, calls[0], calls[1]), buffers[0], size, buffers[1], size, buffers[2], size
    )
    device.answer = calls[2]
    hello = HelloRequest(5, MAJOR, 0, b"x")
    others = [TimeRequest(id) for id in range(2, KEPT + 1)]
    # All of them are kept, until there is another one; under the id of one that is, another request is done.
    asked = [TimeRequest(1), TimeRequest(1), *others, TimeRequest(1), TimeRequest(2)]
    asked += [TimeRequest(KEPT + 1), TimeRequest(2), TimeRequest(1)]
    asked += [LineRequest(9), TimeRequest(9), hello, TimeRequest(9), hello]
    for byte in sent(*asked):
        assert built.rh_device_receive(ctypes.byref(device), ctypes.c_uint8(byte))
    again = [LineRequest(9), TimeRequest(9), hello, TimeRequest(9), hello]
    assert done == [TimeRequest(1), *others, TimeRequest(KEPT + 1), TimeRequest(1), *again]
    first, rest = KEPT + 1, KEPT + 3  # what was done before it
    numbers = [1, 1, *range(2, KEPT + 1), 1, 2, first, 2, first + 1]
    assert answers == [
        *(TimeReply(asked[n].id, number) for n, number in enumerate(numbers)),
        *(TimeReply(request.id, rest + n) for n, request in enumerate(again)),
    ]


@pytest.mark.parametrize("length", [1, 250, 251, 504, 505, 5000, LONGEST])
def test_the_room_for_a_message_is_always_enough(built: ctypes.CDLL, length: int, tmp_path: object) -> None:
    """RH_WRAPPED is what a caller reckons with; a message without a zero takes the most."""
    encoded = wrap(b"\1" * length)
    assert len(encoded) <= length + 4 + (length + 4) // 254 + 1 + 2
    out = ctypes.create_string_buffer(2 * LONGEST)
    least = length + 4 + (length + 4) // 254 + 1 + 2
    for room, fits in ((least, True), (least - 1, False)):
        used = built.rh_wrap(b"\1" * length, ctypes.c_size_t(length), out, ctypes.c_size_t(room))
        assert used == (len(encoded) if fits else 0)
