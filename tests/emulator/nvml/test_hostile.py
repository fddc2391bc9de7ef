"""Whatever comes, the server goes on, and others are answered."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.nvml import listener, peer
from ringhil.emulator.nvml.listener import NvmlListener, nvml_listener, samples_every
from ringhil.emulator.nvml.messages import VERSION, NvmlAnswer, NvmlTopic, Question, SocketError, Status
from ringhil.emulator.nvml.peer import PeerProcess
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer

from .served import TEXT


class Listening(NamedTuple):
    server: LiveServer
    listener: NvmlListener

    def line(self) -> socket.socket:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.setblocking(False)
        line.connect(str(self.listener.path))
        return line

    def told(self, packet: bytes) -> bytes:
        """To a new client."""
        with self.line() as line:
            line.send(packet)
            self.listener.attend()  # it comes
            self.listener.attend()  # its question
            return line.recv(4096)


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    server = LiveServer(loads(TEXT), cells_library())
    listener = nvml_listener(tmp_path_factory.mktemp("nvml") / "s", server, samples_every(60_000))
    server.start()
    server.run_to(60_000)
    yield Listening(server, listener)
    listener.close()
    server.engine.close()


PACKETS = st.one_of(
    st.binary(max_size=300),
    st.builds(
        lambda what, gpu, number, text: b"RVM1" + b"".join(n.to_bytes(4, "little") for n in (what, gpu, number)) + text,
        st.integers(0, 20),
        st.integers(0, 2**32 - 1) | st.integers(0, 8),
        st.integers(0, 2**32 - 1) | st.integers(0, 8),
        st.binary(min_size=96, max_size=96)
        | st.text("0123456789abc.:-", max_size=90).map(lambda t: t.encode().ljust(96, b"\0")),
    ),
)


@given(st.lists(PACKETS, min_size=1, max_size=4))
def test_any_packets(listening: Listening, packets: list[bytes]) -> None:
    with listening.line() as line:
        for packet in packets:
            with suppress(OSError):
                line.send(packet)
            listening.listener.attend()
        listening.listener.attend()
        with suppress(OSError):
            while answer := line.recv(4096):
                NvmlAnswer.unpacked(answer)
    listening.listener.attend()
    assert NvmlAnswer.unpacked(listening.told(Question(NvmlTopic.COUNT).packed())).data[0] == 6


def test_who_asks_and_never_reads_is_sent_away_and_keeps_nobody_waiting(listening: Listening) -> None:
    question = Question(NvmlTopic.PROCESSES, gpu=4).packed()
    with listening.line() as line:
        asked = 0
        with suppress(ConnectionError):
            for _ in range(100_000):
                with suppress(BlockingIOError):
                    line.send(question)
                    asked += 1
                listening.listener.attend()
            pytest.fail(f"{asked} questions have been answered, and nobody has read")
    assert asked > 1
    assert NvmlAnswer.unpacked(listening.told(question)).number == 2


def test_who_goes_while_it_waits_is_forgotten(tmp_path: Path) -> None:
    """Before the cards are counted nobody is told anything; who has waited is answered then."""
    server = LiveServer(loads(TEXT), cells_library())
    listener = nvml_listener(tmp_path / "s", server, samples_every(6_000))
    waiting = Listening(server, listener)
    server.start()
    gone, stays = waiting.line(), waiting.line()
    for line in (gone, stays):
        line.send(Question(NvmlTopic.UTILISATION, gpu=4).packed())
        listener.attend()
        listener.attend()
    gone.close()
    with pytest.raises(BlockingIOError):
        stays.recv(4096)
    server.run_to(30_000)
    assert NvmlAnswer.unpacked(stays.recv(4096)).status is Status.SUCCESS
    stays.close()
    listener.close()
    server.engine.close()


def test_another_version_is_told_so(listening: Listening) -> None:
    answer = NvmlAnswer.unpacked(listening.told(Question(NvmlTopic.HELLO, number=VERSION + 1).packed()))
    assert answer.status is Status.LIB_RM_VERSION_MISMATCH


def test_a_process_with_the_number_of_who_connected_is_another_one(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that was left to a child, which has come to its dead parent's number."""
    with listening.line() as line:
        listening.listener.attend()
        monkeypatch.setattr(peer, "began", lambda pid: 0)
        line.send(Question(NvmlTopic.COUNT).packed())
        listening.listener.attend()
        assert line.recv(4096) == b""


