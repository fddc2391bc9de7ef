"""A person types at a management port; a program that speaks the protocol never notices."""

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.client import CardClient
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ROOM, ManagementPort
from ringhil.emulator.server import LiveServer
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import decode, encode
from ringhil.protocol.line.framing import Unwrapper, wrap
from ringhil.protocol.line.management import REQUESTS, LineFault
from ringhil.protocol.registers import ADDRESS

BANNER = "card a, emulated: a management port of ringhil's. Type `help`.\n"


def typed(port: ManagementPort, text: str) -> str:
    """What comes back; lines end as a terminal wants them."""
    port.receive(text.encode())
    shown = port.take(1 << 30).decode()
    assert "\n" not in shown.replace("\r\n", "")
    return shown.replace("\r\n", "\n")


def test_the_first_enter_is_answered_by_a_banner_and_a_prompt(port: ManagementPort) -> None:
    assert typed(port, "\r") == f"\n{BANNER}> "
    assert typed(port, "\r") == "\n> "


@pytest.mark.parametrize("enter", ["\r", "\n", "\r\n"])
def test_from_then_on_it_echoes_and_does_what_is_typed(port: ManagementPort, enter: str) -> None:
    typed(port, enter)
    assert typed(port, "ti") == "ti"
    assert typed(port, f"me{enter}") == "me\ncycle 3000\n> "


def test_what_was_typed_before_the_first_enter_counts(port: ManagementPort) -> None:
    """As `echo time > PORT` sends it."""
    assert typed(port, "time\n") == f"\n{BANNER}cycle 3000\n> "


def test_a_line_that_is_too_long_takes_no_more(port: ManagementPort) -> None:
    typed(port, "\r")
    assert typed(port, "x" * 10_000) == "x" * 200
    assert typed(port, "\x03time\r").endswith("cycle 3000\n> ")


def test_a_character_can_be_taken_back_and_so_can_the_line(port: ManagementPort) -> None:
    typed(port, "\r")
    assert typed(port, "\b\x7f") == ""
    assert typed(port, "tima\be\x7fe\r") == "tima\b \be\b \be\ncycle 3000\n> "
    assert typed(port, "nonsense\x03time\r").endswith("^C\n> time\ncycle 3000\n> ")


def test_help_names_every_command_and_fault(port: ManagementPort) -> None:
    typed(port, "\r")
    shown = typed(port, "help\r")
    for word in ("info", "census", "last", "time", "read", "write", "send", "fault", "clear", "watch", *LineFault):
        assert word in shown


def test_registers_are_read_and_written(going: LiveServer) -> None:
    port, now = ManagementPort(ManagedCard(going, 0)), going.kernel.now
    typed(port, "\r")
    typed(port, "write 2 compute_setup 0x4d\r")
    going.run_to(now + 100)
    assert port.take(1 << 30).decode() == f"\rdone at cycle {now + 1}\r\n> "
    assert "compute_setup     0x0000004d         77" in typed(port, "read 2 compute_setup\r")
    by_name = typed(port, "read 2 status\r")
    assert "healthy" in by_name
    assert typed(port, "read 2 0x20\r") == by_name.replace("status", "0x20", 1)  # but for the echo
    assert typed(port, "read 2\r").count("0x") > 30


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("read 9 status", "GPU 9: the card has 0 .. 3"),
        ("read x status", "'x'; allowed is a GPU name, card and index, such as a.3"),
        ("read 1x status", "found '1x'; allowed is a number from 0 to 0xFFFFFFFF"),
        ("read b.1 status", "found 'b.1'; this is card a"),
        ("read 1 nothing", "nothing"),
        ("read 1 0xff", "there is no register at 0xFF"),
        ("write 1 status 3", "status can only be read"),
        ("fault dad 1", "found 'dad'; allowed are dead, hang"),
        ("watch frams", "found 'frams'; allowed are"),
        ("send 1 cw zz", "hexadecimal"),
        ("send 1 up 00", "up"),
        ("reboot", "reboot: no such command; `help` lists them"),
        ("time now", "time now: no such command"),
    ],
)
def test_what_cannot_be_done_is_one_line(port: ManagementPort, line: str, says: str) -> None:
    typed(port, "\r")
    shown = typed(port, f"{line}\r").removeprefix(f"{line}\n").removesuffix("> ")
    assert says in shown
    assert shown.count("\n") == 1


