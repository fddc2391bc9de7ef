"""A port that records itself: every byte, both ways, with the line's own time, and there whatever happens."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import serial
from tests.command import refusal, ringhil
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.serial.client import CardClient, CardError, clock_of, opened_port
from ringhil.emulator.serial.session.format import MOST_BURST, load_session, message_in
from ringhil.emulator.serial.session.recording import RecordedLine, SessionWriter
from ringhil.protocol.line import messages as m


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "server.yaml").write_text(ONE)
    return f"emulated://{tmp_path}/server.yaml"


def test_a_session_holds_what_was_said_with_the_time_of_the_line(url: str, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    with CardClient.open(url, record=file) as card:
        first = card.now()
        assert card.read(1, "watchdog") == 64
        list(card.events(0.25))
        last = card.now()
        census = card.census()
    found = load_session(file)
    assert (found.url, found.clock, found.notice) == (url, "line", None)
    sent = [message_in(data) for _, data in found.messages(sent=True)]
    assert sent[1:] == [m.TimeRequest(2), m.ReadRequest(3, 1, 3), m.TimeRequest(4), m.CensusRequest(5)]
    heard = [message_in(data) for _, data in found.messages(sent=False)]
    assert heard[1:4] == [m.TimeReply(2, first), m.ReadReply(3, 64, first), m.TimeReply(4, last)]
    assert isinstance(heard[4], m.CensusReply)
    assert heard[4].counted_at == census.cycle
    times = {data: at for at, data in found.messages(sent=True)}
    assert list(times.values())[3] == pytest.approx(0.25, abs=1e-4)
    assert (last - first) / 1e6 == pytest.approx(0.25, abs=1e-4)


def test_ways_to_read_and_write_of_a_port_are_all_recorded(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    with RecordedLine.at(serial.serial_for_url("loop://", timeout=5), file, "loop://") as line:
        line.write(b"one\ntwo\n")
        assert line.readline() == b"one\n"
        assert line.read_until(b"o") == b"two"[:3]
        line.writelines([b"three"])
        line.timeout = 0.01
        assert line._line.timeout == 0.01
        assert line.read(100) == b"\nthree"
        assert line.in_waiting == 0
        assert line.read() == b""
        line.baudrate = 9600
        assert line._line.baudrate == 9600
        line.write(b"lost")
        line.flush()
        line.reset_input_buffer()
        assert line.in_waiting == 0
    assert not line._line.is_open
    found = load_session(file)
    assert b"".join(b.data for b in found.bursts if b.sent) == b"one\ntwo\nthreelost"
    assert b"".join(b.data for b in found.bursts if not b.sent) == b"one\ntwo\nthree"
    assert found.clock == "system"
    assert found.bursts[-1].at < 60


def test_a_part_that_was_written_is_recorded_and_no_more(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    port = serial.Serial(os.ttyname(theirs), write_timeout=0, timeout=0)
    with RecordedLine.at(port, tmp_path / "s.jsonl", "pty") as line:
        written = line.write(b"x" * 1_000_000)
        line.reset_output_buffer()
    assert 0 < written < 1_000_000
    assert sum(len(burst.data) for burst in load_session(tmp_path / "s.jsonl").bursts) == written
    os.close(ours)
    os.close(theirs)


def test_an_answer_never_stands_before_its_request(tmp_path: Path) -> None:
    """A program that reads in another thread."""
    line = RecordedLine.at(serial.serial_for_url("loop://", timeout=1), tmp_path / "s.jsonl", "loop://")
    thread = threading.Thread(target=lambda: [line.read(1) for _ in range(300)])
    thread.start()
    for _ in range(300):
        line.write(b"x")
    thread.join()
    line.close()
    ahead = 0
    for burst in load_session(tmp_path / "s.jsonl").bursts:
        ahead += len(burst.data) if burst.sent else -len(burst.data)
        assert ahead >= 0
    assert ahead == 0


@pytest.mark.rest(but_one_in=2, start=1)
@pytest.mark.parametrize("recorded", [False, True])
def test_an_rfc_2217_port_is_set_up_once_however_long_is_waited(
    tmp_path: Path, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Served(tmp_path, ONE, "--listen", "rfc2217://127.0.0.1:0") as served:
        (url,) = served.ports["a"]
        port = opened_port(url, timeout=20)
        timeouts, set_up = list[float](), port._reconfigure_port
        monkeypatch.setattr(port, "_reconfigure_port", lambda: [timeouts.append(port.timeout), set_up()])
        with RecordedLine.at(port, tmp_path / "s.jsonl", url) if recorded else port as line:
            card = CardClient(line, timeout=20)
            for seconds in (0.03, 0.06, 0.09):
                list(card.events(seconds))
            assert card.now() > 0
        assert len(timeouts) == 1


def test_a_line_has_a_time_of_its_own_recorded_or_not(url: str, tmp_path: Path) -> None:
    """Who waits for an emulated line in this machine's time waits for ever; who takes a real one's to stand, too."""
    for each, its_own in ((url, True), ("loop://", False)):
        with opened_port(each) as line, RecordedLine.at(line, tmp_path / "s.jsonl", each) as recorded:
            assert clock_of(recorded) == clock_of(line)
            assert (clock_of(recorded) is not time.monotonic) == its_own


def test_much_at_once_is_several_lines(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "s", "x")
    writer.note(bytes(3 * MOST_BURST + 1), sent=True)
    writer.close()
    assert [len(burst.data) for burst in load_session(tmp_path / "s").bursts] == [MOST_BURST] * 3 + [1]


_KILLED = """
import os, signal, sys
from pathlib import Path
from ringhil.emulator.serial.client import CardClient
card = CardClient.open(sys.argv[1], record=Path(sys.argv[2]))
card.census()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_program_that_is_killed_leaves_what_was_said(url: str, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    done = subprocess.run([sys.executable, "-c", _KILLED, url, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    heard = [message_in(data) for _, data in load_session(file).messages(sent=False)]
    assert [type(message) for message in heard] == [m.HelloReply, m.CensusReply]


def test_what_is_no_file_stays_what_it_is(url: str, tmp_path: Path) -> None:
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    file.write_text("older, and much longer than what comes" * 1000)
    link.symlink_to(file)
    for path in (pipe, link):
        with CardClient.open(url, record=path):
            pass
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.read(reading, 1 << 16).startswith(b'{"ringhil": "session"')
    os.close(reading)
    assert link.is_symlink()
    assert len(load_session(file).bursts) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "pipe", "server.yaml"]


def test_a_session_that_can_not_be_written_is_one_line(url: str, tmp_path: Path) -> None:
    with pytest.raises(CardError, match=f"^{tmp_path}: cannot be written: it is a folder; name a file$"):
        CardClient.open(url, record=tmp_path)
    with pytest.raises(CardError, match=r"^/dev/full: cannot be written: No space left on device$"):
        CardClient.open(url, record=Path("/dev/full"))
    with pytest.raises(CardError, match="cannot be opened"):
        CardClient.open("emulated://none.yaml", record=tmp_path / "s.jsonl")
    assert not (tmp_path / "s.jsonl").exists()
    said = refusal("card", "--record", "/dev/full", url, "info")
    assert said == "ringhil: /dev/full: cannot be written: No space left on device"
    assert refusal("card", "--record", "-", url, "info").startswith("ringhil: -: a session goes to a file")


def test_a_command_may_be_recorded(url: str, tmp_path: Path) -> None:
    done = ringhil("card", "--record", tmp_path / "s.jsonl", url, "read", 1, "watchdog")
    assert done.stderr == ""
    sent = [message_in(data) for _, data in load_session(tmp_path / "s.jsonl").messages(sent=True)]
    assert sent[1:] == [m.ReadRequest(2, 1, 3)]


def test_time_never_runs_back(tmp_path: Path) -> None:
    times = iter([10.0, 12.0, 11.0, 13.5])
    writer = SessionWriter(tmp_path / "s", "x", lambda: next(times))
    for _ in range(3):
        writer.note(b"x", sent=True)
    writer.close()
    assert [burst.at for burst in load_session(tmp_path / "s").bursts] == [2.0, 2.0, 3.5]


def test_a_url_of_any_length_makes_a_session_that_is_read(tmp_path: Path) -> None:
    SessionWriter(tmp_path / "x.jsonl", "x" * 5000).close()
    assert load_session(tmp_path / "x.jsonl").url == "x" * 1000
