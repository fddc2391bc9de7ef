"""`Serving` with a clock and with lines that have a speed, in the time that the test tells."""

import itertools
import os
import socket
from contextlib import suppress

import pytest

from ringhil.emulator.judge.run import Run
from ringhil.emulator.serial.server.lines import TcpListener
from ringhil.emulator.serial.server.listening import Pty
from ringhil.emulator.serial.server.serving import Serving
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import EventKind
from ringhil.protocol.line.messages import LineRequest, SubscribeRequest, TimeRequest, WriteRequest
from ringhil.protocol.registers import ADDRESS


def test_a_paced_ring_is_where_its_clock_is(run: Run) -> None:
    """Seconds as the test tells them. A ring that can't keep up for a second is late from then on."""
    seconds = iter([0.0, 0.0, 0.1, 0.25, 5.0, 5.0, 5.125, 5.5])
    cycles: list[int] = []
    serving = Serving(run, clock=10_000, monotonic=lambda: next(seconds))

    def enough() -> bool:
        cycles.append(run.kernel.now)
        return len(cycles) == 8

    serving.serve(enough)
    serving.close()
    late = 2500 + 2048
    assert cycles == [0, 0, 1000, 2500, late, late, late + 1250, late + 1250 + 2048]


def test_a_paced_ring_that_is_behind_looks_at_its_lines_all_the_same(run: Run) -> None:
    """However far behind: it goes on in small steps, and waits for nobody meanwhile."""
    seconds, waits = iter([0.0, *[0.9] * 6]), list[float]()
    serving = Serving(run, clock=10_000, monotonic=lambda: next(seconds))
    look, cycles = serving._look, list[int]()

    def watched(wait: float) -> bool:
        waits.append(wait)
        cycles.append(run.kernel.now)
        return look(0)

    serving._look = watched  # type: ignore[method-assign]
    serving.serve(lambda: len(waits) == 6)
    serving.close()
    assert cycles == [2048, 4096, 6144, 8192, 9000, 9000]
    assert [wait > 0 for wait in waits] == [False, False, False, False, True, True]


def test_who_sends_more_than_a_slow_line_takes_loses_nothing(run: Run) -> None:
    seconds = itertools.count(0.0, 0.01)
    serving = Serving(run, clock=10_000, baud=96_000, monotonic=lambda: next(seconds))
    listener = TcpListener("127.0.0.1", 0)
    serving.listen(0, listener)
    host, port = listener.name.removeprefix("socket://").split(":")
    sent = 70_000 * b"x" + b"\0" + wrap(encode(LineRequest(1)))
    with socket.create_connection((host, int(port))) as peer:
        peer.setblocking(False)
        left, unwrapper, came = sent, Unwrapper(), list[bytes | Damaged]()

        def answered() -> bool:
            nonlocal left
            with suppress(BlockingIOError):
                left = left[peer.send(left) :] if left else left
                came.extend(unwrapper.feed(peer.recv(1 << 16)))
            return bool(came) or next(seconds) > 600

        serving.serve(answered)
    serving.close()
    (line,) = came
    assert isinstance(line, bytes)
    assert decode(line).received == len(sent)  # type: ignore[attr-defined]


class Stuck(Pty):
    """Nothing goes to the client."""

    def write(self, data: bytes) -> int:
        return 0


def test_what_a_client_has_sent_arrives_although_it_does_not_read(run: Run) -> None:
    """On a line with a speed, where it is on its way for a while."""
    seconds = itertools.count(0.0, 0.001)
    serving, line = Serving(run, clock=100_000, baud=9600, monotonic=lambda: next(seconds)), Stuck()
    serving.add(0, line)
    client = os.open(line.name, os.O_RDWR | os.O_NOCTTY)
    for request in (TimeRequest(1), WriteRequest(2, 1, ADDRESS["weight"], 77)):
        os.write(client, wrap(encode(request)))
        rounds = iter(range(200))
        serving.serve(lambda rounds=rounds: next(rounds, None) is None)  # type: ignore[misc]
    assert run.engine.peek(1, "weight") == 77
    os.close(client)
    serving.close()


def test_lines_have_a_speed_when_one_is_asked_for(run: Run) -> None:
    """9600 baud: 960 bytes a second each way, in the time that the test tells."""
    now = [0.0]
    serving, line = Serving(run, clock=10_000, baud=9600, monotonic=lambda: now[0]), Pty()
    serving.add(0, line)
    client = os.open(line.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    os.write(client, wrap(encode(SubscribeRequest(1, EventKind.FRAMES))))
    came = [0]

    def looked() -> bool:
        now[0] = len(came) / 100
        with suppress(BlockingIOError):
            came.append(came[-1] + len(os.read(client, 1 << 16)))
            return len(came) > 300
        came.append(came[-1])
        return len(came) > 300

    serving.serve(looked)
    steady = came[300] - came[100]
    assert 0.98 * 1920 < steady < 1.02 * 1920
    os.close(client)
    serving.close()


@pytest.mark.rest
def test_events_on_a_slow_line_keep_no_answer_waiting(run: Run) -> None:
    """9600 baud, and more events than it carries, for a while: the answer comes within a second of the line's time."""
    now = [0.0]
    serving, line = Serving(run, clock=40_000, baud=9600, monotonic=lambda: now[0]), Pty()
    serving.add(0, line)
    client = os.open(line.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    os.write(client, wrap(encode(SubscribeRequest(1, EventKind.FRAMES))))
    unwrapper, asked, answered = Unwrapper(), 20.0, list[float]()

    def looked() -> bool:
        if now[0] < asked <= now[0] + 0.02:
            os.write(client, wrap(encode(TimeRequest(2))))
        now[0] += 0.02
        with suppress(BlockingIOError):
            for each in unwrapper.feed(os.read(client, 1 << 16)):
                if isinstance(each, bytes) and decode(each).id == 2:
                    answered.append(now[0])
        return bool(answered) or now[0] > asked + 60

    serving.serve(looked)
    os.close(client)
    serving.close()
    assert answered
    assert answered[0] < asked + 1
