"""Boards of a recorded session, which answer as they did, and GPUs' hardware outside: it replays without them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from ringhil.emulator.loop.far import FarFirmware
from ringhil.emulator.loop.loading import is_board
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.serial.journal import JournalError
from ringhil.emulator.serial.replaying import Differed, Exchanged
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice
from ringhil.emulator.server.foreign import FirmwareGone
from ringhil.emulator.server.node_choice import NodeChoice, RecalledNode
from ringhil.firmware.boot import Boot
from ringhil.firmware.program import Firmware
from ringhil.protocol.line.firmware_codec import decode
from ringhil.protocol.line.packing import MessageError


class _Header(Protocol):
    @property
    def firmware(self) -> Sequence[str]: ...
    @property
    def nodes(self) -> Sequence[str]: ...


class OutsideRows(Protocol):
    """Whatever says what boards and hardware outside did: a session's journal, or a recording."""

    @property
    def header(self) -> _Header: ...
    def rows(self) -> Iterator[tuple[int, Any]]: ...


class RecordedBoard:
    """Answers from a journal, as long as it is asked what was asked then; `difference` says where it isn't."""

    def __init__(self, journal: OutsideRows, where: str) -> None:
        self._where, self._rows = where, self._of(journal, where)
        self.difference: str | None = None
        self.on_exchange: Callable[[bytes, bytes | None], None] = lambda request, answer: None

    @staticmethod
    def _of(journal: OutsideRows, where: str) -> Iterator[tuple[int, Exchanged]]:
        return ((n, row) for n, row in journal.rows() if isinstance(row, Exchanged) and row.gpu == where)

    def _next(self) -> tuple[int, Exchanged | None]:
        with suppress(JournalError):  # whoever reads the session says what is wrong with it
            return next(self._rows, (0, None))
        return 0, None

    def exchange(self, request: bytes) -> bytes:
        """The recorded answer. Raises FirmwareGone, also where the recording says nothing, or something else."""
        if self.difference is not None:  # the first one is told
            raise FirmwareGone(self.difference, recorded=True)
        number, row = self._next()
        if row is None:
            self.difference = f"{self._where}: is asked {in_words(request)}; recorded is no more"
        elif bytes.fromhex(row.asked) != request:
            was = in_words(bytes.fromhex(row.asked))
            self.difference = f"line {number}: {self._where}: is asked {in_words(request)}, recorded {was}"
        elif (at := _cycle_in(request)) not in (None, row.cycle):
            self.difference = f"line {number}: {self._where}: is asked in cycle {at}, recorded in {row.cycle}"
        if self.difference is None:
            self.on_exchange(request, None if row is None or row.answered is None else bytes.fromhex(row.answered))
        if row is None or row.answered is None or self.difference is not None:
            gone = "as it was recorded" if row is None or row.why is None else row.why
            raise FirmwareGone(gone if self.difference is None else self.difference, recorded=True)
        return bytes.fromhex(row.answered)

    def made(self, boot: Boot) -> Firmware:
        """Its firmware, which boots."""
        return FarFirmware(self.exchange, boot)

    def close(self) -> None:
        """The session is over: everything must have been asked."""
        number, row = self._next()
        if row is not None and self.difference is None:
            self.difference = f"line {number}: {self._where}: is not asked {in_words(bytes.fromhex(row.asked))}"


def with_recorded(journal: OutsideRows, given: FirmwareChoice) -> FirmwareChoice:
    """What was chosen, and for the recording's boards on GPUs that were not named, what they answered then."""
    chosen = dict(given.chosen)
    for text in journal.header.firmware:
        where, _, what = text.partition("=")
        if is_board(what) and (where := str(GpuRef.parse(where))) not in given.chosen:
            board = RecordedBoard(journal, where)
            chosen[where] = Chosen(what, board.made, "", board)
    complete = all(text in given.given or is_board(text.partition("=")[2]) for text in journal.header.firmware)
    same = complete and set(given.given) <= set(journal.header.firmware)
    return replace(given, given=tuple(journal.header.firmware) if same else given.given, chosen=chosen)


def recorded_nodes(journal: OutsideRows) -> NodeChoice:
    """Ours in the place of the hardware that was outside, which does again what that did otherwise."""
    differed = defaultdict[str, list[tuple[int, int, int]]](list)
    if journal.header.nodes:
        with suppress(JournalError):  # as above
            for _, row in journal.rows():
                if isinstance(row, Differed):
                    differed[row.gpu].append((row.cycle, row.differed, row.value))
    found = [(text, text.partition("=")[0]) for text in journal.header.nodes]
    return NodeChoice({name: RecalledNode(text, differed[name]) for text, name in found})


def _cycle_in(request: bytes) -> int | None:
    """When it is asked, where the message says so."""
    try:
        return getattr(decode(request), "now", None)
    except MessageError:
        return None


def in_words(message: bytes) -> str:
    """A message of the firmware loop, for a line."""
    try:
        return str(decode(message))
    except MessageError:
        return message.hex()
