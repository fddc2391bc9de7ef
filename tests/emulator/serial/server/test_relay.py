"""`ringhil card URL record FILE`: any program works through it, and all of it is in the file."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import serial
from tests.command import refusal, started
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.serial.client import CardClient
from ringhil.emulator.serial.server.lines import Connection, TcpListener
from ringhil.emulator.serial.server.listening import Pty
from ringhil.emulator.serial.server.relay import ROOM, Relay
from ringhil.emulator.serial.session.format import load_session, message_in
from ringhil.emulator.serial.session.recording import SessionWriter
from ringhil.protocol.line import messages as m


class Recording:
    """A relay that runs; `port`: where a program finds it."""

    def __init__(self, url: str, file: Path, *options: str) -> None:
        words = ("card", url, "record", file, *options)
        self.process = started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline() or self.process.communicate()[1]

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path, ONE, "--listen", "tcp://127.0.0.1:0", "--listen", "pty") as served:
        yield served


def session_of(port: str) -> list[object]:
    with CardClient.open(port, timeout=20) as card:
        return [card.read(1, "watchdog"), card.write(1, "weight", 9), card.census(timeout=30)]


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("which", [0, 1])
def test_programs_work_through_it_one_after_the_other_and_are_replayed(
    served: Served, tmp_path: Path, which: int
) -> None:
    file = tmp_path / "s.jsonl"
    listen = ["--listen", "tcp://127.0.0.1:0", "--json"] if which else []
    recording = Recording(served.ports["a"][which], file, *listen)
    if which:
        document = json.loads(recording.said)
        assert document.keys() == {"schema", "ready", "ports"}
        (port,) = document["ports"]["card"]
        assert port.startswith("socket://127.0.0.1:")
    else:
        assert recording.said.startswith("card: /dev/pts/")
        port = recording.said.removeprefix("card: ").strip()
    told = [session_of(port), session_of(port)]
    assert recording.end((signal.SIGTERM, signal.SIGINT)[which]) == (0, "")
    sent = [type(message_in(data)) for _, data in load_session(file).messages(sent=True)]
    assert sent == [m.HelloRequest, m.ReadRequest, m.WriteRequest, m.CensusRequest] * 2
    with CardClient.open(f"replay://{file}", timeout=20) as card:
        assert [card.read(1, "watchdog"), card.write(1, "weight", 9), card.census(timeout=30)] == told[0]


def test_an_emulated_card_in_the_same_process_is_relayed_as_well(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    recording = Recording(f"emulated://{tmp_path}/s.yaml", tmp_path / "s.jsonl")
    assert session_of(recording.said.removeprefix("card: ").strip())[0] == 64
    assert recording.end(signal.SIGINT) == (0, "")
    assert load_session(tmp_path / "s.jsonl").clock == "line"


def test_when_the_card_goes_it_is_one_line_and_the_session_is_there(served: Served, tmp_path: Path) -> None:
    url = served.ports["a"][0]
    recording = Recording(url, tmp_path / "s.jsonl")
    assert session_of(recording.said.removeprefix("card: ").strip())[0] == 64
    served.end(signal.SIGTERM)
    _, errors = recording.process.communicate(timeout=60)
    assert (recording.process.returncode, errors) == (
        2,
        f"ringhil: {url}: the line is gone: read failed: socket disconnected\n",
    )
    found = load_session(tmp_path / "s.jsonl")
    assert found.notice is None
    assert len(list(found.messages(sent=True))) == 4


def test_what_is_wrong_is_one_line_and_leaves_no_file(served: Served, tmp_path: Path) -> None:
    url, file = served.ports["a"][0], tmp_path / "s.jsonl"
    assert "cannot be opened: No such file" in refusal("card", tmp_path / "tty", "record", file)
    assert "--listen: found 'ptx'; allowed are pty" in refusal("card", url, "record", file, "--listen", "ptx")
    assert "both write a session" in refusal("card", "--record", "x", url, "record", file)
    assert not file.exists()
    assert (
        refusal("card", url, "record", tmp_path)
        == f"ringhil: {tmp_path}: cannot be written: it is a folder; name a file"
    )


class Ends:
    """A relay between two ends of ours: a card behind TCP, a program at a pty or behind TCP."""

    def __init__(self, folder: Path, *, tcp: bool) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        card = serial.serial_for_url(f"socket://127.0.0.1:{self.listener.getsockname()[1]}")
        self.card = self.listener.accept()[0]
        self.card.setblocking(False)
        where = TcpListener("127.0.0.1", 0) if tcp else Pty()
        self.name = where.name
        self.file = folder / "s.jsonl"
        self.relay = Relay(card, where, SessionWriter(self.file, "x"))

    def joined(self) -> socket.socket:
        host, port = self.name.removeprefix("socket://").split(":")
        return socket.create_connection((host, int(port)))

    def look_until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + 30
        while not done():
            assert time.monotonic() < end
            self.relay.look(0.01)

    def close(self) -> None:
        self.relay.close()
        self.card.close()
        self.listener.close()


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    ends = Ends(tmp_path, tcp=True)
    yield ends
    ends.close()


def full(peer: socket.socket, ends: Ends) -> int:
    """Write as long as it is taken; bytes that were."""
    peer.setblocking(False)
    written, refused = 0, 0
    while refused < 50:
        try:
            written += peer.send(bytes(1 << 16))
            refused = 0
        except BlockingIOError:
            refused += 1
        ends.relay.look(0)
        assert len(ends.relay.to_card) < 2 * ROOM
        assert len(ends.relay.to_program) < 2 * ROOM
        assert written < 1 << 28
    return written


@pytest.mark.parametrize("slow", ["card", "program"])
def test_who_does_not_read_makes_nothing_grow_and_nothing_is_lost(ends: Ends, slow: str) -> None:
    with ends.joined() as program:
        writing, reading = (program, ends.card) if slow == "card" else (ends.card, program)
        ends.look_until(lambda: ends.relay._program is not None)
        written = full(writing, ends)
        assert written > ROOM
        reading.setblocking(False)
        got = [0]

        def all_read() -> bool:
            with suppress(BlockingIOError):
                got[0] += len(reading.recv(1 << 20))
            return got[0] == written

        ends.look_until(all_read)
    assert sum(len(b.data) for b in load_session(ends.file).bursts if b.sent == (slow == "card")) == written


def test_a_program_that_goes_leaves_nothing_for_the_next_one(ends: Ends) -> None:
    first = ends.joined()
    ends.look_until(lambda: ends.relay._program is not None)
    full(ends.card, ends)
    first.close()
    ends.look_until(lambda: ends.relay._program is None)
    assert not ends.relay.to_program
    ends.card.setblocking(False)
    with ends.joined() as second:
        second.sendall(b"hello")
        heard = bytearray()

        def came() -> bool:
            with suppress(BlockingIOError):
                heard.extend(ends.card.recv(100))
            return heard == b"hello"

        ends.look_until(came)


def test_one_program_at_a_time(ends: Ends) -> None:
    with ends.joined() as one, ends.joined() as two:
        two.sendall(b"two")
        one.sendall(b"one")
        for _ in range(20):
            ends.relay.look(0.01)
        assert ends.card.recv(100) == b"one"
        assert isinstance(ends.relay._program, Connection)


def test_without_a_program_what_comes_is_recorded(ends: Ends) -> None:
    ends.card.sendall(b"event")
    ends.look_until(lambda: b"6576656e74" in ends.file.read_bytes())
    assert not ends.relay.to_program


def test_a_card_that_takes_a_part_is_given_the_rest(tmp_path: Path) -> None:
    """A pty takes 4 KB or so; what was not taken is not in the session yet."""
    ours, theirs = os.openpty()
    card = serial.Serial(os.ttyname(theirs))
    where = TcpListener("127.0.0.1", 0)
    relay = Relay(card, where, SessionWriter(tmp_path / "s", "x"))
    host, port = where.name.removeprefix("socket://").split(":")
    with socket.create_connection((host, int(port))) as program:
        program.sendall(b"x" * 50_000)
        for _ in range(50):
            relay.look(0.01)
        noted = sum(len(burst.data) for burst in load_session(tmp_path / "s").bursts)
        assert noted < 50_000
        got = 0
        end = time.monotonic() + 30
        while got < 50_000 and time.monotonic() < end:
            os.set_blocking(ours, False)
            with suppress(BlockingIOError):
                got += len(os.read(ours, 1 << 16))
            relay.look(0.01)
    assert got == 50_000
    relay.close()
    assert sum(len(burst.data) for burst in load_session(tmp_path / "s").bursts) == 50_000
    os.close(ours)
    os.close(theirs)