def test_what_a_person_watched_ends_when_a_program_comes(going: LiveServer) -> None:
    port = ManagementPort(ManagedCard(going, 0))
    typed(port, "\rwatch counts\r")
    going.run_to(going.kernel.now + 20_000)
    assert "event=count" in typed(port, "\r")
    port.receive(b"\0")
    assert BANNER in typed(port, "time\r")
    going.run_to(going.kernel.now + 20_000)
    assert "event=count" not in typed(port, "\r")
    port.close()


def test_what_a_person_asks_and_is_refused_is_counted(port: ManagementPort) -> None:
    typed(port, "read 9 status\rtime\r")
    port.receive(wrap(encode(m.LineRequest(5))))
    (line,) = [decode(each) for each in Unwrapper().feed(port.take()) if isinstance(each, bytes)]
    assert isinstance(line, m.LineReply)
    assert (line.requests, line.refused) == (3, 1)


WRITE, READ = "write 1 weight {}\r", "read 1 weight\r"


def in_a_cycle(going: LiveServer, *pieces: str | m.Message) -> tuple[int, bytes]:
    """What comes back when all of this comes in one cycle, and some more pass; with that cycle."""
    port, now = ManagementPort(ManagedCard(going, 0)), going.kernel.now
    for piece in pieces:
        port.receive(piece.encode() if isinstance(piece, str) else wrap(encode(piece)))
    going.run_to(now + 20)
    return now, port.take(1 << 30)


