"""Boards in this process: firmware/c behind the board's end of a line, at lines that are in trouble."""

import ctypes
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import serial
from tests.firmware.c.library import FOLDER
from tests.protocol.c.library import INCLUDE, SOURCES, STRICT, compile_c

from ringhil.emulator.loop import board
from ringhil.emulator.loop.board import PATIENCE, Board
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice
from ringhil.firmware.actions import Action
from ringhil.firmware.boot import Boot, our_program
from ringhil.protocol.line import firmware_messages as m
from ringhil.protocol.line.firmware_codec import encode, joined
from ringhil.protocol.line.firmware_loop import Declined, LoopType
from ringhil.protocol.wire import Role

from .lines import PulledOut, Trouble, TroubledLine
from .ptys import PtyEnd

_ROOM = 1 << 16
_ID = slice(1, 3)
TIMED = tuple(kind.code for kind in (LoopType.START, LoopType.TIMER, LoopType.FRAME, LoopType.COUNT_NOW))
BOOTING = tuple(kind.code for kind in (LoopType.ATTACH, LoopType.BOOT, LoopType.GROUP, LoopType.START))


@cache
def _library() -> ctypes.CDLL:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "libfar_board.so"
        sources = [Path(__file__).with_name("far_board.c"), *sorted(FOLDER.glob("*.c")), *SOURCES]
        done = compile_c(*STRICT, "-O2", "-shared", "-fPIC", f"-I{FOLDER}", f"-I{INCLUDE}", *sources, "-o", path)
        assert done.returncode == 0, done.stderr
        calls = ctypes.CDLL(str(path))
    calls.far_create.restype = ctypes.c_void_p
    calls.far_destroy.argtypes = [ctypes.c_void_p]
    calls.far_feed.restype = ctypes.c_size_t
    calls.far_feed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return calls


class FarBoard:
    """The other end."""

    def __init__(self) -> None:
        self._calls, self._said = _library(), ctypes.create_string_buffer(_ROOM)
        self._handle = self._calls.far_create()

    def feed(self, data: bytes) -> bytes:
        length = self._calls.far_feed(self._handle, data, len(data), self._said, _ROOM)
        return self._said.raw[:length]

    def reset(self) -> None:
        """It was without power."""
        self.close()
        self._handle = self._calls.far_create()

    def close(self) -> None:
        self._calls.far_destroy(self._handle)


class FirmwareWords:
    """See `Words`."""

    def another(self, answer: bytes, dice: random.Random) -> bytes:
        other = (int.from_bytes(answer[_ID], "big") + dice.choice((1, -1, dice.randrange(1, 1 << 16)))) % (1 << 16)
        return answer[:1] + other.to_bytes(2, "big") + answer[3:]

    def wrong(self, answer: bytes, dice: random.Random) -> bytes:
        id_ = int.from_bytes(answer[_ID], "big")
        done = bytes([LoopType.DONE.code]) + answer[_ID]
        nonsense = (
            done + b"\0",
            done + b"\0\x05\x41\0",
            done + b"\0\1\x7f",
            done + joined([m.SendAction(9, bytes(32))]),
            done + joined([m.SendAction(0, bytes(31))]),
            done + joined([m.SetTimerAction(3, 0)]),
            done + joined([m.WriteAction(0xEE, 1)]),
            done + joined([m.CancelTimerAction(1)] * 257),
            done + joined([m.SuspectedAction((1 << 40,))]),
            done + joined([m.ElectedAction(Role.ENTRY.code, 0)]),
            done + joined([m.PeerUpAction(Role.ENTRY.code, 999)]),
            bytes([0x7E]) + answer[_ID],
            bytes([LoopType.ATTACH_REPLY.code]) + answer[_ID],
            encode(m.AttachReply(id_, 1, 0, 100, b"another")),
            encode(m.DeclinedReply(id_, dice.choice((Declined.NOT_BOOTED.code, 99)), b"no")),
        )
        cut = (answer[:-1],) * 8 if len(answer) > len(done) else ()
        return dice.choice((*nonsense, *cut))


class _Port:
    """What pyserial would open."""

    def __init__(self, line: TroubledLine) -> None:
        self._line, self._arrived = line, b""
        self.timeout = PATIENCE

    def monotonic(self) -> float:
        return self._line.time

    @property
    def in_waiting(self) -> int:
        return len(self._arrived)

    def fileno(self) -> int:
        raise OSError("there is no such thing")

    def write(self, data: bytes) -> None:
        try:
            self._line.say(data)
        except PulledOut:
            raise serial.SerialException("pulled out") from None

    def read(self, size: int) -> bytes:
        if not self._arrived:
            self._arrived = self._line.hear(self.timeout)
        data, self._arrived = self._arrived[:size], self._arrived[size:]
        return data

    def close(self) -> None:
        pass


@contextmanager
def at_a_pty(
    gpu: str, troubles: Sequence[Trouble], dice: random.Random
) -> Iterator[tuple[FirmwareChoice, TroubledLine]]:
    """The same at the end of a pseudo terminal. It is asked for a second, whatever else this machine does."""
    far = FarBoard()
    line = TroubledLine(far, FirmwareWords(), troubles, dice, 0.05)
    with mock.patch.multiple(board, PATIENCE=0.05, TRIES=20), PtyEnd(line) as end:
        firmware = firmware_of([f"{gpu}={end.name}"])
        try:
            yield firmware, line
        finally:
            firmware.close()
    far.close()


@contextmanager
def boarded(
    gpu: str, troubles: Sequence[Trouble], dice: random.Random
) -> Iterator[tuple[FirmwareChoice, TroubledLine]]:
    """That GPU's firmware on a board, and its line."""
    far = FarBoard()
    line = TroubledLine(far, FirmwareWords(), troubles, dice, PATIENCE)
    with mock.patch.object(board, "opened_port", return_value=_Port(line)):
        made = Board("in this process")
    yield FirmwareChoice((f"{gpu}=board",), {gpu: Chosen("board", made.made, "", made)}), line
    far.close()


class FallsSilent:
    """Ours, which from that event on (of all its boots) says nothing."""

    def __init__(self, gpu: str, events: int) -> None:
        self._left = events
        self.choice = FirmwareChoice((f"{gpu}=silent",), {gpu: Chosen("silent", self._made, "")})

    def _made(self, boot: Boot) -> Any:
        ours, falls = our_program(boot), self

        class Ours:
            def start(self, now: int) -> list[Action]:
                return falls.said(ours.start, now)

            def on_timer(self, name: str, now: int) -> list[Action]:
                return falls.said(ours.on_timer, name, now)

            def on_frame(self, frame: bytes, port: int, bad: bool, now: int) -> list[Action]:
                return falls.said(ours.on_frame, frame, port, bad, now)

            def on_status(self, status: int) -> None:
                ours.on_status(status)

        return Ours()

    def said(self, method: Any, *given: object) -> list[Action]:
        self._left -= 1
        return [] if self._left < 0 else list(method(*given))
