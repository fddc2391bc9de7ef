"""A management line through two UARTs in RTL: bytes as they are, at their speed; at two speeds, none."""

from contextlib import closing
from pathlib import Path

import pytest
import serial
from hypothesis import given
from hypothesis import strategies as st
from tests.command import refusal, ringhil
from tests.emulator.serial.line.test_wire import Echo
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.scenario import EventAction, LineEvent
from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.line import bit_true_wire
from ringhil.emulator.serial.line.bit_true_wire import BitTrueWire
from ringhil.emulator.serial.line.noise import LineFaults
from ringhil.emulator.serial.uart import link_library
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import EventKind
from ringhil.protocol.line.messages import SubscribeRequest

CLOCK, BAUD = 1_000_000, 62_500  # a bit is 16 cycles


class Line:
    """A bit-true wire, with a clock that the test turns; its client sets `speed`."""

    def __init__(self, seed: str = "") -> None:
        self.now, self.port, self.faults = 0, Echo(), LineFaults()
        self.speed: int | None = None
        self.wire = BitTrueWire(
            self.port,
            self.faults,
            lambda: self.now,
            link_library(),
            clock=CLOCK,
            baud=BAUD,
            set_baud=lambda: self.speed,
            seed=seed,
        )

    def wait(self, cycles: int, step: int = 40) -> None:
        end = self.now + cycles
        while self.now < end:
            self.now = min(end, self.now + step)
            self.wire.advance()


@pytest.mark.slow(part="benches")
@given(st.binary(min_size=1, max_size=40), st.integers(1, 500))
def test_bytes_pass_both_ways_unchanged_at_their_speed(data: bytes, step: int) -> None:
    line = Line()
    line.wire.receive(data)
    line.wait(160 * len(data) - 10, step)
    assert len(line.port.heard) < len(data)
    line.wait(20)
    assert line.port.heard == data
    line.wait(160 * len(data) + 1000, 20)
    assert line.wire.waiting == len(data)
    assert line.wire.take(3) + line.wire.take() == data
    line.wire.close()
    assert line.port.closed


def test_what_nobody_reads_is_held_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the card has to wait with what it says."""
    monkeypatch.setattr(bit_true_wire, "_HELD", 50)
    line = Line()
    line.port.out += bytes(2000)
    line.wait(160 * 3000)
    held = line.wire.waiting
    assert 50 <= held < 500
    line.wait(160 * 3000)
    assert line.wire.waiting == held
    found = 0
    for _ in range(3000):
        found += len(line.wire.take())
        line.wait(160)
    assert found == 2000


def test_one_speed_is_not_understood_at_another_and_the_line_recovers() -> None:
    line = Line()
    line.speed = 2 * BAUD
    line.wire.receive(b"hello, is anybody there?")
    line.wait(20_000)
    assert b"hello" not in line.port.heard
    line.port.heard.clear()
    line.speed = BAUD
    line.wait(1)
    line.wire.receive(b"hello")
    line.wait(1000)
    assert line.port.heard == b"hello"


@pytest.mark.rest
def test_a_card_that_reads_nothing_holds_the_client_up_and_nothing_is_lost() -> None:
    line = Line()
    line.port.full = True
    data = bytes(n % 251 for n in range(60_000))
    line.wire.receive(data)
    line.wait(60_000 * 160, 50_000)
    assert not line.port.heard
    assert line.wire.full
    line.port.full = False
    line.wait(60_000 * 160 + 10_000, 50_000)
    assert line.port.heard == data
    assert not line.wire.full


def test_faults_of_lines_strike_here_too() -> None:
    line = Line()
    line.faults.apply(LineEvent(0, EventAction.FAULT, "line_cut", "a", 0))
    line.wire.receive(b"there")
    line.port.out += b"back"
    line.wait(2000)
    assert line.port.heard == line.wire.take() == b""
    line.faults.apply(LineEvent(0, EventAction.CLEAR, "line_cut", "a", 0))
    line.wire.receive(b"again")
    line.wait(2000)
    assert line.wire.take() == b"again"


def test_a_client_over_an_emulated_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    done = ringhil("card", "emulated:///s.yaml?uart=1&baud=57600", "census", cwd=tmp_path)
    assert "4 of 4 GPUs work" in done.stdout


@pytest.mark.slow(part="benches")
def test_a_served_pty_is_heard_at_its_speed_alone(tmp_path: Path) -> None:
    served = Served(tmp_path, ONE, "--clock", "1000000", "--baud", "57600", "--uart")
    pty = served.ports["a"][0]
    with CardClient.open(pty, baud=57_600, timeout=20) as card:
        assert card.read(1, "watchdog") == 64
    with serial.Serial(pty, 9600, timeout=0.5) as wrong, pytest.raises(CardError, match="no answer to hello"):
        CardClient(wrong, timeout=0.5, tries=2)
    with CardClient.open(pty, baud=57_600, timeout=20) as card:
        assert card.now() > 0
    served.process.terminate()
    served.process.communicate()


def test_it_needs_a_speed(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    said = refusal("serve", tmp_path / "s.yaml", "--uart", "--clock", "1000")
    assert said == "ringhil serve: --uart: needs --baud, the speed of the card's UART"


def test_no_more_waits_behind_uarts_than_their_speed_carries_in_a_quarter_of_a_second(tmp_path: Path) -> None:
    """115,200 baud, where nobody says another speed."""
    (tmp_path / "server.yaml").write_text(ONE)
    with closing(serial.serial_for_url(f"emulated://{tmp_path}/server.yaml?uart=1")) as line:
        line.write(wrap(encode(SubscribeRequest(1, EventKind.FRAMES))))
        line.line.pass_time(1_000)
        most = 0
        for _ in range(2_000):
            line.line.pass_time(100)
            line.line.wire.advance()
            most = max(most, line.line.wire._port.waiting)
        assert 0 < most < 2880 + 200
