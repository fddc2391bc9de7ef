"""The bridge of rtl/hil_bridge.sv by itself: bytes in, bytes out. Whether its GPU was clocked is seen by what it
answers: a GPU in the engine, clocked as often, is the measure."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringhil.emulator.loop.bridge.bridge import Bridge
from ringhil.emulator.loop.bridge.library import bridge_library
from ringhil.protocol.line import framing, node_loop
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.node_loop import DAMAGED_FRAME, INPUTS, LONGEST_REQUEST, OUTPUTS, NodeMessage, Why
from ringhil.protocol.registers import ADDRESS
from ringhil.protocol.wire import LinkBit

NOTHING = b"\0\0"  # of a row differs
ROOM = LONGEST_REQUEST - framing.CRC_BYTES
IN, OUT = node_loop.places(INPUTS), node_loop.places(OUTPUTS)


class Line:
    """A bridge and what asks it."""

    def __init__(self) -> None:
        self.bridge, self.sequence = Bridge(bridge_library()), 0
        self.row = bytearray(8 * node_loop.groups(OUTPUTS))

    def say(self, kind: NodeMessage, body: bytes = b"", *, step: int = 1) -> bytes:
        """The answer, one message."""
        self.sequence = (self.sequence + step) % 256
        (answer,) = messages(self.bridge.feed(wrap(bytes([kind.code, self.sequence]) + body)))
        assert answer[1] == self.sequence
        return answer

    def do(self, kind: NodeMessage, body: bytes = NOTHING) -> None:
        """It is done; the row of outputs is as it answers."""
        answer = self.say(kind, body)
        assert answer[0] == kind.code | node_loop.REPLY
        if kind is NodeMessage.RESET:
            self.row = bytearray(len(self.row))
        take(self.row, answer[2:])

    def refused(self, kind: NodeMessage, body: bytes = NOTHING, *, step: int = 1) -> Why:
        answer = self.say(kind, body, step=step)
        assert (answer[0], len(answer)) == (NodeMessage.REFUSED.code, 3)
        return Why.of(answer[2])


def messages(data: bytes) -> list[bytes]:
    found = [message for message in Unwrapper().feed(data) if message != bytes([NodeMessage.DAMAGED.code])]
    assert not [message for message in found if isinstance(message, Damaged)]
    return [message for message in found if isinstance(message, bytes)]


def take(row: bytearray, changes: bytes) -> None:
    groups, rest = int.from_bytes(changes[:2], "big"), list(changes[2:])
    for group in range(16):
        if groups >> group & 1:
            named = rest.pop(0)
            assert named
            for place in range(8):
                if named >> place & 1:
                    row[8 * group + place] = rest.pop(0)
    assert not rest


def change(**values: int) -> bytes:
    """The changes that put these signals."""
    row = dict[int, int]()
    sizes = {signal.name: signal.size for signal in INPUTS}
    for name, value in values.items():
        row |= {IN[name] + i: byte for i, byte in enumerate(value.to_bytes(sizes[name], "little"))}
    groups, body = 0, b""
    for group in range(16):
        here = {place % 8: row[place] for place in sorted(row) if place // 8 == group}
        if here:
            groups |= 1 << group
            body += bytes([sum(1 << place for place in here), *here.values()])
    return groups.to_bytes(2, "big") + body


UP_BIT = LinkBit.UP.value
UP = change(p1_ctl=UP_BIT, p2_ctl=UP_BIT, host_ctl=UP_BIT, ring_size=2, node_id=1)


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line()
    line.say(NodeMessage.HELLO)
    line.do(NodeMessage.RESET, UP)
    yield line
    line.bridge.close()


BAD = change(p1_ctl=UP_BIT | LinkBit.VALID | LinkBit.SOF | LinkBit.EOF)  # a frame of one flit, bad, in each cycle


def clocked(line: Line) -> int:
    """In how many cycles the node had BAD at its port, each of which it has counted."""
    line.do(NodeMessage.STEP, change(p1_ctl=UP_BIT))
    for _ in range(8):
        line.do(NodeMessage.STEP)
    line.do(NodeMessage.LOOK, change(reg_addr=ADDRESS["rx_bad_port1"]))
    return int.from_bytes(line.row[OUT["reg_rdata"] :][:4], "little")


@pytest.mark.rest
def test_hello_says_what_is_there(line: Line) -> None:
    line.do(NodeMessage.STEP, BAD)
    found = node_loop.MESSAGES[NodeMessage.HELLO_REPLY].parse(line.say(NodeMessage.HELLO, step=77))
    assert (found.major, found.minor) == (node_loop.MAJOR, node_loop.MINOR)
    assert (found.layout, found.slots, found.longest) == (node_loop.LAYOUT, node_loop.SLOTS, node_loop.LONGEST_FRAME)
    assert clocked(line) == 1  # the node is as it was


def test_nothing_is_clocked_before_it_was_reset() -> None:
    line = Line()
    assert line.refused(NodeMessage.STEP, step=9) is Why.OUT_OF_ORDER
    line.say(NodeMessage.HELLO)
    assert line.refused(NodeMessage.STEP) is Why.NOT_RESET
    assert line.refused(NodeMessage.LOOK, step=0) is Why.NOT_RESET
    line.bridge.close()


def test_a_step_is_one_cycle_a_look_is_none_and_a_reset_begins_anew(line: Line) -> None:
    line.do(NodeMessage.STEP, BAD)
    line.do(NodeMessage.STEP)
    line.do(NodeMessage.LOOK)
    line.do(NodeMessage.STEP)
    assert clocked(line) == 3
    line.do(NodeMessage.RESET, UP)
    assert clocked(line) == 0


def test_a_look_takes_no_time(line: Line) -> None:
    """Alarms are where they are without it: `wake_at` follows from `now`."""
    other = Line()
    other.say(NodeMessage.HELLO)
    other.do(NodeMessage.RESET, UP)
    for _ in range(5):
        line.do(NodeMessage.LOOK)
    for each in (line, other):
        for _ in range(300):
            each.do(NodeMessage.STEP)
    assert line.row[OUT["wake_at"] :][:8] not in (bytes(8), b"\xff" * 8)
    assert line.row == other.row
    other.bridge.close()


@pytest.mark.parametrize("kind", [NodeMessage.STEP, NodeMessage.LOOK, NodeMessage.RESET])
def test_a_request_again_is_answered_alike_and_done_once(line: Line, kind: NodeMessage) -> None:
    line.do(NodeMessage.STEP, BAD)
    before = line.sequence + 1
    first = line.say(kind, UP if kind is NodeMessage.RESET else NOTHING)
    for _ in range(3):
        assert line.say(kind, NOTHING, step=0) == first
    assert line.sequence == before
    if kind is NodeMessage.RESET:
        line.row = bytearray(len(line.row))
    take(line.row, first[2:])
    assert clocked(line) == {NodeMessage.STEP: 2, NodeMessage.LOOK: 1, NodeMessage.RESET: 0}[kind]


def test_what_is_out_of_order_is_refused_and_not_done(line: Line) -> None:
    line.do(NodeMessage.STEP, BAD)
    for step in (2, -3, 128):
        before = line.sequence
        assert line.refused(NodeMessage.STEP, step=step) is Why.OUT_OF_ORDER
        line.sequence = before
    assert clocked(line) == 1


def test_the_sequence_goes_round(line: Line) -> None:
    line.do(NodeMessage.STEP, BAD)
    for _ in range(299):
        line.do(NodeMessage.STEP)
    assert clocked(line) == 300


def test_an_unknown_request_is_refused_and_may_be_followed_by_a_known_one(line: Line) -> None:
    line.do(NodeMessage.STEP, BAD)
    assert line.refused(NodeMessage.HELLO_REPLY) is Why.UNKNOWN_TYPE
    line.sequence -= 1
    assert clocked(line) == 1


@pytest.mark.parametrize(
    "body", [b"", b"\0", NOTHING + b"x", b"\0\1", b"\0\1\x03\x01", b"\x80\0\1\1", b"\4\0\1\1"], ids=bytes.hex
)
def test_a_request_of_wrong_length_is_refused_and_then_nothing_is_done_until_a_reset(line: Line, body: bytes) -> None:
    line.do(NodeMessage.STEP, BAD)
    assert line.refused(NodeMessage.STEP, body) is Why.BAD_LENGTH
    assert line.refused(NodeMessage.STEP) is Why.NOT_RESET
    line.sequence -= 1
    line.do(NodeMessage.RESET, UP)
    assert clocked(line) == 0


def test_a_message_of_one_byte_is_refused(line: Line) -> None:
    (answer,) = messages(line.bridge.feed(wrap(bytes([NodeMessage.STEP.code]))))
    assert (answer[0], answer[2]) == (NodeMessage.REFUSED.code, Why.BAD_LENGTH.code)


GARBAGE = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda body, cut: wrap(body)[:-cut], st.binary(min_size=1, max_size=100), st.integers(1, 4)),
    st.builds(lambda body: framing.wrap(body)[:3], st.binary(min_size=1, max_size=100)),
    st.just(wrap(bytes(300))),
    st.just(b"\xff" * 400),
)


@settings(max_examples=60)
@given(before=st.lists(GARBAGE, min_size=1, max_size=4))
@example(before=[b"\x01\0\x01"])
def test_whatever_comes_before_a_request_it_is_done_once(before: list[bytes]) -> None:
    """Half messages, too long ones, noise. What is no message is told of; one may stand for several in a row."""
    line = Line()
    line.say(NodeMessage.HELLO)
    line.do(NodeMessage.RESET, UP)
    line.do(NodeMessage.STEP, BAD)
    for each in before:
        said = line.bridge.feed(each + b"\0")
        wrong = [found for found in Unwrapper().feed(each + b"\0") if isinstance(found, Damaged) or len(found) > ROOM]
        assert bool(wrong) <= said.count(DAMAGED_FRAME) <= len(wrong)
    line.do(NodeMessage.STEP)
    assert clocked(line) == 2
    line.bridge.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_request_does_nothing(line: Line, seed: int) -> None:
    """Each way to change, lose or double one byte of it."""
    chance = random.Random(seed)
    line.do(NodeMessage.STEP, BAD)
    request = wrap(bytes([NodeMessage.STEP.code, line.sequence + 1]) + change(mtx_data=0x1100FF))
    for place in range(2, len(request) - 1):
        one, kept = request[place : place + 1], bytes([request[place] ^ 1 << chance.randrange(8)])
        instead = chance.choice([b"", one + one, kept])
        damaged = request[:place] + instead + request[place + 1 :]
        if Unwrapper().feed(damaged) and instead != b"":
            assert line.bridge.feed(damaged).startswith(DAMAGED_FRAME)
    assert clocked(line) == 1


def test_a_block_that_ends_too_early_is_no_message(line: Line) -> None:
    """All of a request is there, CRC and all; but its last code byte promises more."""
    line.do(NodeMessage.STEP, BAD)
    request = bytearray(wrap(bytes([NodeMessage.STEP.code, line.sequence + 1]) + NOTHING))
    last = 1
    while last + request[last] < len(request) - 1:
        last += request[last]
    request[last] += 3
    assert line.bridge.feed(bytes(request)) == DAMAGED_FRAME
    assert clocked(line) == 1
