"""A live session run again from its journal (`journal.py`), as earlier versions have written it, without the clients
that were there: the same bytes must leave, and the same verdict must come out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ringhil.emulator.engine.layout import REGISTER
from ringhil.emulator.engine.library import Library
from ringhil.emulator.files import open_input, reason_of
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import GpuRef, Scenario, ScenarioError, loads
from ringhil.emulator.scenario.file.names import GPU
from ringhil.emulator.serial.clients import ClientError, ClientRow, ClientsAgain, Cycle, Hex, SessionRow
from ringhil.emulator.serial.journal import FORMAT, VERSIONS, FramesSeen, JournalError, LinesSum, written
from ringhil.emulator.serial.speeds import CLOCKS
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.server.node_choice import ALL_HERE, NodeChoice, NodeError

_LONGEST_LINE = 1 << 20  # bytes
_LONGEST_CHOICE, _MOST_CHOICES = 1000, 1000  # letters of a --firmware or --node, and how many
_SHOWN = 48  # bytes in a message
_VERSIONS = ", ".join(map(str, VERSIONS))
_Choices = Annotated[list[Annotated[str, Field(max_length=_LONGEST_CHOICE)]], Field(max_length=_MOST_CHOICES)]
_Node = Annotated[str, Field(max_length=_LONGEST_CHOICE, pattern=f"{GPU.removesuffix('$')}=")]


class _Header(BaseModel):
    model_config = ConfigDict(strict=True)
    format: Literal["ringhil live session"]
    version: int
    ringhil: str
    rtl: str
    name: str
    scenario: str
    clock: Annotated[int, Field(ge=0, le=CLOCKS[1])]
    firmware: _Choices = []
    nodes: Annotated[list[_Node], Field(max_length=_MOST_CHOICES)] = []


class Exchanged(SessionRow):
    """What a board that runs a GPU's firmware was asked, and answered; `why` it was gone, where that is known."""

    cycle: Cycle
    gpu: Annotated[str, Field(max_length=_LONGEST_CHOICE)]
    asked: Hex
    answered: Hex | None
    why: str | None = None


class LostHardware(SessionRow):
    """The hardware of a GPU, outside, is gone from this cycle on, and why."""

    cycle: Cycle
    gpu: Annotated[str, Field(max_length=_LONGEST_CHOICE)]
    lost: str


class Differed(SessionRow):
    """What a GPU's hardware outside did otherwise than ours: a place of `engine/layout.py`, and what was there."""

    cycle: Cycle
    gpu: Annotated[str, Field(max_length=_LONGEST_CHOICE)]
    differed: Annotated[int, Field(ge=0, lt=2 * REGISTER)]
    value: Annotated[int, Field(ge=0, lt=1 << 64)]


class _End(SessionRow):
    end: Cycle
    verdict: str
    failures: list[str]
    frames: str
    sum: str | None = None


_ROW: TypeAdapter[Any] = TypeAdapter(ClientRow | Exchanged | LostHardware | Differed | _End)


@dataclass(frozen=True)
class Replayed:
    """`difference`: the first one, None: there is none. `complete`: the journal says how the session ended, so that the
    end could be compared too; `verdict` and `failures`: its own."""

    cycles: int
    clients: int
    bytes_in: int
    bytes_out: int
    verdict: str | None
    complete: bool
    difference: str | None
    failures: tuple[str, ...] = ()


class Journalled:
    """A journal that was read: `header` is checked, rows are checked as they are read. Raises JournalError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        _, first = next(self._lines(), (1, ""))
        head = self._document(1, first) if first.endswith("\n") else None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            wanted = f"wanted is a line with the format {FORMAT!r}"
            raise JournalError(f"{path}:1: is no recording of a run or a live session: found {_begun(first)}; {wanted}")
        if head.get("version") not in VERSIONS:
            found = head.get("version")
            raise JournalError(f"{path}:1: is version {found!r} of the format; this program reads {_VERSIONS}")
        try:
            self.header = _Header.model_validate(head)
        except ValidationError as error:
            raise JournalError(f"{path}:1: {_first(error)}") from None
        try:
            self.scenario: Scenario = loads(self.header.scenario, self.header.name)
        except ScenarioError as error:
            raise JournalError(f"{path}:1: scenario: {error}") from None

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Each with its line number. A last line that breaks off is left out; nothing comes behind the end."""
        lines, ended = LinesSum(), False
        for number, line in self._lines():
            if number == 1:
                lines.line(line)
                continue
            try:
                document = self._document(number, line)
                row = _ROW.validate_python(document)
            except (JournalError, ValidationError) as error:
                if not line.endswith("\n"):
                    return
                raise error if isinstance(error, JournalError) else self._no_row(number, line) from None
            if ended:
                raise JournalError(f"{self._path}:{number}: found {_begun(line)}; wanted is nothing behind the end")
            yield number, row
            if isinstance(row, _End):
                ended = True
                self._is_as_written(number, document, lines)
            lines.line(line)

    def _is_as_written(self, number: int, end: dict[str, Any], lines: LinesSum) -> None:
        """Lines were neither changed nor left out nor doubled since the recording."""
        said = end.pop("sum", None)
        if (said is not None or self.header.version > 1) and said != lines.with_last(written(end)):
            raise JournalError(f"{self._path}:{number}: sum: found {said!r}, which is not that of the lines above it")

    def _no_row(self, number: int, line: str) -> JournalError:
        found = line.strip()[:_SHOWN]
        return JournalError(f"{self._path}:{number}: found {found!r}; wanted is a line of a session")

    def _lines(self) -> Iterator[tuple[int, str]]:
        number = 0
        try:
            with open_input(self._path) as file:
                while line := file.readline(_LONGEST_LINE + 1):
                    number += 1
                    if len(line) > _LONGEST_LINE:
                        raise JournalError(
                            f"{self._path}:{number}: is longer than {_LONGEST_LINE} bytes, which are allowed"
                        )
                    yield number, line.decode("utf-8", errors="replace")
        except OSError as error:
            raise JournalError(f"{self._path}: cannot be read: {reason_of(error)}") from error

    def _document(self, number: int, line: str) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            found = line.strip()[:_SHOWN]
            raise JournalError(f"{self._path}:{number}: found {found!r}; wanted is a JSON document") from None


