"""A bridge on lines, with clients that come and go."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.command import refusal
from tests.emulator.loop.test_nodes import SERVER, outcome

from ringhil.emulator.loop.bridge.bridge import Bridge, serve
from ringhil.emulator.loop.bridge.library import bridge_library
from ringhil.emulator.serial.server.lines import TcpListener
from ringhil.emulator.serial.server.listening import opened
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.node_loop import NodeMessage

HELLO = wrap(bytes([NodeMessage.HELLO.code, 1]))


class Counting(Bridge):
    """Knows how often it was fed; `before_answer` is done before each answer."""

    fed = 0

    def feed(self, data: bytes) -> bytes:
        self.fed += 1
        answer = super().feed(data)
        self.before_answer()
        return answer

    def before_answer(self) -> None:
        pass


@contextmanager
def served(where: str, most: int) -> Iterator[tuple[Counting, str]]:
    """A bridge that is gone after so many pieces of bytes, and where it is."""
    bridge, line, over = Counting(bridge_library()), opened(where), threading.Event()
    assert isinstance(line, TcpListener)

    def until_its_end() -> None:
        serve(bridge, [line], lambda: over.is_set() or bridge.fed >= most)
        line.close()

    thread = threading.Thread(target=until_its_end, daemon=True)
    thread.start()
    yield bridge, line.name
    over.set()
    thread.join(20)
    assert not thread.is_alive()
    bridge.close()


def test_a_client_that_goes_before_its_answer_keeps_nobody_waiting() -> None:
    with served("tcp://127.0.0.1:0", 100) as (bridge, url):
        where = ("127.0.0.1", int(url.rpartition(":")[2]))
        one = socket.create_connection(where, timeout=20)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # its end is a reset
        bridge.before_answer = one.close  # type: ignore[method-assign]
        one.sendall(HELLO)
        with socket.create_connection(where, timeout=20) as other:
            other.sendall(HELLO)
            assert other.recv(100)[2] == NodeMessage.HELLO_REPLY.code


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("most", [60, 200])
def test_a_board_by_rfc_2217_that_goes_is_a_dead_gpu(tmp_path: Path, most: int) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    with served("rfc2217://127.0.0.1:0", most) as (_, url):
        found, said = outcome(str(tmp_path / "s.yaml"), "--node", f"a.2={url}")
    assert ": the board is gone; from here on it is a GPU that has failed; " in said
    assert found["verdict"] == "pass"


def test_a_board_by_rfc_2217_that_goes_at_once_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    with served("rfc2217://127.0.0.1:0", 1) as (_, url):
        said = refusal("run", str(tmp_path / "s.yaml"), "--node", f"a.2={url}")
    assert said.startswith(
        (f"ringhil: --node a.2={url}: the board is gone", f"ringhil: --node a.2={url}: the line is gone")
    )
