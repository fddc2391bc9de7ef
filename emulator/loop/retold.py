"""Boards as the firmware of cases that all begin from one warm state.

Each case is a forked process, and a board can't be forked. But what it does follows from what it was told since its GPU
booted: so a process that doesn't find it where it has left it has it boot again, and tells it all of that once more. A
board that answers something else then would make every case another one: nothing is played with it any more, and
neither with one that is gone.
"""

from collections.abc import Callable
from dataclasses import replace
from mmap import PAGESIZE, mmap

from ringhil.emulator.loop.board import Board
from ringhil.emulator.loop.far import FarFirmware
from ringhil.emulator.loop.recorded import in_words
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareError, FirmwareGone
from ringhil.firmware.boot import Boot
from ringhil.firmware.program import Firmware

_COUNT = slice(0, 8)  # of the shared page: exchanges with the board so far
_WHY = slice(8, PAGESIZE)  # and why it isn't to be used any more
_SHOWN = 48  # characters of a message


class RetoldBoard:
    """`board`, for a process and all that are forked from it, of which one at a time speaks to it."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._shared = mmap(-1, PAGESIZE)
        self._told: list[tuple[bytes, bytes]] = []  # since the boot, with its answers
        self._left = 0  # exchanges, after the last one of this process
        self.on_exchange: Callable[[bytes, bytes | None], None] = lambda request, answer: None

    @property
    def difference(self) -> str | None:
        """Is what FarEnd says, in whichever process it was seen."""
        return self._shared[_WHY].rstrip(b"\0").decode("utf-8", "replace") or None

    def made(self, boot: Boot) -> Firmware:
        """Returns its firmware, which boots: what was before doesn't matter."""
        self._told.clear()
        return FarFirmware(self.exchange, boot)

    def exchange(self, request: bytes) -> bytes:
        """Sends a request and returns the board's answer. Raises FirmwareError, also when the board is gone."""
        if self.difference is not None:
            raise FirmwareError(self.difference)
        if self._left != self._exchanges():
            self._tell_again()
        answer = self._asked(request)
        self._told.append((request, answer))
        self.on_exchange(request, answer)
        return answer

    def close(self) -> None:
        """Closes the port."""
        self._board.close()

    def _exchanges(self) -> int:
        return int.from_bytes(self._shared[_COUNT], "big")

    def _tell_again(self) -> None:
        for number, (request, before) in enumerate(self._told, 1):
            answer = self._asked(request)
            if answer != before:
                where = f"message {number} of {len(self._told)} since its boot, {in_words(request)[:_SHOWN]}"
                self._over(f"isn't the same when it is told the same again: {where}: {_difference(before, answer)}")

    def _asked(self, request: bytes) -> bytes:
        # Before it is asked: one who is ended meanwhile has changed the board, too.
        self._left = self._exchanges() + 1
        self._shared[_COUNT] = self._left.to_bytes(8, "big")
        try:
            return self._board.exchange(request)
        except FirmwareGone as gone:
            return self._over(f"is gone: {gone}")

    def _over(self, why: str) -> bytes:
        """Raises FirmwareError, here and from now on in every process."""
        text = f"{self._board.url}: the board {why}".encode()[: PAGESIZE - _WHY.start]
        self._shared[_WHY] = text.ljust(PAGESIZE - _WHY.start, b"\0")
        raise FirmwareError(self.difference)


def _difference(before: bytes, answer: bytes) -> str:
    at = next((n for n, (was, is_) in enumerate(zip(before, answer, strict=False)) if was != is_), None)
    if at is None:
        return f"its answer had {len(before)} bytes, and has {len(answer)}"
    return f"byte {at} of its answer was 0x{before[at]:02X}, and is 0x{answer[at]:02X}"


def retold(given: FirmwareChoice) -> FirmwareChoice:
    """What was chosen, with boards that may be used by cases."""
    chosen = dict(given.chosen)
    for where, each in given.chosen.items():
        if isinstance(each.board, Board):
            board = RetoldBoard(each.board)
            chosen[where] = replace(each, maker=board.made, board=board, forgiven=False)
    return replace(given, chosen=chosen)
