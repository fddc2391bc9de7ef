"""Clients of `Serving` that come and go, ask much, or never read."""

import os
import socket
import struct
import threading
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from tests.emulator.serial.served import ONE

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.client import CardClient
from ringhil.emulator.serial.server.lines import TcpListener
from ringhil.emulator.serial.server.listening import Pty, opened
from ringhil.emulator.serial.server.serving import MOST_CLIENTS, Serving
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.management import EventKind
from ringhil.protocol.line.messages import LastCensusRequest, SubscribeRequest, TimeRequest


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.rest(but_one_in=2)
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("scheme", ["tcp", "rfc2217"])
def test_a_host_may_be_one_of_ipv6(scheme: str, run: Run) -> None:
    serving, listener = Serving(run), opened(f"{scheme}://[::1]:0")
    assert isinstance(listener, TcpListener)
    serving.listen(0, listener)
    found = list[str]()

    def client() -> None:
        with CardClient.open(listener.name, timeout=20) as card:
            found.append(card.info.name)

    user = threading.Thread(target=client)
    user.start()
    serving.serve(lambda: not user.is_alive())
    serving.close()
    assert found == ["a"]


def test_no_more_clients_are_taken_than_there_is_room_for(run: Run) -> None:
    serving, listener = Serving(run), TcpListener("127.0.0.1", 0)
    serving.listen(0, listener)
    host, port = listener.name.removeprefix("socket://").split(":")
    with ExitStack() as stack:
        peers = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(MOST_CLIENTS + 1)]
        rounds = iter(range(MOST_CLIENTS + 20))
        serving.serve(lambda: next(rounds, None) is None)
        peers[-1].settimeout(10)
        assert peers[-1].recv(1) == b""
        peers[0].setblocking(False)
        with pytest.raises(BlockingIOError):
            peers[0].recv(1)
        serving.close()