@pytest.mark.parametrize("pieces", [1, 2, 1000])
def test_what_is_typed_behind_a_write_waits_until_that_holds(going: LiveServer, pieces: int) -> None:
    text = WRITE.format(5) + READ + WRITE.format(6) + WRITE.format(7) + READ
    length = -(-len(text) // pieces)
    now, shown = in_a_cycle(going, "\r", *(text[at : at + length] for at in range(0, len(text), length)))
    weight = "weight            0x0000000{0}          {0}\r\n> "
    assert shown.decode().partition("> ")[2] == (
        f"write 1 weight 5\r\n> \rdone at cycle {now + 1}\r\n> read 1 weight\r\n{weight.format(5)}"
        f"write 1 weight 6\r\n> \rdone at cycle {now + 2}\r\n> "
        f"write 1 weight 7\r\n> \rdone at cycle {now + 3}\r\n> read 1 weight\r\n{weight.format(7)}"
    )


def test_a_person_waits_for_what_a_program_has_asked_and_it_for_a_person(going: LiveServer) -> None:
    weight = ADDRESS["weight"]
    _, shown = in_a_cycle(going, m.WriteRequest(1, 1, weight, 10), m.WriteRequest(2, 1, weight, 11), READ)
    assert shown.endswith(b"weight            0x0000000b         11\r\n> ")
    now, shown = in_a_cycle(going, WRITE.format(12) + WRITE.format(13) + READ, m.ReadRequest(3, 1, weight))
    assert shown.count(b"weight            0x0000000d         13\r\n> ") == 1
    found = [decode(each) for each in Unwrapper().feed(shown[shown.index(b"\0") :]) if isinstance(each, bytes)]
    assert found == [m.ReadReply(3, 13, now + 2)]


def test_a_write_that_is_refused_holds_nothing_up(port: ManagementPort) -> None:
    assert typed(port, "write 9 weight 1\rtime\r").endswith("GPU 9: the card has 0 .. 3\n> time\ncycle 3000\n> ")


def test_much_that_is_typed_behind_writes_is_done_and_no_more_is_taken_meanwhile(going: LiveServer) -> None:
    port, now = ManagementPort(ManagedCard(going, 0)), going.kernel.now
    port.receive("".join(WRITE.format(number) for number in range(500)).encode())
    assert port.full
    shown = port.take()
    for cycle in range(now + 1, now + 502):
        going.run_to(cycle)
        shown += port.take()
    assert shown.count(b"done at cycle ") == 500
    assert not port.full
    assert going.engine.peek(1, "weight") == 499


def test_who_has_gone_writes_no_more(going: LiveServer) -> None:
    port, now = ManagementPort(ManagedCard(going, 0)), going.kernel.now
    port.receive(f"{WRITE.format(3)}{WRITE.format(4)}".encode())
    port.receive(WRITE.format(5).encode())
    port.close()
    going.run_to(now + 20)
    assert going.engine.peek(1, "weight") == 3


def test_a_census_is_told_when_it_is_over_beside_what_is_being_typed() -> None:
    server = LiveServer(loads(ONE), cells_library())
    server.start()
    server.run_to(3000)
    port = ManagementPort(ManagedCard(server, 0))
    typed(port, "census\r")
    typed(port, "ti")
    server.run_to(9000)
    shown = port.take().decode()
    assert shown.startswith("\r4 of 4 GPUs work: GPUs 0, 1, 2, 3 (ring, cycle ")
    assert shown.endswith("\r\n> ti")
    typed(port, "\x03watch faults,counts\r")
    assert "done at cycle" in typed(port, "fault dead 2\r")
    server.run_to(15_000)
    shown = port.take().decode()
    assert "\revent=fault cycle=9000 gpu=2 fault=dead injection=set value=0\r\n> " in shown
    assert "event=count count=3 size=4" in shown
    typed(port, "watch off\r")
    server.run_to(25_000)
    assert port.take() == b""
    server.engine.close()


# ---------------------------------------------------------------------------------------------------- the protocol

# Requests whose type is Enter have their own length, others any.
REQUEST = st.sampled_from([kind.code for kind in REQUESTS if kind.code != 1]).flatmap(
    lambda code: st.binary(max_size=1 if code in b"\r\n" else 20).map(lambda rest: wrap(bytes([code, 1, 1]) + rest))
)


@given(st.lists(REQUEST, min_size=1, max_size=4), st.data())
def test_a_program_is_no_person(server: LiveServer, requests: list[bytes], data: st.DataObject) -> None:
    """However its bytes come: answers are those of the protocol, and nothing else is sent."""
    port = ManagementPort(ManagedCard(server, 0))
    stream, pieces = b"".join(requests), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        pieces.append(stream[:cut])
        stream = stream[cut:]
    port.receive(b"\0")
    for piece in pieces:
        port.receive(piece)
    found = Unwrapper().feed(port.take(1 << 30))
    assert all(isinstance(each, bytes) for each in found)
    assert not any(b"ringhil" in each for each in found if isinstance(each, bytes))


@pytest.mark.parametrize("enter", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("typing", ["time{0}", "{0}time{0}", "{0}{0}time{0}", "x{0}time{0}"])
def test_after_a_program_a_person_is_heard(port: ManagementPort, typing: str, pieces: int, enter: str) -> None:
    """Whatever they begin with; Enter alone, which may be the beginning of a message, with the key behind it."""
    port.receive(b"\0")
    text = typing.format(enter)
    shown = "".join(
        typed(port, text[at : at + len(text) // pieces + 1]) for at in range(0, len(text), len(text) // pieces + 1)
    )
    assert shown.startswith(f"\n{BANNER}")
    assert shown.endswith("cycle 3000\n> ")


@pytest.mark.parametrize("after", ["\r", "\n", "t"])
def test_after_a_zero_byte_enter_alone_waits_for_the_next_key(port: ManagementPort, after: str) -> None:
    port.receive(b"\0")
    assert typed(port, "\r") == ""
    assert BANNER in typed(port, after)
    for beginning in ("\r", "\n", "\t", "x"):
        port.receive(b"\0")
        assert typed(port, beginning) == ""


def test_no_request_begins_with_enter_and_a_type_that_is_enter() -> None:
    """Such types have short requests, whose first byte is less."""
    of_enter: list[m.Message] = [m.LineRequest(0xFFFF), m.KeepContextsRequest(0xFFFF, 1)]
    assert {encode(each)[0] for each in of_enter} == {*b"\r\n"} & {kind.code for kind in REQUESTS}
    assert all(wrap(encode(each))[1] < min(b"\r\n") for each in of_enter)


@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([b"\r", b"time\r", b"\0", b"help\n"])), max_size=20))
def test_whatever_comes_a_request_after_it_is_answered(server: LiveServer, pieces: list[bytes]) -> None:
    port = ManagementPort(ManagedCard(server, 0))
    for piece in pieces:
        port.receive(piece)
        port.take(ROOM)
    port.receive(b"\0" + wrap(encode(m.TimeRequest(777))))
    assert [decode(each) for each in Unwrapper().feed(port.take()) if isinstance(each, bytes)][-1].id == 777


PIECE = st.one_of(
    st.binary(max_size=30),
    st.sampled_from([b"\r", b"time\r", READ.encode(), WRITE.format(1).encode() * 3, b"\0", b"write 9 weight 1\n"]),
    st.sampled_from([m.WriteRequest(5, 1, 2, 1), m.TimeRequest(6)]).map(lambda request: wrap(encode(request))),
)


@given(st.lists(st.tuples(PIECE, st.integers(0, 2)), max_size=20))
def test_so_it_is_with_writes_among_it_as_time_passes(going: LiveServer, pieces: list[tuple[bytes, int]]) -> None:
    port = ManagementPort(ManagedCard(going, 0))
    for piece, cycles in pieces:
        port.receive(piece)
        going.run_to(going.kernel.now + cycles)
    port.take(ROOM)
    port.receive(b"\0" + wrap(encode(m.TimeRequest(777))))
    going.run_to(going.kernel.now + 100)
    found = [decode(each) for each in Unwrapper().feed(port.take()) if isinstance(each, bytes)]
    assert found[-1].id == 777
    assert not port.full
    port.close()


def test_what_nobody_types_behind_a_first_line_is_left_out(port: ManagementPort) -> None:
    port.receive(b"\n\x80ti\xffme")
    port.receive(b"\r")
    assert port.take(ROOM).decode().endswith("time\r\ncycle 3000\r\n> ")


def test_a_line_without_an_end_takes_no_more_room(port: ManagementPort) -> None:
    typed(port, "\r")
    for _ in range(50):
        port.receive(b"x" * 10_000)
        port.take(ROOM)
    assert typed(port, "\x03time\r").endswith("time\ncycle 3000\n> ")


def test_who_types_and_does_not_read_is_not_waited_for(port: ManagementPort) -> None:
    port.receive(b"\r" + b"read 1\r" * 2000)
    assert port.waiting < 2 * ROOM


# ------------------------------------------------------------------------------------------------------- on a pty


def shown(port: int, text: str) -> str:
    """What comes, until this is in it; lines end in one character."""
    seen, deadline = "", time.monotonic() + 60
    while text not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([port], [], [], 1)[0]:
            seen += os.read(port, 4096).decode().replace("\r", "")
    return seen


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path, ONE, "--listen", "pty") as served:
        yield served


def test_a_person_and_a_program_take_turns_on_a_pty(served: Served) -> None:
    (url,) = served.ports["a"]
    for _ in range(2):
        person = os.open(url, os.O_RDWR | os.O_NOCTTY)
        os.write(person, b"time\r")
        assert f"{BANNER}cycle " in shown(person, "> ")
        os.write(person, b"census\r")
        assert "counting\n> " in shown(person, "4 of 4 GPUs work")
        os.close(person)
        with CardClient.open(url, timeout=20) as card:
            assert card.census().count == 4
