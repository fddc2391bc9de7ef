"""What came from outside in a recorded run, with its cycle: it runs again without those it came from.

Of a board that runs a GPU's firmware it is what it was asked and has answered; of a GPU's hardware, where it did
otherwise than ours, and when it was lost; of clients of a session, what they sent and got, and when they came and went;
of its group tree, what was asked of it and answered.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from ringhil.emulator.documents import shown
from ringhil.emulator.events.hardware import NodeDiffered
from ringhil.emulator.events.server import NodeLost
from ringhil.emulator.groups.again import GroupsAgain
from ringhil.emulator.groups.desk import GroupAsked, GroupReplied
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.recorded import Differed, Exchanged, LostHardware, recorded_nodes, with_recorded
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.serial.server.clients import ClientError, ClientRow, ClientsAgain, Cycle, Note, SessionRow
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.node_choice import NodeChoice
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording, RecordingWriter
from ringhil.emulator.trace.recording.tables import About


class Ended(SessionRow):
    """A session is over."""

    cycle: Cycle
    ended: Literal[True]


_ROW: TypeAdapter[Any] = TypeAdapter(
    ClientRow | GroupAsked | GroupReplied | Exchanged | LostHardware | Differed | Ended
)


def write_outside(run: Run, writer: RecordingWriter, firmware: FirmwareChoice) -> None:
    """Have it written down from now on."""
    gpu_of = run.server.wiring.gpu_of

    def lost(seen: NodeLost) -> None:
        writer.outside({"cycle": seen.cycle, "gpu": str(gpu_of(seen.cell)), "lost": seen.why})

    def differed(seen: NodeDiffered) -> None:
        gpu = str(gpu_of(seen.cell))
        writer.outside({"cycle": seen.cycle, "gpu": gpu, "differed": seen.place, "value": seen.value})

    run.observations.listen(NodeLost, lost)
    run.observations.listen(NodeDiffered, differed)
    for gpu, board in firmware.boards.items():
        board.on_exchange = _exchanges(run, writer, gpu)


def _exchanges(run: Run, writer: RecordingWriter, gpu: str) -> Callable[[bytes, bytes | None], None]:
    def exchanged(asked: bytes, answered: bytes | None) -> None:
        said = None if answered is None else answered.hex()
        writer.outside({"cycle": run.kernel.now, "gpu": gpu, "asked": asked.hex(), "answered": said})

    return exchanged


class RecordedOutside:
    """Of a recording; as `loop.recorded` reads it."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def path(self) -> Path:
        """Of the file."""
        return self._recording.path

    @property
    def header(self) -> About:
        """What was run."""
        return self._recording.about

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Each with its number. Raises RecordingError where they are damaged."""
        for number, text in self._recording.outside():
            try:
                row = _ROW.validate_json(text)
                if isinstance(row, Exchanged) and row.answered is None:
                    row = row.model_copy(update={"why": self._why(row.gpu)})
                yield number, row
            except ValidationError:
                raise RecordingError(
                    f"{self._recording.path}: is damaged: outside {number}: found {text[:100]}"
                ) from None

    def _why(self, gpu: str) -> str | None:
        """A board was gone: as the firmware's loss was told then, without where it was missed."""
        told = self._recording.last_event("FirmwareLost")
        while told is not None and (told.cell is None or self._recording.gpus[told.cell] != gpu):
            told = self._recording.last_event("FirmwareLost", told.number - 1)
        return None if told is None else str(json.loads(told.fields).get("why")).partition(": ")[2]

    def choices(self, firmware: FirmwareChoice) -> tuple[FirmwareChoice, NodeChoice]:
        """What was chosen, and for boards that were not, what answers as they did. Raises RecordingError where what
        they said, or the hardware did, is damaged: later it would be taken for theirs."""
        if self.header.firmware or self.header.nodes:
            self._check()
        return with_recorded(self, firmware), recorded_nodes(self)

    def _check(self) -> None:
        known = set(self._recording.gpus)
        for number, row in self.rows():
            gpu = getattr(row, "gpu", None)
            if gpu is not None and gpu not in known:
                raise RecordingError(
                    f"{self.path}: is damaged: outside {number}: gpu: found {shown(gpu)}; there is no such GPU"
                )

    def acts(self) -> Iterator[tuple[int, Any]]:
        """What was done to the run, row by row: by clients, to its groups, and hardware that was lost; and the end of a
        session."""
        if self.header.nodes or self.header.clock is not None:
            yield from ((number, row) for number, row in self.rows() if not isinstance(row, Exchanged | Differed))