def unread(run: Run) -> tuple[Serving, Pty, int]:
    """A client that wants to be told of all frames, and doesn't read: it is not read from any more."""
    serving, line = Serving(run), Pty()
    serving.add(0, line)
    client = os.open(line.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    os.write(client, wrap(encode(SubscribeRequest(1, EventKind.FRAMES))))
    rounds = iter(range(5000))
    serving.serve(lambda: line.fileno() not in serving._selector.get_map() or next(rounds, None) is None)
    assert line.fileno() not in serving._selector.get_map()
    return serving, line, client


def test_who_does_not_read_is_not_read_from_until_it_does(run: Run) -> None:
    serving, line, client = unread(run)
    for _ in range(1000):
        with suppress(BlockingIOError):
            os.read(client, 1 << 16)
        serving._look(0)
    assert line.fileno() in serving._selector.get_map()
    os.close(client)
    serving.close()


def struck() -> list[str]:
    """What of the same bytes arrives at a noisy card, of each of two clients."""
    run = Run(loads(f"{ONE}timeline: [{{at: 1, fault: line_drop, card: a, rate: 30000}}]\n"), cells_library())
    rows = list[dict[str, Any]]()
    serving, lines = Serving(run, note=rows.append), [Pty(), Pty()]
    for line in lines:
        serving.add(0, line)
    run.start()
    run.run_to(2)
    for line in lines:
        client = os.open(line.name, os.O_RDWR | os.O_NOCTTY)
        os.write(client, b"\0" + bytes(range(1, 201)))
        os.close(client)
        serving._look(20)
    serving.close()
    run.close()
    return ["".join(row["in"] for row in rows if row["client"] == number and "in" in row) for number in (1, 2)]


def test_noise_is_the_same_in_every_run_and_another_one_for_each_client() -> None:
    """Or who comes again, as nothing was understood, would not be understood again."""
    one, other = struck()
    assert min(len(one), len(other)) > 100
    assert one != other
    assert struck() == [one, other]


def test_who_asks_much_at_once_is_answered_a_little_at_a_time(run: Run) -> None:
    """Or the others would wait until all of it is done; and none of it is lost."""
    serving, listener, asked = Serving(run), TcpListener("127.0.0.1", 0), 1000
    serving.listen(0, listener)
    host, port = listener.name.removeprefix("socket://").split(":")
    with socket.create_connection((host, int(port))) as peer:
        peer.settimeout(20)
        serving._look(20)
        peer.sendall(b"".join(wrap(encode(TimeRequest(number + 1))) for number in range(asked)))
        unwrapper, answers = Unwrapper(), list[int]()
        while len(answers) < asked:
            assert serving._look(20)
            new = [decode(each).id for each in unwrapper.feed(peer.recv(1 << 16)) if isinstance(each, bytes)]
            assert len(new) < 100
            answers += new
    assert answers == [number + 1 for number in range(asked)]
    serving.close()


def test_lines_of_clients_that_do_not_read_are_closed_too(run: Run) -> None:
    serving, _, client = unread(run)
    serving.close()
    assert serving.deserted
    os.close(client)


def test_what_was_sent_before_a_connection_was_reset_arrives(run: Run) -> None:
    """Who closes with answers unread resets it: as `printf COMMANDS | nc` may do."""
    serving, listener = Serving(run), TcpListener("127.0.0.1", 0)
    serving.listen(0, listener)
    host, port = listener.name.removeprefix("socket://").split(":")
    peer = socket.create_connection((host, int(port)))
    serving._look(20)
    peer.sendall(b"time\r" * 500 + b"write 1 weight 77\r")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    rounds = iter(range(100))
    serving.serve(lambda: not serving._clients or next(rounds, None) is None)
    assert not serving._clients
    run.run_to(run.kernel.now + 10)
    assert run.engine.peek(1, "weight") == 77
    serving.close()


class DeafPeer:
    """A client by TCP that never reads, however much it asks."""

    def __init__(self, where: str) -> None:
        self.line = opened(where)
        self._peer = socket.socket()
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = self.line.name.partition("://")[2].split(":")
        self._peer.connect((host, int(port)))
        self._peer.setblocking(False)

    def ask(self) -> None:
        with suppress(BlockingIOError):
            self._peer.send(wrap(encode(LastCensusRequest(7))) * 100)

    def go(self) -> None:
        self._peer.close()


class DeafCable:
    """The same, behind a port of this machine's."""

    def __init__(self, where: str) -> None:
        self._ours, theirs = os.openpty()
        os.set_blocking(self._ours, False)
        self.line = opened(os.ttyname(theirs))
        os.close(theirs)

    def ask(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._ours, wrap(encode(LastCensusRequest(7))) * 100)

    def go(self) -> None:
        os.close(self._ours)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("kind", "where"),
    [(DeafPeer, "tcp://127.0.0.1:0"), (DeafPeer, "rfc2217://127.0.0.1:0"), (DeafCable, "/dev/pts")],
)
def test_who_goes_and_never_read_is_forgotten(run: Run, kind: type[DeafPeer | DeafCable], where: str) -> None:
    """Nothing is read from it any more, so that it has gone is not seen by reading. And 64 of them would be all."""
    lost = list[str]()
    serving, client = Serving(run, lost=lost.append), kind(where)
    line = client.line
    serving.listen(0, line) if isinstance(line, TcpListener) else serving.add(0, line)
    for _ in range(20_000):
        client.ask()
        serving._look(0)
        if any(not each.heard for each in serving._clients.values()):
            break
    assert [each.heard for each in serving._clients.values()] == [False]
    rounds = iter(range(50))
    serving.serve(lambda: next(rounds, None) is None)
    assert len(serving._clients) == 1  # it is there, and may read later
    client.go()
    rounds = iter(range(500))
    serving.serve(lambda: not serving._clients or next(rounds, None) is None)
    assert not serving._clients
    assert lost == ([] if isinstance(line, TcpListener) else [line.name])
    serving.close()


def test_a_pty_is_raw_for_whoever_opens_it(run: Run) -> None:
    """Without termios: bytes that a terminal would take for itself, and no end of line."""
    serving, line = Serving(run), Pty()
    serving.add(0, line)
    client = os.open(line.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    requests = [TimeRequest(number) for number in (0x0303, 0x0D0A, 0x1113, 0x7F04)]
    os.write(client, b"".join(wrap(encode(request)) for request in requests))
    unwrapper, answers = Unwrapper(), list[int]()
    for _ in range(100):  # a pty carries bytes when it finds the time
        serving._look(0.1 if len(answers) < len(requests) else 0)
        with suppress(BlockingIOError):
            found = unwrapper.feed(os.read(client, 1 << 16))
            answers += [decode(each).id for each in found if isinstance(each, bytes)]
    assert answers == [request.id for request in requests]
    os.close(client)
    serving.close()
