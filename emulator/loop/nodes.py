"""Opens lines to GPU hardware outside, as people write them: `a.3=URL`.

Lines are only ever named by whoever starts a run, never by a file that is read.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Self

import serial
from construct import ConstructError

from ringhil.emulator.documents import shown
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.serial.client import CardError, arrived, descriptor, line_gone, opened_port
from ringhil.emulator.serial.speeds import BAUD
from ringhil.emulator.server.node_choice import NodeChoice, NodeError, NodeLine
from ringhil.protocol.line import node_loop
from ringhil.protocol.line.framing import Damaged, Unwrapper, wrap
from ringhil.protocol.line.node_loop import NodeMessage

_ALLOWED = "GPU=URL, such as a.3=/dev/ttyUSB0 or a.3=socket://127.0.0.1:7777"
_TRIES, _PATIENCE = 4, 0.5  # seconds each
_SHOWN = 16  # bytes of nonsense in a message


class OpenNodes:
    """The lines, open until `close`; `choice` is for one run. Raises NodeError."""

    def __init__(self, given: Sequence[str], *, baud: int = BAUD) -> None:
        lines = dict[str, NodeLine]()
        with ExitStack() as stack:
            for text in given:
                name, mark, url = text.partition("=")
                if not mark or not url:
                    raise NodeError(f"--node: found {shown(text)}; allowed is {_ALLOWED}")
                try:
                    name = str(GpuRef.parse(name))
                except ValueError as error:
                    raise NodeError(f"--node {text}: {error}") from None
                if name in lines:
                    raise NodeError(f"--node {text}: GPU {name} has {lines[name].given.partition('=')[2]} already")
                try:
                    line = stack.enter_context(opened_port(url, baud=baud, timeout=0))
                    number = descriptor(line)
                    if number is None:
                        raise ValueError("has no descriptor; allowed are a device and socket://HOST:PORT")
                    lines[name] = NodeLine(text, number, _greeted(line))
                except (CardError, ValueError) as error:
                    why = str(error).removeprefix(f"{url}: ")
                    raise NodeError(f"--node {text}: {why}") from None
            self._open = stack.pop_all()
        self.choice = NodeChoice(lines)

    def close(self) -> None:
        """Nothing more is asked."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _greeted(line: "serial.SerialBase") -> int:
    """Says hello; the sequence number of that. Raises ValueError if it's no bridge that we understand."""
    heard = bytearray()
    for sequence in range(1, _TRIES + 1):
        unwrapper = Unwrapper()
        with line_gone():
            line.write(wrap(bytes([NodeMessage.HELLO.code, sequence])))
        end = time.monotonic() + _PATIENCE
        while (left := end - time.monotonic()) > 0:
            data = arrived(line, left)
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
