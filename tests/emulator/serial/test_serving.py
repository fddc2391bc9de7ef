"""`ringhil serve` and `ringhil card` as users meet them: processes, ptys, sockets."""

import itertools
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.serial.journal_writer import Journal, header
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.lines import ListenError, Pty, TcpListener
from ringhil.emulator.serial.listening import ALLOWED, opened
from ringhil.emulator.serial.port import room_at
from ringhil.emulator.serial.serving import MOST_CLIENTS, Serving
from ringhil.emulator.serial.speeds import BAUD
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import EventKind, LineFault
from ringhil.protocol.line.messages import LastCensusRequest, LineRequest, SubscribeRequest, TimeRequest, WriteRequest
from ringhil.protocol.registers import ADDRESS

TWO = "server: {cards: {a: {gpus: 4}, b: {gpus: 3}}}\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path, TWO, "--listen", "pty", "--listen", "tcp://127.0.0.1:0") as served:
        yield served


def test_each_card_has_a_port_of_each_kind_and_a_client_finds_it_there(served: Served) -> None:
    assert {name: len(ports) for name, ports in served.ports.items()} == {"a": 2, "b": 2}
    for name, gpus in (("a", 4), ("b", 3)):
        for url in served.ports[name]:
            with CardClient.open(url, timeout=20) as card:
                assert (card.info.gpus, card.info.name) == (gpus, name)
                assert card.census(timeout=30).count == gpus
                assert card.read(1, "watchdog") == 64
    assert served.end(signal.SIGTERM) == (0, "")


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


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


def test_clients_come_and_go_and_the_ring_goes_on(served: Served) -> None:
    url = served.ports["a"][1]
    with CardClient.open(url, timeout=20) as one, CardClient.open(url, timeout=20) as two:
        two.subscribe(EventKind.FAULTS)
        one.fault(LineFault.DEAD, 2)
        (told,) = [next(two.events(20))]
        assert told.gpu == 2  # type: ignore[union-attr]
        assert two.census(timeout=30).members == (0, 1, 3)
    # One goes in the middle of a message, one never reads.
    host, port = url.removeprefix("socket://").split(":")
    with socket.create_connection((host, int(port))) as peer:
        peer.sendall(b"\0\x03ab")
    with CardClient.open(url, timeout=20) as deaf, CardClient.open(url, timeout=20) as other:
        deaf.subscribe(EventKind.FRAMES)
        before = other.now()
        for _ in range(20):
            assert other.census(timeout=30).count == 3
        assert other.now() > before
    assert served.end(signal.SIGINT) == (0, "")


def test_a_pty_goes_from_client_to_client(served: Served) -> None:
    pty = served.ports["b"][0]
    for n in range(3):
        with CardClient.open(pty, timeout=20) as card:
            card.subscribe(EventKind.FRAMES)
            card.write(0, "weight", n + 1)
    done = ringhil("card", "--timeout", 20, pty, "read", 0, "weight", "--json")
    assert (done.stderr, json.loads(done.stdout or "{}")) == ("", {"weight": 3})


def test_when_the_server_goes_a_client_is_told(served: Served) -> None:
    with CardClient.open(served.ports["a"][1], timeout=5) as card:
        assert card.now() >= 0
        served.end(signal.SIGTERM)
        with pytest.raises(CardError, match="the line is gone: "):
            card.census()


def test_work_that_can_not_be_read_any_more_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "work").write_bytes(bytes(30_000_000))
    served = Served(tmp_path, f"{ONE}workload: {{data: work, size: 256}}\n")
    (tmp_path / "work").write_bytes(b"")
    _, errors = served.process.communicate(timeout=60)
    assert served.process.returncode == 2
    assert errors == f"ringhil: {tmp_path}/work: has become shorter while it was being read\n"


@pytest.fixture
def run() -> Iterator[Run]:
    run = Run(loads(ONE), cells_library())
    run.start()
    yield run
    run.close()


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


