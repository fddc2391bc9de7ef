"""What a board, a card, a recording or somebody's firmware says can't do anything to a terminal: its control characters
are written out, and it has an end."""

import json
import re
import socket
import sqlite3
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.command import refusal, ringhil
from tests.firmware.c.boards import process, wire
from tests.firmware.c.library import board

from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.firmware_codec import encode as encode_loop
from ringhil.protocol.line.firmware_loop import Declined, LoopType
from ringhil.protocol.line.firmware_messages import DeclinedReply
from ringhil.protocol.line.framing import Unwrapper, wrap

EVIL = "\x1b[31m\x07no\x9b2J\x7f\u202e"
SHOWN = r"\x1b[31m\x07no\x9b2J\x7f\u202e"
LONGEST = 500  # letters of a line, what is around the text in it, too
SERVER = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\nuntil: 20000\n"
CRASH = f"""
from ringhil.firmware.boot import our_program
class Crash:
    def __init__(self, boot):
        ours = our_program(boot)
        self.start, self.on_timer, self.on_status = ours.start, ours.on_timer, ours.on_status
    def start(self, now): ...
    def on_timer(self, name, now): ...
    def on_status(self, status): ...
    def on_frame(self, frame, port, bad, now):
        raise RuntimeError({EVIL!r} * 1000)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CRASH)
    (tmp_path / "s.yaml").write_text(SERVER)
    return tmp_path


def assert_harmless(text: str) -> None:
    assert SHOWN in text
    assert re.search(r"[^\n\x20-\x7e\u00a1-\u2027\u2030-\uffff]", text) is None


# ------------------------------------------------------------------------------------------------------ firmware


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    return board(tmp_path_factory)


@contextmanager
def declining(program: str, kind: int, times: int = 1) -> Iterator[str]:
    """A board that declines the answer to the first of such requests, and all after it."""
    heard, left = Unwrapper(), [times]

    def spoil(data: bytes) -> bytes:
        found = [message for message in heard.feed(data) if isinstance(message, bytes)]
        return b"".join(wrap(one(message)) for message in found)

    def one(message: bytes) -> bytes:
        left[0] -= message[0] == kind
        if left[0] > 0 or message[0] != LoopType.DONE.code:
            return message
        reply = DeclinedReply(int.from_bytes(message[1:3], "big"), Declined.CANNOT.code, (EVIL * 100).encode())
        return encode_loop(reply)

    with process(program) as port, wire(port, spoil) as name:
        yield name


@pytest.mark.rest
def test_why_a_board_declines(program: str, here: Path) -> None:
    with declining(program, LoopType.BOOT.code) as port:
        said = refusal("run", "s.yaml", "--firmware", f"a.1={port}", cwd=here)
    assert said.startswith(f"ringhil: firmware of a.1 ({port}): power-up: boot: declined, cannot: {SHOWN}")
    assert_harmless(said)
    assert len(said) < LONGEST
    assert said.endswith("...")


def test_why_a_board_is_given_up(program: str, here: Path) -> None:
    with declining(program, LoopType.TIMER.code, times=3) as port:
        done = ringhil("run", "s.yaml", "--firmware", f"a.1={port}", "--record", "r.rec", cwd=here)
    assert ": gone, and the GPU hangs from now on: " in done.stderr
    assert_harmless(done.stderr)
    assert max(map(len, done.stderr.splitlines())) < LONGEST
    (here / "script").write_text("next FirmwareLost\nshow\n")
    assert_harmless(ringhil("step", "r.rec", "--script", "script", cwd=here).stdout)


def test_why_firmware_crashed(here: Path) -> None:
    said = refusal("run", "s.yaml", "--firmware", "a.1=mine:Crash", cwd=here)
    assert_harmless(said)
    assert len(said) < LONGEST + len(str(here))
    assert said.endswith("mine.py:11")
    done = ringhil("verify", "s.yaml", "--firmware", "a.1=mine:Crash", "--junit", "j.xml", cwd=here)
    assert done.returncode == 2
    for text in (done.stdout, done.stderr, (here / "j.xml").read_text()):
        assert_harmless(text)
    ElementTree.parse(here / "j.xml")
    (here / "evil.py").write_text(f"raise ValueError({EVIL!r})\n")
    assert_harmless(refusal("run", "s.yaml", "--firmware", "a.1=evil:Crash", cwd=here))


# ----------------------------------------------------------------------------------------------------- recordings


def recording(here: Path, change: str, *values: object) -> Path:
    assert ringhil("run", "s.yaml", "--record", "r.rec", cwd=here).returncode in (0, 1)
    with closing(sqlite3.connect(here / "r.rec")) as db, db:
        assert db.execute(change, values).rowcount > 0
    return here / "r.rec"


def test_what_an_event_of_a_recording_says(here: Path) -> None:
    fields = json.dumps({"role": EVIL, "epoch": 1, EVIL: EVIL})
    path = recording(here, "UPDATE events SET fields = ? WHERE kind = 'Elected'", fields)
    done = ringhil("replay", path)
    assert done.returncode == 1
    assert_harmless(done.stdout)
    (here / "script").write_text("next Elected\nshow\nwhy role\n")
    assert_harmless(ringhil("step", path, "--script", here / "script").stdout)


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    "change", ["UPDATE events SET kind = ? WHERE kind = 'Elected'", "UPDATE gpus SET name = ? WHERE cell = 1"]
)
def test_names_in_a_recording(here: Path, change: str) -> None:
    path = recording(here, change, EVIL)
    said = refusal("replay", path)
    assert said.startswith(f"ringhil: {path}: ")
    assert_harmless(said)


def test_a_difference_has_an_end(here: Path) -> None:
    fields = json.dumps({"role": "x" * 100_000, "epoch": 1})
    done = ringhil("replay", recording(here, "UPDATE events SET fields = ? WHERE kind = 'Elected'", fields))
    assert len(done.stdout) < 3000
    assert done.stdout.endswith("...\n")


# ---------------------------------------------------------------------------------------------------------- cards


@contextmanager
def card(answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """One that gives every request this answer, without its framing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            heard = Unwrapper()
            client, _ = listener.accept()
            with client:
                while data := client.recv(4096):
                    client.sendall(b"".join(wrap(answer(each)) for each in heard.feed(data) if isinstance(each, bytes)))

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"socket://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_why_a_card_refuses() -> None:
    def refused(request: bytes) -> bytes:
        return encode(m.RefusedReply(int.from_bytes(request[1:3], "big"), 99, (EVIL * 20).encode()))

    with card(refused) as url:
        said = refusal("card", url, "info")
    assert said.startswith(f"ringhil: the card refuses: {SHOWN}")
    assert_harmless(said)
    assert len(said) < LONGEST
