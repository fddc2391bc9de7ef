"""`ringhil serve` as users meet it: a process, ptys, sockets, real ports."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.line import BAUD
from ringhil.emulator.serial.port.port import room_at
from ringhil.emulator.serial.server.lines import ListenError
from ringhil.emulator.serial.server.listening import ALLOWED, opened
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.management import EventKind, LineFault
from ringhil.protocol.line.messages import TimeRequest

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


def test_a_second_program_is_told_that_another_has_the_port(tmp_path: Path) -> None:
    with Served(tmp_path, ONE) as served, CardClient.open(served.ports["a"][0], timeout=20) as card:
        said = refusal("card", served.ports["a"][0], "info")
        assert said == f"ringhil: {served.ports['a'][0]}: cannot be opened: another program has it"
        assert card.census(timeout=30).count == 4


@pytest.mark.rest
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
    (two := tmp_path / "two.yaml").write_text("server: {cards: {a: {gpus: 2}, b: {gpus: 2}}}")
    for where in ("tcp://127.0.0.1:7007", "rfc2217://127.0.0.1:7007", "/nowhere/ttyX"):
        said = refusal("serve", two, "--listen", "pty", "--listen", where)
        assert said.startswith(f"ringhil serve: --listen {where}: is for one card, and there are a, b; ")
        assert "there are a, b" not in refusal("serve", two, "--listen", "/nowhere/ttyX", "--card", "b")
    said = refusal("serve", file, "--listen", "/nowhere/ttyX", "--record", tmp_path / "session")
    assert said == "ringhil: /nowhere/ttyX: cannot be opened: No such file or directory"
    assert not (tmp_path / "session").exists()
    said = refusal("serve", file, "--record", tmp_path / "none" / "session")
    assert said == f"ringhil: {tmp_path}/none/session: cannot be written: No such file or directory"
    assert "--baud: needs --clock" in refusal("serve", file, "--baud", "9600")
    assert "--card: found 'b'; there are a" in refusal("serve", file, "--card", "b")
    assert "missing.yaml: cannot be read" in refusal("serve", tmp_path / "missing.yaml")