def test_who_does_not_read_is_not_read_from_until_it_does(run: Run) -> None:
    serving, line = Serving(run), Pty()
    serving.add(0, line)
    client = os.open(line.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    os.write(client, wrap(encode(SubscribeRequest(1, EventKind.FRAMES))))
    rounds = iter(range(5000))
    serving.serve(lambda: line.fileno() not in serving._selector.get_map() or next(rounds, None) is None)
    assert line.fileno() not in serving._selector.get_map()
    for _ in range(1000):
        with suppress(BlockingIOError):
            os.read(client, 1 << 16)
        serving._look(0)
    assert line.fileno() in serving._selector.get_map()
    os.close(client)
    serving.close()


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


def struck(folder: Path) -> list[str]:
    """What of the same bytes arrives at a noisy card, of each of two clients."""
    run = Run(loads(f"{ONE}timeline: [{{at: 1, fault: line_drop, card: a, rate: 30000}}]\n"), cells_library())
    with Journal(folder / "session", header(run, None)) as journal:
        serving, lines = Serving(run, note=journal.write), [Pty(), Pty()]
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
    rows = [json.loads(row) for row in (folder / "session").read_text().splitlines()[1:]]
    return ["".join(row["in"] for row in rows if row["client"] == number and "in" in row) for number in (1, 2)]


def test_noise_is_the_same_in_every_run_and_another_one_for_each_client(tmp_path: Path) -> None:
    """Or who comes again, as nothing was understood, would not be understood again."""
    one, other = struck(tmp_path)
    assert min(len(one), len(other)) > 100
    assert one != other
    assert struck(tmp_path) == [one, other]


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
    serving, line = Serving(run), Pty()
    serving.add(0, line)
    client = os.open(line.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    os.write(client, wrap(encode(SubscribeRequest(1, EventKind.FRAMES))))
    rounds = iter(range(5000))
    serving.serve(lambda: line.fileno() not in serving._selector.get_map() or next(rounds, None) is None)
    assert line.fileno() not in serving._selector.get_map()
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


def test_a_paced_ring_keeps_to_its_clock_and_says_so(tmp_path: Path) -> None:
    served = Served(tmp_path, ONE, "--listen", "tcp://127.0.0.1:0", "--clock", "20000")
    with CardClient.open(served.ports["a"][0], timeout=20) as card:
        assert card.info.clock == 20_000
        assert "paced" in card.info.capabilities
        assert card.info.now < 20_000 * 60
    assert served.end(signal.SIGINT) == (0, "")


def test_ports_of_rfc2217_and_real_ones_are_ports_too(tmp_path: Path) -> None:
    """A pseudo terminal stands for the real port: pyserial opens it as one."""
    ours, theirs = os.openpty()
    cable = os.ttyname(theirs)
    served = Served(tmp_path, ONE, "--listen", "rfc2217://127.0.0.1:0", "--listen", cable)
    url, port = served.ports["a"]
    assert url.startswith("rfc2217://127.0.0.1:")
    assert port == cable
    with CardClient.open(url, timeout=20) as card:
        assert card.census(timeout=30).count == 4
    os.write(ours, wrap(encode(TimeRequest(0xFF11))))
    unwrapper, found = Unwrapper(), list[bytes | Damaged]()
    while not found:
        found = unwrapper.feed(os.read(ours, 1 << 16))
    assert isinstance(found[0], bytes)
    assert decode(found[0]).id == 0xFF11
    assert served.end(signal.SIGTERM) == (0, "")
    os.close(ours)
    os.close(theirs)


def test_a_session_is_recorded_until_the_end_and_replays(tmp_path: Path) -> None:
    record = tmp_path / "session"
    served = Served(tmp_path, ONE, "--record", str(record))
    with CardClient.open(served.ports["a"][0], timeout=20) as card:
        card.fault(LineFault.DEAD, 2)
        assert card.census(timeout=30).count == 3
    assert served.end(signal.SIGINT) == (0, "")
    with Recording(record) as recording:
        assert recording.outcome is not None
        assert recording.outcome["verdict"] == "pass"
    assert ringhil("replay", record).stdout.startswith("identical: ")


def test_of_a_server_that_is_killed_the_session_is_there_up_to_a_second_before(tmp_path: Path) -> None:
    """What is there replays, is stepped and exported."""
    record = tmp_path / "session"
    served = Served(tmp_path, ONE, "--record", str(record))
    with CardClient.open(served.ports["a"][0], timeout=20) as card:
        assert card.census(timeout=30).count == 4
        while messages_in(record) < 20:  # they come when they are saved
            card.now()
    assert served.end(signal.SIGKILL)[0] == -signal.SIGKILL
    done = ringhil("replay", record)
    assert done.stdout.startswith("identical: ")
    assert done.stdout.endswith(f"; {record} breaks off there\n")
    script = tmp_path / "script"
    script.write_text("until kind == statistics\nstate a.1\n")
    stepped = ringhil("step", record, "--script", script)
    assert (stepped.returncode, stepped.stderr) == (0, "")
    assert "weight" in stepped.stdout
    exported = ringhil("export", record, "--format", "jsonl", "-o", "-")
    assert exported.returncode == 0
    assert exported.stdout.count("\n") > 10


def messages_in(record: Path) -> int:
    """Those that have been saved."""
    with Recording(record) as recording:
        return len(recording)


def test_a_session_with_somebody_s_firmware_replays_with_that(tmp_path: Path) -> None:
    record, firmware = tmp_path / "session", "*=ringhil.firmware.boot:our_program"
    served = Served(tmp_path, ONE, "--record", str(record), "--firmware", firmware)
    with CardClient.open(served.ports["a"][0], timeout=20) as card:
        assert card.census(timeout=30).count == 4
    assert served.end(signal.SIGINT) == (0, "")
    said = refusal("replay", record)
    assert said == f"ringhil: {record}: was recorded with --firmware {firmware}; found our firmware"
    assert ringhil("replay", record, "--firmware", firmware).stdout.startswith("identical: ")


def test_a_real_port_that_is_gone_is_told_and_nobody_is_served_any_more(tmp_path: Path) -> None:
    (ours, theirs), record = os.openpty(), tmp_path / "session"
    cable = os.ttyname(theirs)
    served = Served(tmp_path, ONE, "--listen", cable, "--record", str(record))
    os.close(ours)
    os.close(theirs)
    _, errors = served.process.communicate(timeout=60)
    assert errors == f"ringhil: {cable}: the line is gone\nringhil: no port is left to serve\n"
    assert served.process.returncode == 2
    with Recording(record) as recording:
        assert json.loads(next(recording.outside())[1])["room"] == room_at(BAUD)  # of its own wires; none was asked for
        assert recording.outcome is not None
        assert recording.outcome["verdict"] == "pass"


def test_a_real_port_is_nobody_else_s() -> None:
    ours, theirs = os.openpty()
    cable = os.ttyname(theirs)
    with closing(opened(cable)), pytest.raises(ListenError, match=f"{cable}: cannot be opened: another program has it"):
        opened(cable)
    os.close(ours)
    os.close(theirs)


def test_who_has_another_port_is_served_on(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    cable = os.ttyname(theirs)
    served = Served(tmp_path, ONE, "--listen", cable, "--listen", "tcp://127.0.0.1:0")
    os.close(ours)
    os.close(theirs)
    assert served.process.stderr is not None
    assert served.process.stderr.readline() == f"ringhil: {cable}: the line is gone\n"
    with CardClient.open(served.ports["a"][1], timeout=20) as card:
        assert card.info.gpus == 4
    assert served.end(signal.SIGTERM) == (0, "")


def test_a_disk_that_is_full_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000));"
        "from ringhil.emulator.front.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "serve", "s.yaml", "--record", "session"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr in [
        f"ringhil: session: cannot be written: {why}\n" for why in ("database or disk is full", "disk I/O error")
    ]
    said = refusal("serve", "s.yaml", "--record", "/dev/full", cwd=tmp_path)
    assert said == "ringhil: /dev/full: cannot be written: it is no file; name a file"
    assert "-: a session goes to a file" in refusal("serve", "s.yaml", "--record", "-", cwd=tmp_path)


