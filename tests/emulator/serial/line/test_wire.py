"""The wires to a management port: their speed to the byte, and faults that strike as often as they say."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.scenario import EventAction, LineEvent
from ringhil.emulator.serial.line.noise import LineFaults
from ringhil.emulator.serial.line.wire import Wire, byte_time


class Echo:
    """A port that says what it hears."""

    def __init__(self) -> None:
        self.heard, self.out, self.full, self.closed = bytearray(), bytearray(), False, False

    def receive(self, data: bytes) -> None:
        self.heard += data
        self.out += data

    def take(self, most: int) -> bytes:
        data = bytes(self.out[:most])
        del self.out[:most]
        return data

    def close(self) -> None:
        self.closed = True


class Line:
    """A wire, with a clock that the test turns."""

    def __init__(self, byte: Fraction = Fraction(0), seed: str = "") -> None:
        self.now, self.port, self.faults = 0, Echo(), LineFaults()
        self.wire = Wire(self.port, self.faults, lambda: self.now, byte=byte, seed=seed)

    def set(self, kind: str, rate: int | None = None) -> None:
        self.faults.apply(LineEvent(0, EventAction.FAULT, kind, "a", 0, rate))

    def clear(self, kind: str) -> None:
        self.faults.apply(LineEvent(0, EventAction.CLEAR, kind, "a", 0))

    def echoed(self, data: bytes) -> bytes:
        self.wire.receive(data)
        return self.wire.take()


def test_without_speed_and_faults_everything_is_there_at_once() -> None:
    line = Line()
    assert line.echoed(bytes(range(256)) * 20) == bytes(range(256)) * 20
    assert line.wire.waiting == 0
    line.wire.close()
    assert line.port.closed


def test_what_a_line_is_not_ready_for_stays_with_the_card() -> None:
    """There it can be left out; on the wire it would stand before every answer."""
    line = Line(byte_time(1_000_000, 115_200))
    line.port.out += bytes(10_000)
    line.wire.advance()
    assert 9_900 < len(line.port.out) < 10_000


@given(st.integers(300, 4_000_000), st.integers(1, 2000), st.integers(1, 40))
def test_bytes_take_ten_bits_each_both_ways(baud: int, number: int, step: int) -> None:
    """Whenever one looks, exactly those have arrived whose last bit has."""
    clock = 1_000_000
    byte = byte_time(clock, baud)
    assert byte == Fraction(10 * clock, baud)
    line = Line(byte)
    line.now = 77
    line.wire.receive(bytes(number))
    heard = None
    for _ in range(200):
        line.now += step
        line.wire.advance()
        due = min(number, int((line.now - 77) / byte))
        assert len(line.port.heard) == due
        if due and heard is None:
            heard = line.now
    if heard is not None:
        back = len(line.wire.take())
        assert back <= int((line.now - heard) / byte)


def test_the_line_may_rest_and_goes_on_at_its_speed() -> None:
    line = Line(Fraction(10))
    line.wire.receive(b"ab")
    line.now = 1000
    line.wire.receive(b"cd")
    line.now = 1009
    line.wire.advance()
    assert line.port.heard == b"ab"
    line.now = 1010
    line.wire.advance()
    assert line.port.heard == b"abc"


def test_more_than_the_wires_hold_is_not_read_and_else_lost() -> None:
    line = Line(Fraction(10**9))
    assert not line.wire.full
    line.wire.receive(bytes(1 << 16))
    assert line.wire.full
    line.wire.receive(b"lost")
    line.now = 10**9 * (1 << 17)
    line.wire.advance()
    assert line.port.heard == bytes(1 << 16)
    assert not line.wire.full


def test_while_the_card_takes_nothing_it_waits_on_the_wires() -> None:
    line = Line()
    line.port.full = True
    line.wire.receive(bytes(1000))
    assert (line.port.heard, line.wire.room, line.wire.full) == (b"", 0, True)
    line.port.full = False
    line.wire.advance()
    assert (len(line.port.heard), line.wire.room, line.wire.full) == (1000, 1 << 16, False)


def test_who_does_not_take_makes_nothing_grow() -> None:
    line = Line()
    for _ in range(50):
        line.port.out += bytes(1 << 14)
        line.wire.advance()
    assert line.wire.waiting == 1 << 16
    assert len(line.port.out) == 50 * (1 << 14) - (1 << 16)
    assert line.wire.take(5) == bytes(5)


BYTES = bytes(range(256)) * 256  # 65,536


@pytest.mark.parametrize("rate", [64, 655, 6554])
def test_faults_strike_as_often_as_they_say(rate: int) -> None:
    near = pytest.approx(rate, rel=0.5 if rate < 100 else 0.15)
    for kind in ("line_drop", "line_double", "line_corrupt"):
        line = Line(seed=f"{kind} {rate}")
        line.set(kind, rate)
        line.wire.receive(BYTES)
        heard = bytes(line.port.heard)
        if kind == "line_drop":
            assert len(BYTES) - len(heard) == near
        elif kind == "line_double":
            assert len(heard) - len(BYTES) == near
        else:
            flips = [a ^ b for a, b in zip(BYTES, heard, strict=True) if a != b]
            assert len(flips) == near
            assert {bin(flip).count("1") for flip in flips} == {1}
            assert len(set(flips)) == 8


def test_faults_strike_on_the_way_back_too_and_end() -> None:
    line = Line()
    line.set("line_drop", 30_000)
    line.port.out += bytes(5000)
    assert 0 < len(line.wire.take()) < 4000
    line.clear("line_drop")
    assert line.echoed(b"whole") == b"whole"


def test_a_cut_line_carries_nothing_either_way() -> None:
    line = Line()
    line.set("line_cut")
    line.port.out += b"back"
    assert line.echoed(b"there") == b""
    assert line.port.heard == b""
    line.clear("line_cut")
    assert line.echoed(b"again") == b"again"


def test_the_same_seed_strikes_the_same_bytes_however_they_come() -> None:
    found = set()
    for seed, piece in (("x", 1), ("x", 777), ("x", 65_536), ("y", 65_536)):
        line = Line(seed=seed)
        for kind in ("line_drop", "line_double", "line_corrupt"):
            line.set(kind, 300)
        for at in range(0, len(BYTES), piece):
            line.wire.receive(BYTES[at : at + piece])
            line.wire.take()
        found.add((seed, bytes(line.port.heard)))
    assert len(found) == 2
