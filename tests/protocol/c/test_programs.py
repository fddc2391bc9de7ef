"""Both ends in C: a client at an emulated card's pty, and a card in C at the other end of the Python client."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.emulator.serial.served import Served

from ringhil.emulator.serial.client import CardClient, RefusedError
from ringhil.protocol.line.codec import encode
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.management import MAJOR, MINOR, Refusal
from ringhil.protocol.line.messages import WriteRequest

from . import library as c

SERVER = "server: {cards: {a: {gpus: 8}}}\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path, SERVER, "--listen", "pty") as served:
        yield served


@pytest.mark.rest
def test_a_client_in_c_does_what_ours_does(served: Served, tmp_path: Path) -> None:
    program = c.program("client", tmp_path, *c.SANITIZED)
    done = subprocess.run([program, served.ports["a"][0]], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"hello: a, 8 GPUs, version {MAJOR}.{MINOR}"
    assert lines[1:3] == ["census: 8 of 8, members ff", "last_census: 8 of 8"]
    assert lines[3].startswith("read: ")
    assert lines[4] == "read: 77"
    assert lines[5].startswith(f"read: refused {Refusal.NO_SUCH_GPU.code}: ")
    assert lines[6:] == ["census: 7 of 8, members df", "events: some", "time: passes"]


class CardInC:
    """A card's program on a pair of pipes; to pyserial it is a port."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.timeout = 1.0

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    @property
    def in_waiting(self) -> int:
        return 0

    def read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        return os.read(self.process.stdout.fileno(), max(size, 4096))

    def close(self) -> None:
        with suppress(OSError):
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def card(tmp_path: Path) -> Iterator[CardInC]:
    card = CardInC(c.program("device", tmp_path, *c.SANITIZED))
    yield card
    card.close()


def test_a_card_in_c_is_a_card_to_our_client(card: CardInC) -> None:
    client = CardClient(card)  # type: ignore[arg-type]
    assert (client.info.name, client.info.gpus, client.info.serial) == ("a card in C", 2, 7)
    client.write(1, "compute_setup", 100)
    assert client.read(1, "compute_setup") == 100
    assert client.read(0, "compute_setup") == 32
    with pytest.raises(RefusedError, match="there are GPUs 0 and 1") as refused:
        client.read(2, 8)
    assert refused.value.why is Refusal.NO_SUCH_GPU
    with pytest.raises(RefusedError, match="this card counts nothing"):
        client.census()
    assert client.now() < client.now()


@pytest.mark.rest
def test_a_request_that_comes_again_is_done_once(card: CardInC) -> None:
    client = CardClient(card)  # type: ignore[arg-type]
    began = client.now()  # its time is the number of requests that it has done
    again = wrap(encode(WriteRequest(9999, 0, 8, 5)))
    for _ in range(3):
        card.write(b"nonsense" + again)
    assert client.now() == began + 2
    assert client.read(0, 8) == 5