def test_a_second_program_is_told_that_another_has_the_port(tmp_path: Path) -> None:
    with Served(tmp_path, ONE) as served, CardClient.open(served.ports["a"][0], timeout=20) as card:
        said = refusal("card", served.ports["a"][0], "info")
        assert said == f"ringhil: {served.ports['a'][0]}: cannot be opened: another program has it"
        assert card.census(timeout=30).count == 4


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


def test_what_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text(ONE)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal("serve", file, "--listen", f"tcp://127.0.0.1:{port}")
        assert said == f"ringhil: tcp://127.0.0.1:{port}: cannot be opened: Address already in use"
    for where in (
        "tcp://127.0.0.1",
        "tcp://:99",
        "tcp://127.0.0.1:70000",
        "udp://127.0.0.1:1",
        "ptx",
        "rfc2217://127.0.0.1",
    ):
        said = refusal("serve", file, "--listen", where)
        assert said == f"ringhil: --listen: found '{where}'; allowed are {ALLOWED}"
    said = refusal("serve", file, "--listen", "/nowhere/ttyX", "--record", tmp_path / "session")
    assert said == "ringhil: /nowhere/ttyX: cannot be opened: No such file or directory"
    assert not (tmp_path / "session").exists()
    said = refusal("serve", file, "--record", tmp_path / "none" / "session")
    assert said == f"ringhil: {tmp_path}/none/session: cannot be written: No such file or directory"
    assert "--baud: needs --clock" in refusal("serve", file, "--baud", "9600")
    assert "--card: found 'b'; there are a" in refusal("serve", file, "--card", "b")
    assert "missing.yaml: cannot be read" in refusal("serve", tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info"], "name         a\n"),
        (["census"], "4 of 4 GPUs work: GPUs 0, 1, 2, 3 (ring, cycle "),
        (["census", "--last"], "4 of 4 GPUs work"),
        (["read", "1", "status"], "healthy"),
        (["read", "a.1", "status"], "healthy"),
        (["fault", "dead", "a.2"], "set at cycle "),
        (["fault", "link_cut", "a.3-a.0"], "set at cycle "),
        (["read", "0x1"], "watchdog          0x00000040         64"),
        (["read", "1", "0x3"], "watchdog          0x00000040         64\n"),
        (["read", "1", "32", "--json"], '{"status": 2'),
        (["write", "1", "weight", "0x10"], "written at cycle "),
        (["fault", "dead", "2"], "set at cycle "),
        (["fault", "link_bit_errors", "2", "--value", "9"], "set at cycle "),
        (["watch", "--events", "counts", "--number", "2"], "event=count count=4 size=4 members=(0, 1, 2, 3)"),
        (["watch", "--number", "1", "--json"], '{"event": "count", "count": 4'),
        (["watch", "--events", "frames", "--number", "9"], "event=frame cycle="),
        (["watch", "--events", "roles", "--for", "0.001"], ""),
    ],
)
def test_commands(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    done = ringhil("card", "emulated:///s.yaml", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


@pytest.mark.parametrize("address", ["0x20", "32", "0b100000"])
def test_a_register_is_shown_alike_by_name_and_by_address(tmp_path: Path, address: str) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    by_name, by_address = (
        ringhil("card", "emulated:///s.yaml", "read", "3", register, cwd=tmp_path) for register in ("status", address)
    )
    assert by_name.stdout.startswith("status   ")
    assert "healthy" in by_name.stdout
    assert (by_address.stdout, by_address.stderr) == (by_name.stdout, "")


def test_a_census_as_a_document(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    document = json.loads(ringhil("card", "emulated:///s.yaml", "census", "--json", cwd=tmp_path).stdout)
    names = ("card", "count", "members", "entry", "epoch", "cycle")
    card, count, members, entry, epoch, cycle = (document[name] for name in names)
    assert (card, count, members, entry, epoch) == ("a", 4, [0, 1, 2, 3], 0, 1)
    assert cycle > document["sent_at"] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["read", "9", "status"], "ringhil: the card refuses: GPU 9: the card has 0 .. 3 (no_such_gpu)"),
        (["read", "b.1", "status"], "URL read: GPU: found 'b.1'; this is card a"),
        (["read", "a.x"], "GPU: found 'a.x'; allowed is "),
        (["fault", "dead", "a.1-a.2"], "GPU: found 'a.1-a.2'; dead strikes a GPU, such as a.3"),
        (["fault", "dead", "b.1"], "URL fault: GPU: found 'b.1'; this is card a"),
        (["fault", "link_cut", "a.1-a.3"], "GPU: 'a.1-a.3'"),
        (["fault", "link_cut", "b.1-b.2"], "URL fault: GPU: found 'b.1-b.2'; this is card a"),
        (["read", "1", "statu"], "ringhil: register: found 'statu'; allowed are control, gpu_type"),
        (["read", "1", "1abc"], "ringhil: found '1abc'; allowed is a number from 0 to 0xFFFFFFFF"),
        (["read", "1", "300"], "address = 300; allowed are whole numbers from 0 to 255"),
        (["write", "1", "weight", "-1"], "found '-1'; allowed is a number from 0 to 0xFFFFFFFF"),
        (["fault", "ded", "1"], "found 'ded'; allowed are dead, hang"),
        (["fault", "dead", "1", "--clear"], "ringhil: the card refuses: dead of GPU 1 is not set (bad_value)"),
        (["send", "1", "cw", "0g"], "'FRAME': found '0g'; allowed are pairs of hexadecimal digits"),
        (["watch", "--for", "nan"], "'--for': found 'nan'; allowed is a number of seconds, 0.001 or more"),
        (["watch", "--for", "0"], "'--for': found '0'; allowed is a number of seconds, 0.001 or more"),
        (["watch", "--for", "inf"], "'--for': found 'inf'; allowed is a number of seconds"),
        (["send", "1", "up", "00"], "found 'up'; allowed are cw, ccw, cpu, boundary"),
        (
            ["watch", "--events", "counts,sounds"],
            "Invalid value for '--events': found 'sounds'; allowed are frames, roles, counts, faults",
        ),
    ],
)
def test_wrong_commands(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "s.yaml").write_text(ONE)
    options = ["--", *arguments[1:]] if "-1" in arguments else arguments[1:]
    assert said in refusal("card", "emulated:///s.yaml", arguments[0], *options, cwd=tmp_path)


def test_no_such_port_is_one_line(tmp_path: Path) -> None:
    said = refusal("card", tmp_path / "ttyX", "info")
    assert said.startswith(f"ringhil: {tmp_path}/ttyX: cannot be opened: ")
    assert "No such file or directory" in said


def test_something_else_at_the_other_end_is_named() -> None:
    ours, theirs = os.openpty()
    os.write(ours, b"login: ")
    said = refusal("card", "--timeout", "0.5", os.ttyname(theirs), "info")
    os.close(ours)
    os.close(theirs)
    assert said.startswith("ringhil: no answer to hello in 4 tries of 0.5 s: ")
