"""Nodes in this process: rtl/hil_bridge.sv in Verilator, at lines that are in trouble."""

import os
import random
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ringhil.emulator.engine.library import WaitForLine, cells_library
from ringhil.emulator.loop.bridge.bridge import Bridge
from ringhil.emulator.loop.bridge.library import bridge_library
from ringhil.emulator.loop.nodes import OpenNodes
from ringhil.emulator.server.node_choice import NodeChoice, NodeLine
from ringhil.protocol.line.framing import wrap
from ringhil.protocol.line.node_loop import NodeMessage, Why

from .lines import PulledOut, Trouble, TroubledLine
from .ptys import PtyEnd

HELLO = 9  # its sequence number
PATIENCE, TRIES = 0.25, 8  # as node_choice.py and node_line.h have them


class FarNode:
    """The other end."""

    def __init__(self) -> None:
        self._bridge = Bridge(bridge_library())

    def feed(self, data: bytes) -> bytes:
        return self._bridge.feed(data)

    def reset(self) -> None:
        """It was without power."""
        self.close()
        self.__init__()  # type: ignore[misc]

    def close(self) -> None:
        self._bridge.close()


class NodeWords:
    """See `Words`."""

    def another(self, answer: bytes, dice: random.Random) -> bytes:
        return answer[:1] + bytes([(answer[1] + dice.choice((1, -1, dice.randrange(1, 256)))) % 256]) + answer[2:]

    def wrong(self, answer: bytes, dice: random.Random) -> bytes:
        return dice.choice(
            (
                answer[:-1],
                answer + b"\0",
                answer[:2],
                bytes([answer[0], answer[1], 0x80, 0, 1, 1]),  # a group that isn't there
                bytes([NodeMessage.REFUSED.code, answer[1], dice.choice(list(Why)).code]),
            )
        )


@contextmanager
def at_a_pty(gpu: str, troubles: Sequence[Trouble], dice: random.Random) -> Iterator[tuple[NodeChoice, TroubledLine]]:
    """The same at the end of a pseudo terminal, where hello is the first request."""
    far = FarNode()
    line = TroubledLine(far, NodeWords(), [replace(each, first=each.first + 1) for each in troubles], dice, PATIENCE)
    with PtyEnd(line) as end, OpenNodes([f"{gpu}={end.name}"]) as nodes:
        yield nodes.choice, line
    far.close()


@contextmanager
def outside(gpu: str, troubles: Sequence[Trouble], dice: random.Random) -> Iterator[tuple[NodeChoice, TroubledLine]]:
    """That GPU's hardware on a board, and its line, whose time stands still while anything else is done."""
    far = FarNode()
    far.feed(wrap(bytes([NodeMessage.HELLO.code, HELLO])))
    line = TroubledLine(far, NodeWords(), troubles, dice, PATIENCE)
    near, end = socket.socketpair()
    near.setblocking(False)
    end.setblocking(False)
    wrong = list[BaseException]()

    def waited(descriptor: int, writing: int, milliseconds: int) -> int:
        try:
            assert (descriptor, writing) == (near.fileno(), 0)
            line.say(taken(end))
            heard = line.hear(milliseconds / 1000)
            end.sendall(heard)
            return int(heard != b"")
        except PulledOut:
            end.close()
            return 1
        except BaseException as error:
            wrong.append(error)
            return 0

    by = WaitForLine(waited)
    calls = cells_library().calls
    calls.ringhil_wait_for_lines_by(by)
    try:
        yield NodeChoice({gpu: NodeLine(f"{gpu}=here", near.fileno(), lambda: HELLO)}), line
    finally:
        calls.ringhil_wait_for_lines_by(WaitForLine())
        for each in (near, end):
            each.close()
        far.close()
    assert not wrong, wrong


def taken(end: socket.socket) -> bytes:
    """All that was written."""
    found = b""
    while True:
        try:
            found += os.read(end.fileno(), 1 << 16)
        except BlockingIOError:
            return found