class Acts:
    """Done again to a run that has not started yet, each in its cycle. `differs` is told what clients get otherwise
    than they did; a run that is `free` may go on otherwise."""

    def __init__(self, run: Run, outside: RecordedOutside, differs: Callable[[str], None]) -> None:
        self._run, self._path, self._differs = run, outside.path, differs
        self._outside = {given.partition("=")[0] for given in outside.header.nodes}
        clock = outside.header.clock
        self._clients = None if clock is None else ClientsAgain(run, clock)
        self._groups = None if clock is None else GroupsAgain(run, differs)
        self._rows = outside.acts()
        if clock is None:  # a run that ends by itself looks at how far it is: it must not be stopped on the way
            for number, row in self._rows:
                run.kernel.early(row.cycle, partial(self._do, number, row))
        self._next = next(self._rows, None)
        self._free: Note | None = None

    @property
    def clients(self) -> tuple[int, int, int]:
        """How many have come; bytes that they sent, and got."""
        again = self._clients
        return (0, 0, 0) if again is None else (again.came, again.bytes_in, again.bytes_out)

    def free(self, note: Note) -> None:
        """From now on clients take what they get, and it is written down."""
        self._free = note
        if self._clients is not None:
            self._clients.note = note
        if self._groups is not None:
            self._groups.note = note

    def play_to(self, cycle: int | None) -> None:
        """Play up to a cycle, None: to where the last of these is. Raises RecordingError."""
        while self._next is not None and (cycle is None or self._next[1].cycle < cycle):
            number, row = self._next
            if row.cycle < self._run.kernel.now:
                raise self._damaged(number, f"cycle {row.cycle} comes after {self._run.kernel.now}")
            self._run.run_to(row.cycle)
            self._do(number, row)
            self._next = next(self._rows, None)
        if cycle is not None:
            self._run.run_to(cycle)

    def _do(self, number: int, row: Any) -> None:
        if isinstance(row, LostHardware):
            if row.gpu not in self._outside:
                raise self._damaged(number, f"{row.gpu} is not outside")
            self._run.server.lose(self._run.server.wiring.cell_of(GpuRef.parse(row.gpu)), row.lost)
        elif isinstance(row, Ended):
            self._run.end_at(row.cycle)
            if self._groups is not None:
                self._groups.end()
            if self._free is not None:
                self._free(row.model_dump())
        elif self._clients is None or self._groups is None:
            raise self._damaged(number, "found a client; it is no session")
        else:
            try:
                if isinstance(row, GroupAsked | GroupReplied):
                    self._groups.do(row)
                    return
                found = self._clients.do(row)
            except ClientError as error:
                raise self._damaged(number, str(error)) from None
            if found is not None and self._free is None:
                self._differs(found)

    def _damaged(self, number: int, what: str) -> RecordingError:
        return RecordingError(f"{self._path}: is damaged: outside {number}: {what}")


def close_boards(firmware: FirmwareChoice) -> str | None:
    """The run is over: what a recorded board should have been asked, and wasn't, or the other way round."""
    for board in firmware.boards.values():
        with suppress(OSError):
            board.close()
    return next((board.difference for board in firmware.boards.values() if board.difference is not None), None)
