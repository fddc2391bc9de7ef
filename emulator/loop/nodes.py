"""Opens lines to GPU hardware outside, as people write them, `a.3=URL`; `a.3=lost@CYCLE` is a board that was lost.

Lines are only ever named by whoever starts a run, never by a file that is read.
"""

import os
import re
import select
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Self

import serial
from construct import ConstructError

from ringhil.emulator.documents import shown
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.serial.client import LINE_GONE, CardError, descriptor, opened_port
from ringhil.emulator.serial.line import BAUD
from ringhil.emulator.serial.line.reasons import said_by_system
from ringhil.emulator.server.node_choice import LostNode, NodeChoice, NodeError, NodeLine, OutsideHardware
from ringhil.protocol.line import node_loop
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.node_loop import NodeMessage

CHUNK = 4096
LOOK = 0.1  # seconds: a line is read for so long, and looks then whether it is to end


class Pump:
    """Carries bytes between `line`, whose timeout is LOOK, and `descriptor`. When the line is gone nothing more comes
    there, as at the end of a socket."""

    def __init__(self, line: "serial.SerialBase") -> None:
        self._line, self._ended = line, False
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self.descriptor = self._near.fileno()
        self._threads = [threading.Thread(target=carry, daemon=True) for carry in (self._there, self._back)]
        for thread in self._threads:
            thread.start()

    def _there(self) -> None:
        with suppress(serial.SerialException, OSError):
            while data := self._far.recv(CHUNK):
                self._line.write(data)
        self._end()

    def _back(self) -> None:
        with suppress(serial.SerialException, OSError):
            while not self._ended:
                self._far.sendall(self._line.read(max(1, self._line.in_waiting)))
        self._end()

    def _end(self) -> None:
        self._ended = True
        with suppress(OSError):
            self._far.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the line, too."""
        self._end()
        for thread in self._threads:
            thread.join()
        for end in (self._near, self._far, self._line):
            end.close()


_ALLOWED = "GPU=URL, such as a.3=/dev/ttyUSB0 or a.3=socket://127.0.0.1:7777"
_LOST_AT = "lost@"
_LOST_ALLOWED = f"allowed is {_LOST_AT}CYCLE, a number of up to 18 digits"
_LOST = re.compile(rf"{_LOST_AT}([0-9]{{1,18}})")
_TRIES, _PATIENCE = 4, 0.5  # seconds each
_SHOWN = 16  # bytes of nonsense in a message


def check_lines(nodes: Sequence[str], firmware: Sequence[str]) -> None:
    """Boards that are GPUs' hardware, and those that run their firmware, have a line each. Raises NodeError."""
    taken = {text.partition("=")[2]: f"--firmware {text}" for text in firmware}
    for text in nodes:
        what = text.partition("=")[2]
        if what in taken:
            raise NodeError(f"--node {text}: {taken[what]} has that line; each board has one of its own")
        if _LOST.fullmatch(what) is None:
            taken[what] = f"--node {text}"


class OpenNodes:
    """The lines, open until `close`; `choice` is for any number of runs, one after the other. Raises NodeError."""

    def __init__(self, given: Sequence[str], *, baud: int = BAUD) -> None:
        nodes = dict[str, OutsideHardware]()
        with ExitStack() as stack:
            for text in given:
                name, mark, what = text.partition("=")
                if not mark or not what:
                    raise NodeError(f"--node: found {shown(text)}; allowed is {_ALLOWED}")
                try:
                    name = str(GpuRef.parse(name))
                except ValueError as error:
                    raise NodeError(f"--node {text}: {error}") from None
                if name in nodes:
                    raise NodeError(f"--node {text}: GPU {name} has {nodes[name].given.partition('=')[2]} already")
                lost = _LOST.fullmatch(what)
                if lost is not None:
                    nodes[name] = LostNode(text, int(lost[1]))
                    continue
                if what.startswith(_LOST_AT):
                    raise NodeError(f"--node {text}: found {shown(what)}; {_LOST_ALLOWED}")
                nodes[name] = _opened(text, what, baud, stack)
            self._open = stack.pop_all()
        self.choice = NodeChoice(nodes, None if baud == BAUD else baud)

    def close(self) -> None:
        """Nothing more is asked."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened(given: str, url: str, baud: int, stack: ExitStack) -> NodeLine:
    """An open line, which the stack closes, with a bridge at its end. Raises NodeError."""
    try:
        line = opened_port(url, baud=baud, timeout=LOOK)
    except CardError as error:
        raise NodeError(f"--node {given}: {str(error).removeprefix(f'{url}: ')}") from None
    number = descriptor(line)
    if number is None:
        pump = Pump(line)
        stack.callback(pump.close)
        number = pump.descriptor
    else:
        stack.callback(line.close)
    greet = partial(_greeted, given, number)
    greet()
    return NodeLine(given, number, greet)


def _greeted(given: str, line: int) -> int:
    """Says hello; the sequence number of that. Raises NodeError if it's no bridge that we understand."""
    try:
        return _hello(line)
    except ValueError as error:
        raise NodeError(f"--node {given}: {error}") from None
    except OSError as error:
        raise NodeError(f"--node {given}: {LINE_GONE}: {said_by_system(error)}") from None


def _hello(line: int) -> int:
    heard = bytearray()
    for sequence in range(1, _TRIES + 1):
        unwrapper = Unwrapper()
        os.write(line, wrap(bytes([NodeMessage.HELLO.code, sequence])))
        end = time.monotonic() + _PATIENCE
        while (left := end - time.monotonic()) > 0 and select.select([line], [], [], left)[0]:
            data = os.read(line, CHUNK)
            if not data:
                raise ValueError(LINE_GONE)
            heard += data[: max(0, _SHOWN - len(heard))]
            for message in unwrapper.feed(data):
                if not isinstance(message, Damaged) and message[1:2] == bytes([sequence]) and _is_ours(message):
                    return sequence
    if not heard:
        raise ValueError(f"no answer in {_TRIES * _PATIENCE:g} seconds; wanted is a board with rtl/hil_bridge.sv")
    raise ValueError(f"what answers is no bridge: found {bytes(heard).hex(' ')}")


def _is_ours(message: bytes) -> bool:
    """Whether it is an answer to hello. Raises ValueError for one of a bridge that isn't as ours is."""
    if message[0] != NodeMessage.HELLO_REPLY.code:
        return False
    if len(message) > 3 and message[2] != node_loop.MAJOR:
        ours = f"{node_loop.MAJOR}.{node_loop.MINOR}"
        raise ValueError(f"the bridge speaks version {message[2]}.{message[3]}; wanted is {ours}")
    try:
        found = node_loop.MESSAGES[NodeMessage.HELLO_REPLY].parse(message)
    except ConstructError:
        return False
    parameters: tuple[tuple[str, object, object], ...] = (
        ("layout of the ports", f"{found.layout:08x}", f"{node_loop.LAYOUT:08x}"),
        ("frames in a data buffer", found.slots, node_loop.SLOTS),
        ("flits of the longest frame", found.longest, node_loop.LONGEST_FRAME),
    )
    for what, there, wanted in parameters:
        if there != wanted:
            raise ValueError(f"the bridge has another GPU behind it: {what}: found {there}; wanted is {wanted}")
    return True