class SessionReplay:
    """Runs a session again. `firmware` and `nodes` must be what it was recorded with: a file names no code that is run,
    and no line. Raises JournalError when this can't be done, and FirmwareError."""

    def __init__(
        self,
        path: Path,
        library: Library,
        firmware: FirmwareChoice = OURS,
        journal: Journalled | None = None,
        *,
        nodes: NodeChoice = ALL_HERE,
    ) -> None:
        self._path, self._journal, self._nodes = path, journal or Journalled(path), nodes
        header = self._journal.header
        if library.rtl != header.rtl:
            raise JournalError(f"{path}:1: was recorded on the RTL {header.rtl}; this one is {library.rtl}")
        if list(firmware.given) != header.firmware or list(nodes.given) != header.nodes:
            recorded, given = _options(header.firmware, header.nodes), _options(firmware.given, nodes.given)
            raise JournalError(f"{path}:1: was recorded with {recorded}; found {given}")
        try:
            self._run = Run(self._journal.scenario, library, firmware=firmware, nodes=nodes)
        except NodeError as error:
            raise JournalError(f"{path}:1: {error}") from None
        self._boards = list(firmware.boards.values())
        self._clients = ClientsAgain(self._run, header.clock)
        self._seen = FramesSeen()
        self._run.observations.listen_to_frames(self._seen.frame)

    def run(self) -> Replayed:
        """Until the first difference, or the end."""
        run, cycle, whole = self._run, 0, None
        try:
            run.start()
            for number, row in self._journal.rows():
                if isinstance(row, _End):
                    whole = self._ended(number, row)
                    if whole.difference is not None:
                        return whole
                    continue  # nothing may come behind it
                if row.cycle < cycle:
                    raise JournalError(f"{self._path}:{number}: cycle {row.cycle} comes after {cycle}")
                cycle = row.cycle
                run.run_to(cycle)
                difference = self._of_boards() or self._do(number, row)
                if difference is not None:
                    return self._replayed(None, difference)
            return whole or self._replayed(None, None)
        finally:
            run.server.close_work()
            run.close()

    def _of_boards(self) -> str | None:
        """What a recorded board was asked, and wasn't then."""
        found = (board.difference for board in self._boards)
        return next((difference for difference in found if difference is not None), None)

    def _replayed(self, ended: "_End | None", difference: str | None) -> Replayed:
        now = self._run.kernel.now
        came, sent, taken = self._clients.came, self._clients.bytes_in, self._clients.bytes_out
        if ended is None:
            return Replayed(now, came, sent, taken, None, False, difference)
        return Replayed(now, came, sent, taken, ended.verdict, True, difference, tuple(ended.failures))

    def _do(self, number: int, row: Any) -> str | None:
        if isinstance(row, Exchanged):
            return None  # boards read what is theirs when they are asked
        if isinstance(row, LostHardware | Differed):
            self._of_hardware(number, row)
            return None
        try:
            difference = self._clients.do(row)
        except ClientError as error:
            raise JournalError(f"{self._path}:{number}: {error}") from None
        return None if difference is None else f"line {number}: {difference}"

    def _of_hardware(self, number: int, row: "LostHardware | Differed") -> None:
        """What it did otherwise has been done again: the engine knows it from the beginning."""
        if row.gpu not in self._nodes.nodes:
            raise JournalError(f"{self._path}:{number}: {row.gpu} is not outside")
        if isinstance(row, LostHardware):
            self._run.server.lose(self._run.server.wiring.cell_of(GpuRef.parse(row.gpu)), row.lost)

    def _ended(self, number: int, row: _End) -> Replayed:
        self._run.run_to(row.end)
        self._run.end_at(row.end)
        outcome = self._run.finish()
        for board in self._boards:
            board.close()
        difference = self._of_boards()
        if difference is not None:
            return self._replayed(row, difference)
        found = {"verdict": str(outcome.verdict), "failures": list(outcome.failures), "frames": self._seen.hexdigest()}
        wanted = {"verdict": row.verdict, "failures": row.failures, "frames": row.frames}
        differs = [f"{key}: found {found[key]}, recorded {wanted[key]}" for key in wanted if found[key] != wanted[key]]
        return self._replayed(row, f"line {number}: {differs[0]}" if differs else None)


def _options(firmware: Sequence[str], nodes: Sequence[str]) -> str:
    words = [f"--firmware {each}" for each in firmware] or ["our firmware"]
    return " ".join([*words, *(f"--node {each}" for each in nodes)])


def _begun(line: str) -> str:
    """How a first line begins."""
    if not line:
        return "nothing"
    return f"{line.strip()[:_SHOWN]!r}" + ("" if line.endswith("\n") else ", which is cut off,")


def _first(error: ValidationError) -> str:
    one = error.errors()[0]
    return f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
