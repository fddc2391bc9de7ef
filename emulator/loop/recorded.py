"""Boards of a recorded run, which answer as they did, and GPUs' hardware outside: a recording replays without them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Protocol

from pydantic import Field

from ringhil.emulator.engine.layout import REGISTER
from ringhil.emulator.loop.far import FarFirmware
from ringhil.emulator.loop.loading import is_board
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.serial.server.clients import Cycle, Hex, SessionRow
from ringhil.emulator.server.firmware_choice import Chosen, FirmwareChoice, who
from ringhil.emulator.server.foreign import FirmwareGone
from ringhil.emulator.server.node_choice import NodeChoice, NodeError, RecalledNode
from ringhil.firmware.boot import Boot
from ringhil.firmware.program import Firmware
from ringhil.protocol.line.firmware_codec import decode
from ringhil.protocol.line.packing import MessageError

_Gpu = Annotated[str, Field(max_length=1000)]


class Exchanged(SessionRow):
    """What a board that runs a GPU's firmware was asked, and answered; `why` it was gone, where that is known."""

    cycle: Cycle
    gpu: _Gpu
    asked: Hex
    answered: Hex | None
    why: str | None = None


class LostHardware(SessionRow):
    """The hardware of a GPU, outside, is gone from this cycle on, and why."""

    cycle: Cycle
    gpu: _Gpu
    lost: str


class Differed(SessionRow):
    """What a GPU's hardware outside did otherwise than ours: a place of `engine/layout.py`, and what was there."""

    cycle: Cycle
    gpu: _Gpu
    differed: Annotated[int, Field(ge=0, lt=2 * REGISTER)]
    value: Annotated[int, Field(ge=0, lt=1 << 64)]


class _Header(Protocol):
    @property
    def firmware(self) -> Sequence[str]: ...
    @property
    def nodes(self) -> Sequence[str]: ...


class OutsideRows(Protocol):
    """Is a recording of what boards and hardware outside did."""

    @property
    def header(self) -> _Header: ...
    def rows(self) -> Iterator[tuple[int, Any]]: ...


class RecordedBoard:
    """Answers from a recording, as long as it is asked what was asked then; `difference` says where it isn't."""

    def __init__(self, recorded: OutsideRows, where: str) -> None:
        rows = recorded.rows()
        self._where = where
        self._rows = ((n, row) for n, row in rows if isinstance(row, Exchanged) and row.gpu == where)
        self.difference: str | None = None
        self.on_exchange: Callable[[bytes, bytes | None], None] = lambda request, answer: None

    def _next(self) -> tuple[int, Exchanged | None]:
        return next(self._rows, (0, None))

    def exchange(self, request: bytes) -> bytes:
        """Returns the recorded answer. Raises FirmwareGone, also where the recording has none, or another request."""
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
        """Returns its firmware, which boots."""
        return FarFirmware(self.exchange, boot)

    def close(self) -> None:
        """Checks at the end of the run that everything was asked."""
        number, row = self._next()
        if row is not None and self.difference is None:
            self.difference = f"line {number}: {self._where}: is not asked {in_words(bytes.fromhex(row.asked))}"


def with_recorded(recorded: OutsideRows, given: FirmwareChoice) -> FirmwareChoice:
    """What was chosen, and for the recording's boards on GPUs that were not named, what they answered then."""
    chosen = dict(given.chosen)
    for text in recorded.header.firmware:
        where, _, what = text.partition("=")
        if is_board(what) and (where := str(GpuRef.parse(where))) not in given.chosen:
            board = RecordedBoard(recorded, where)
            chosen[where] = Chosen(what, board.made, "", board)
    named = tuple(map(who, given.given))
    complete = all(text in named or is_board(text.partition("=")[2]) for text in recorded.header.firmware)
    same = complete and set(named) <= set(recorded.header.firmware)
    return replace(given, given=tuple(recorded.header.firmware) if same else named, chosen=chosen)


def recorded_nodes(recorded: OutsideRows) -> NodeChoice:
    """Ours in the place of the hardware that was outside, which does again what that did otherwise. Raises NodeError
    for what names no GPU."""
    differed = defaultdict[str, list[tuple[int, int, int]]](list)
    if recorded.header.nodes:
        for _, row in recorded.rows():
            if isinstance(row, Differed):
                differed[row.gpu].append((row.cycle, row.differed, row.value))
    found = {}
    for text in recorded.header.nodes:
        name = text.partition("=")[0]
        try:
            GpuRef.parse(name)
        except ValueError as error:
            raise NodeError(f"--node {text}: {error}") from None
        found[name] = RecalledNode(text, differed[name])
    return NodeChoice(found)


def _cycle_in(request: bytes) -> int | None:
    """Returns the cycle in which a request is made, where the message says so."""
    try:
        return getattr(decode(request), "now", None)
    except MessageError:
        return None


def in_words(message: bytes) -> str:
    """Returns a message of the firmware loop in words."""
    try:
        return str(decode(message))
    except MessageError:
        return message.hex()
