"""Boards of this machine, for tests: processes that print the name of their pseudo terminal, and wires to them."""

import os
import pty
import re
import select
import subprocess
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ringhil.emulator.serial.server.lines import ClientLine, TcpListener
from ringhil.emulator.serial.server.listening import opened


@contextmanager
def process(*command: str) -> Iterator[str]:
    """Runs it; the name."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL) as running:
        try:
            assert running.stdout is not None
            found = re.search(r"/dev/pts/\d+", running.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            running.kill()


class Wire:
    """A line between us and a board: `spoil` says what becomes of each piece of bytes. After None it is dead, or
    `pulled` out."""

    def __init__(self, board_port: str, spoil: Callable[[bytes], bytes | None], pulled: bool) -> None:
        self._far = os.open(board_port, os.O_RDWR | os.O_NOCTTY)
        self._ours, self._theirs = pty.openpty()
        for line in (self._far, self._ours, self._theirs):
            tty.setraw(line)
        self.name, self._spoil, self._pulled = os.ttyname(self._theirs), spoil, pulled
        self._open = [self._ours, self._theirs, self._far]
        self._ended, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def _carry(self) -> None:
        across = {self._ours: self._far, self._far: self._ours}
        while True:
            ready, _, _ = select.select([*across, self._ended], [], [])
            if self._ended in ready:
                return
            for line in ready:
                data = self._spoil(os.read(line, 4096))
                if data is None:
                    if self._pulled:
                        self._open.remove(self._ours)
                        os.close(self._ours)
                    return
                os.write(across[line], data)

    def close(self) -> None:
        os.close(self._wake)
        self._thread.join()
        for line in (*self._open, self._ended):
            os.close(line)


@contextmanager
def wire(port: str, spoil: Callable[[bytes], bytes | None], *, pulled: bool = False) -> Iterator[str]:
    made = Wire(port, spoil, pulled)
    try:
        yield made.name
    finally:
        made.close()


@contextmanager
def by_network(port: str, scheme: str) -> Iterator[str]:
    """The board at a port on loopback, `tcp` or `rfc2217`, for the client that came last."""
    board, ended = os.open(port, os.O_RDWR | os.O_NOCTTY), threading.Event()
    listener = opened(f"{scheme}://127.0.0.1:0")
    assert isinstance(listener, TcpListener)
    tty.setraw(board)
    clients = list[ClientLine]()

    def carry() -> None:
        while not ended.is_set():
            ready, _, _ = select.select([listener, board, *clients[-1:]], [], [], 0.05)
            if listener in ready and (come := listener.accept()) is not None:
                clients.append(come)
            elif clients and clients[-1] in ready and (data := clients[-1].read()):
                os.write(board, data)
            elif clients and board in ready:
                clients[-1].write(os.read(board, 4096))

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        yield listener.name
    finally:
        ended.set()
        thread.join()
        for each in (listener, *clients):
            each.close()
        os.close(board)


def after(pieces: int) -> Callable[[bytes], bytes | None]:
    """The line is dead from that piece on."""
    left = [pieces]

    def spoil(data: bytes) -> bytes | None:
        left[0] -= 1
        return data if left[0] > 0 else None

    return spoil
