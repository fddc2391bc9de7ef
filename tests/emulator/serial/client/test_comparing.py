"""A card and an emulated one that do the same are equal; the first thing that differs is named, and nothing else."""

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from serial import SerialBase, serial_for_url
from tests.command import refusal, ringhil
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.serial.client import CardClient
from ringhil.emulator.serial.client.comparing import MAY_DIFFER, Asked, CardComparison, asked_in, compare, questions
from ringhil.emulator.serial.session.format import Burst, Session, load_session
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.management import EventKind, LineFault
from ringhil.protocol.registers import ADDRESS, REGISTERS

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def url(tmp_path: Path) -> str:
    (tmp_path / "s.yaml").write_text(ONE)
    (tmp_path / "fewer.yaml").write_text(ONE.replace("4", "3"))
    return f"emulated://{tmp_path}/s.yaml"


def differing(found: CardComparison) -> list[str]:
    return [name for name, *_, differs in found.rows if differs]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path, ONE, "--listen", "tcp://127.0.0.1:0") as served:
        yield served


def test_the_emulator_is_equal_to_itself_over_tcp(served: Served, tmp_path: Path) -> None:
    (port,) = served.ports["a"]
    done = ringhil("card", "--timeout", 20, port, "compare", "server.yaml#a", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    reads = 4 * len(REGISTERS)
    assert done.stdout.startswith(f"equal: {reads + 11} requests, ")
    assert f" times {reads + 7}, " in done.stdout
    assert " counters 88, " in done.stdout  # 22 of each GPU
    with CardClient.open(port, timeout=20) as card:
        card.write(2, "weight", 9)
    done = ringhil("card", "--timeout", 20, port, "compare", "server.yaml", "--json", cwd=tmp_path)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["equal"] is False
    assert document["difference"]["request"] == "ReadRequest(gpu=2, address=2, register weight)"
    (row,) = [row for row in document["difference"]["fields"] if row["differs"]]
    assert row == {"field": "value", "card": "0x00000009 9", "emulator": "0x00000001 1", "differs": True}
    assert served.end(signal.SIGTERM) == (0, "")


def test_what_must_differ_does_not_count(url: str) -> None:
    with CardClient.open(url) as card, CardClient.open(f"{url}?clock=500000") as emulator:
        list(card.events(0.1))
        card.census()
        assert card.now() > emulator.now() + 50_000
        assert card.read(1, "forwarded") > emulator.read(1, "forwarded")
        found = compare(card, emulator, questions(card))
    assert (found.asked, found.rows) == (None, [])
    assert found.may_differ.keys() >= {"times", "serial", "clock", "counters", "history", "line", "words"}


class Twice(SerialBase):  # type: ignore[misc]
    """A line on which each answer but the first comes twice, or behind what is no message."""

    def __init__(self, url: str, before: bytes) -> None:
        super().__init__()
        self._line, self._before = serial_for_url(url), before
        self.monotonic, self._reads = self._line.monotonic, 0

    in_waiting = 0

    def write(self, data: bytes) -> int:
        return int(self._line.write(data))

    def read(self, size: int = 1) -> bytes:
        self._line.timeout = self.timeout
        data = bytes(self._line.read(1))
        data += self._line.read(self._line.in_waiting)
        self._reads += bool(data)
        return data if self._reads < 3 or not data else (self._before or data) + data

    def _reconfigure_port(self) -> None:
        pass


class Late(Twice):
    """A line on which the second answer comes when it has been asked for again."""

    def read(self, size: int = 1) -> bytes:
        self._line.timeout = self.timeout
        data = bytes(self._line.read(1))
        data += self._line.read(self._line.in_waiting)
        self._reads += bool(data)
        held, self._before = self._before, data if self._reads == 2 and not self._before else b""
        return held + (b"" if self._before else data)


def test_a_second_answer_to_what_was_asked_twice_is_none(url: str) -> None:
    with CardClient.open(url) as emulator:
        card = CardClient(Late(url, b""), timeout=5)
        found = compare(card, emulator, questions(card))
    assert card.strays.repeats == 1
    assert card.strays.answers == 1
    assert (found.asked, found.rows) == (None, [])


@pytest.mark.parametrize(
    ("before", "row"),
    [(b"", ("unasked answers", "1", "0", True)), (b"\0junk\0", ("bytes of no message", "4", "0", True))],
)
def test_what_nobody_asked_for_is_a_difference(url: str, before: bytes, row: tuple[object, ...]) -> None:
    with CardClient.open(url) as emulator:
        card = CardClient(Twice(url, before), timeout=5)
        found = compare(card, emulator, questions(card))
    assert differing(found) == [row[0]]
    assert row in found.rows
    assert found.requests in (2, 3)


def test_what_a_client_before_it_has_left_on_the_line_is_none(url: str) -> None:
    """It watched frames, and went in the middle of one, as at a pty."""
    with CardClient.open(url) as emulator:
        line = serial_for_url(url, timeout=0.1)
        before = CardClient(line)
        before.subscribe(EventKind.FRAMES)
        assert len(line.read(30)) == 30
        with CardClient(line) as card:
            found = compare(card, emulator, questions(card))
    assert (found.asked, found.rows) == (None, [])


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("name", ["50%.yaml", "what?.yaml", "a#b.yaml", "a b.yaml"])
def test_a_server_may_have_any_name(url: str, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(ONE)
    for server in (name, f"{name}#a"):
        done = ringhil("card", url, "compare", server, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
    assert "no card 'z'" in refusal("card", url, "compare", f"{name}#z", cwd=tmp_path)


def test_a_card_is_equal_to_itself_whatever_its_work_does_just_now() -> None:
    """One is asked while GPUs work, the other after that."""
    url = f"emulated://{ROOT}/examples/one-card.yaml"
    with CardClient.open(url) as card, CardClient.open(url) as emulator:
        list(card.events(0.2))
        found = compare(card, emulator, questions(card))
    assert found.rows == []
    assert found.may_differ["turn"] == 8


def test_a_card_with_fewer_gpus_is_found_at_once(url: str, tmp_path: Path) -> None:
    with CardClient.open(url) as card, CardClient.open(f"emulated://{tmp_path}/fewer.yaml") as emulator:
        found = compare(card, emulator, questions(card))
    assert differing(found) == ["gpus"]
    assert ("gpus", "4", "3", True) in found.rows
    assert found.requests == 1


def test_a_dead_gpu_is_found(url: str) -> None:
    with CardClient.open(url) as card, CardClient.open(url) as emulator:
        card.fault(LineFault.DEAD, 2)
        list(card.events(0.05))
        found = compare(card, emulator, questions(card))
        assert str(found.asked) == "ReadRequest(gpu=2, address=32, register status)"
        assert differing(found) == ["value"]
        counted = compare(card, emulator, iter([Asked(encode(m.CensusRequest(0)))]))
    assert differing(counted) == ["count", "members"]
    assert ("members", "0, 1, 3", "0, 1, 2, 3", True) in counted.rows


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("register", [name for name, address in ADDRESS.items() if 0 < address < 0x20])
def test_every_register_that_can_be_written_is_compared(url: str, register: str) -> None:
    declared = {name for each in MAY_DIFFER for name in each.registers}
    with CardClient.open(url) as card, CardClient.open(url) as emulator:
        card.write(3, register, card.read(3, register) ^ 1)
        list(card.events(0.0001))
        found = compare(card, emulator, iter([Asked(encode(m.ReadRequest(0, 3, ADDRESS[register])))]))
    assert differing(found) == ([] if register in declared else ["value"])


def test_another_answer_is_a_difference(url: str) -> None:
    with CardClient.open(url) as card, CardClient.open(url) as emulator:
        write = Asked(encode(m.InjectRequest(0, 1, 1, 2, 0)))
        card.fault(LineFault.DEAD, 2)
        found = compare(card, emulator, iter([write]))
    assert found.rows[0] == ("answer", "RefusedReply", "InjectReply", True)
    assert differing(found) == ["answer"]
    assert ("why", "bad_value", "-", False) in found.rows


class Deaf:
    """A card that doesn't answer what it doesn't know."""

    def __init__(self, card: CardClient) -> None:
        self._line, self._write = card._line, card._line.write
        card._line.write = self.write
        card._timeout = 0.001

    def write(self, data: bytes) -> int:
        asked = [found for found in Unwrapper().feed(data) if isinstance(found, bytes)]
        return len(data) if asked and asked[0][0] == 0x3F else int(self._write(data))


def test_a_card_that_says_nothing_differs(url: str) -> None:
    with CardClient.open(url) as card, CardClient.open(url) as emulator:
        Deaf(card)
        found = compare(card, emulator, questions(card))
    assert str(found.asked) == "a message of type 0x3F, 3 bytes"
    assert found.rows[0] == ("answer", "none", "RefusedReply", True)


def test_nothing_is_changed_by_the_questions(url: str) -> None:
    with CardClient.open(url) as card:
        kinds = {asked.data[0] for asked in questions(card)}
    assert not kinds & {m.WriteRequest.TYPE, m.SendRequest.TYPE, m.InjectRequest.TYPE}


def test_a_session_is_asked_with_its_pauses(url: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    with CardClient.open(url, record=file) as card:
        card.fault(LineFault.DEAD, 2)
        list(card.events(0.05))
        card.census()
    asked = list(asked_in(load_session(file)))
    assert [type(each).__name__ for each in asked] == ["Asked"] * 3
    assert [each.wait for each in asked] == pytest.approx([0, 0, 0.05], abs=1e-3)
    done = ringhil("card", url, "compare", "s.yaml", "--session", file, cwd=tmp_path)
    assert done.stdout.startswith("equal: 3 requests, ")
    with CardClient.open(url) as card, CardClient.open(f"emulated://{tmp_path}/fewer.yaml") as other:
        found = compare(card, other, iter(asked[1:]))
    assert differing(found) == ["count", "size", "members"]


def test_a_request_that_was_repeated_is_asked_once() -> None:
    one, other = (wrap(encode(m.ReadRequest(number, 2, 3))) for number in (1, 2))
    session = Session("", "line", tuple(Burst(at, True, data) for at, data in ((0, one), (1, one), (2, other))))
    assert [(each.data[2], each.wait) for each in asked_in(session)] == [(1, 0), (2, 1)]


def test_what_is_wrong_is_one_line(url: str, tmp_path: Path) -> None:
    assert "no card 'b'; there are a" in refusal("card", url, "compare", "s.yaml#b", cwd=tmp_path)
    assert "cannot be read" in refusal("card", url, "compare", "none.yaml", cwd=tmp_path)
    said = refusal("card", url, "compare", "s.yaml", "--session", "s.yaml", cwd=tmp_path)
    assert said.startswith("ringhil: s.yaml, line 1: found ")
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    assert "cannot be opened" in refusal("card", f"socket://127.0.0.1:{port}", "compare", "s.yaml", cwd=tmp_path)
    assert "no answer to hello" in refusal("card", "--timeout", 0.01, "loop://", "compare", "s.yaml", cwd=tmp_path)


def test_what_may_differ_is_listed_with_its_reason(url: str) -> None:
    done = ringhil("card", url, "compare", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    for each in MAY_DIFFER:
        assert f"\n{each.what} " in done.stdout
    assert "forwarded" in done.stdout.replace("\n", "")
    assert "HelloReply.serial" in done.stdout