def test_where_a_socket_can_be(listening: Listening, tmp_path: Path) -> None:
    def refused(path: Path) -> str:
        with pytest.raises(SocketError) as caught:
            nvml_listener(path, listening.server, samples_every(None))
        return str(caught.value).removeprefix(f"{path}: ")

    file = tmp_path / "file"
    file.write_text("mine")
    assert refused(file) == "is there, and no socket"
    assert file.read_text() == "mine"
    assert refused(listening.listener.path) == "somebody listens there already"
    assert refused(tmp_path / "no" / "s") == "cannot be listened at: No such file or directory"
    long = tmp_path / ("x" * 100)
    assert refused(long) == f"a socket's path has at most 107 bytes; this one has {len(str(long))}"


def test_a_socket_that_nobody_listens_at_is_replaced_and_goes_in_the_end(listening: Listening, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(str(path))
    listener = nvml_listener(path, listening.server, samples_every(None))
    assert path.is_socket()
    listener.close()
    assert not path.exists()


def test_descriptors_that_are_sent_along_are_nobodys(listening: Listening) -> None:
    with listening.line() as line, socket.socket() as other:
        line.send(Question(NvmlTopic.HELLO, number=VERSION).packed())
        for _ in range(8):  # also those of other tests, who have gone
            listening.listener.attend()
        line.recv(4096)
        there = sorted(Path("/proc/self/fd").iterdir())
        for _ in range(3):
            socket.send_fds(line, [Question(NvmlTopic.COUNT).packed()], [other.fileno()] * 20)
            listening.listener.attend()
            assert NvmlAnswer.unpacked(line.recv(4096)).data[0] == 6
        assert sorted(Path("/proc/self/fd").iterdir()) == there


def test_nobody_takes_all_places(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the server doesn't trust has some of them, all such users together leave some for the others, and a
    process has few."""
    numbers, users = count(1), {"server": os.geteuid()}

    def connected(user: str, processes: int = 10_000) -> int:
        """So many of `user` are let in, if they come until nobody is."""
        for found in range(1000):
            pid = next(numbers) % processes
            peer = PeerProcess(pid, users.setdefault(user, 70_000 + len(users)), 1)
            monkeypatch.setattr(listener, "peer_of", lambda connection, peer=peer: peer)
            lines.append(listening.line())
            listening.listener.attend()
            try:
                assert lines[-1].recv(1) == b""
            except BlockingIOError:
                continue
            return found
        raise AssertionError

    lines = list[socket.socket]()
    for _ in range(8):
        listening.listener.attend()
    try:
        assert connected("server", 1) == listener.MOST_OF_ONE
        assert connected("one", 1) == listener.MOST_OF_ONE
        assert connected("one") == listener.MOST_OF_USER - listener.MOST_OF_ONE
        assert connected("two") == listener.MOST_OF_USER
        assert connected("three") == listener.MOST_OF_USER
        assert connected("four") == 0
        assert listener.MOST_OF_OTHERS == 3 * listener.MOST_OF_USER
        assert connected("server") == listener.MOST_CLIENTS - listener.MOST_OF_OTHERS - listener.MOST_OF_ONE
    finally:
        for line in lines:
            line.close()
        for _ in lines:
            listening.listener.attend()
    monkeypatch.undo()
    assert NvmlAnswer.unpacked(listening.told(Question(NvmlTopic.COUNT).packed())).data[0] == 6


def test_a_socket_that_another_server_has_put_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "s"
    first = NvmlListener(path, mock.Mock())
    path.unlink()
    second = NvmlListener(path, mock.Mock())
    first.close()
    assert path.is_socket()
    second.close()
    assert not path.exists()


def test_a_packet_that_is_too_long_ends_the_connection(listening: Listening) -> None:
    right = Question(NvmlTopic.COUNT).packed()
    assert listening.told(right)
    assert listening.told(right + b"\0") == b""
