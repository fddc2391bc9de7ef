"""Failing cases as files: each a scenario that fails by itself, and the smallest one of each kind of failure."""

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.sorts import MOST_FILES
from ringhil.emulator.campaign.explore.store import Row, StoredCampaign
from ringhil.emulator.engine.library import Library
from ringhil.emulator.files import reason_of, write_whole
from ringhil.emulator.forks import ForkedError, forked
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.scenario import Scenario, dumps, loads
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.trace import RecordingError

if TYPE_CHECKING:
    from ringhil.emulator.view.alone import LeftPage

MOST_SHRUNK = 10
MOST_DOOMED = 10
_BUDGET = 200  # plays for one
_NAME = 60  # characters of a file's name


@dataclass(frozen=True)
class Failing:
    """A failing case; `file` and `command` replay it. `shrunk`: the scenario file of its sort that was made small.
    `recording`: of its run, with its `page`, and `moment`: the row there by which it was found to fail. `doomed`: since
    when that was to fail, as `Doomed.to_json` has it."""

    row: Row
    file: Path
    command: str
    shrunk: Path | None = None
    recording: Path | None = None
    doomed: dict[str, Any] | None = None
    page: Path | None = None
    moment: int | None = None
    no_page: str = ""  # why there is none, where there should be

    @property
    def smallest(self) -> str | None:
        """The command that replays `shrunk`, with the same RTL and firmware."""
        return None if self.shrunk is None else self._with("run", self.shrunk)

    @property
    def step(self) -> str | None:
        """The command that walks through `recording`, with the same RTL and firmware."""
        return None if self.recording is None else self._with("step", self.recording)

    def _with(self, word: str, file: Path) -> str:
        old, new = (shlex.join(["ringhil", *words]) for words in (("run", str(self.file)), (word, str(file))))
        return self.command.replace(old, new, 1)


def scenario_of(campaign: StoredCampaign, row: Row) -> Scenario:
    """The scenario that gives the outcome of a case, whoever runs it."""
    text = f"{campaign.scenario}timeline: {row.schedule}\n"
    scenario = loads(text, name=f"case {row.number}")
    return replace(scenario, name=f"case {row.number}: {row.key}", until=row.result.until)


def write_cases(folder: Path, campaign: StoredCampaign, rows: Iterable[Row], options: str = "") -> list[Failing]:
    """A file for each case, failed or not, at most MOST_FILES. `options` of `ringhil run`, for RTL and firmware.

    Raises ExploreError.
    """
    written: list[Failing] = []
    for row in rows:
        if len(written) == MOST_FILES:
            break
        file = folder / f"case-{row.number:07}-{_slug(row.key)}.yaml"
        command = f"ringhil run {shlex.quote(str(file))}{options}"
        lines = [row.key, f"{row.result.verdict}: {row.result.violated or ''}", *row.result.failures]
        lines += [*(f"{name}: {value}" for name, value in campaign.hashes.items()), f"Replay: {command}"]
        comment = "".join(f"# {' '.join(line.split())}\n" for line in lines)
        _write(file, comment + dumps(scenario_of(campaign, row)))
        written.append(Failing(row, file, command))
    return written


def record_failing(
    campaign: StoredCampaign,
    failing: list[Failing],
    library: Library,
    limit: float,
    progress: Callable[[str], None],
    firmware: FirmwareChoice = OURS,
) -> list[Failing]:
    """The same, with a recording of each beside its file, and a page; of one that hangs there is none. Raises
    RecordingError."""
    # Imported here: it is needed by campaigns that find something, only.
    from ringhil.emulator.view.linking import first_failure

    result = []
    for case in failing:
        path = case.file.with_suffix(".rec")
        progress(case.row.key)
        if case.row.result.verdict == VerdictWord.HUNG:
            result.append(case)
            continue
        page = _recorded(path, campaign, case.row, library, limit, firmware)
        moment = None if page.path is None else first_failure(path, library, firmware)
        result.append(replace(case, recording=path, page=page.path, no_page=page.why, moment=moment))
    return result


def _recorded(
    path: Path, campaign: StoredCampaign, row: Row, library: Library, limit: float, firmware: FirmwareChoice
) -> "LeftPage":
    """Its page. Raises RecordingError."""
    # Imported here: it is needed by campaigns that find something, only.
    from ringhil.emulator.debug.recorder import record_run
    from ringhil.emulator.view.alone import leave_page

    def play() -> "LeftPage | str":
        try:
            record_run(path, scenario_of(campaign, row), library, firmware)
        except (RecordingError, OSError) as error:
            return str(error)
        return leave_page(path, library, firmware)

    try:
        found = forked(play, limit)
    except ForkedError as error:
        found = f"{path}: {'it takes too long' if error.hung else 'the process that recorded it died'}"
    if isinstance(found, str):
        raise RecordingError(found)
    return found


def since_when(
    failing: list[Failing], library: Library, progress: Callable[[str], None], firmware: FirmwareChoice = OURS
) -> list[Failing]:
    """The same; the first recorded one of each sort knows since when it was to fail, at most MOST_DOOMED sorts. They
    are in the order of `main_failures`. Raises RecordingError and DebugError."""
    # Imported here: it is needed by campaigns that find something, only.
    from ringhil.emulator.debug.commands import Commands
    from ringhil.emulator.debug.session import DebugSession
    from ringhil.emulator.view.alone import add_doomed
    from ringhil.emulator.view.futures import view_doomed

    asked = set[str]()
    result = []
    for case in failing:
        sort = case.row.result.sort
        if case.recording is not None and sort not in asked and len(asked) < MOST_DOOMED:
            asked.add(sort)
            progress(case.row.key)
            with DebugSession(case.recording, library, firmware=firmware) as session:
                case = replace(case, doomed=(found := Commands(session).do("doomed")["doomed"]))
                if case.page is not None:
                    add_doomed(case.page, view_doomed(session.recording, found))
        result.append(case)
    return result


def shrink_failing(
    folder: Path,
    campaign: StoredCampaign,
    failing: list[Failing],
    library: Library,
    limit: float,
    progress: Callable[[str], None],
    firmware: FirmwareChoice = OURS,
) -> list[Failing]:
    """The same, with the first one of each sort made small, at most MOST_SHRUNK sorts. They are in the order of
    `main_failures`."""
    small: dict[str, Path | None] = {}
    result = []
    for case in failing:
        sort = case.row.result.sort or case.row.result.violated or case.row.result.verdict
        # Each play of one that hangs takes all the time there is.
        if sort not in small and len(small) < MOST_SHRUNK and case.row.result.verdict != VerdictWord.HUNG:
            progress(case.row.key)
            small[sort] = _shrink(folder, campaign, case.row, library, limit, firmware)
        result.append(replace(case, shrunk=small.get(sort)))
    return result


def _shrink(
    folder: Path, campaign: StoredCampaign, row: Row, library: Library, limit: float, firmware: FirmwareChoice
) -> Path | None:
    # Imported here: it is needed by campaigns that find something, only.
    from ringhil.emulator.campaign.minimise import CUT_SHORT, fails_in, shrink, write_reproduction

    wanted: str | None = None

    def fails(scenario: Scenario) -> str | None:
        try:
            return forked(lambda: fails_in(library, wanted, firmware=firmware)(scenario), limit)
        except ForkedError as error:
            return "hung" if error.hung else "the process died"
        finally:
            check_boards(firmware)

    scenario = scenario_of(campaign, row)
    longer = replace(scenario, until=None)
    try:
        # The end that the server finds by itself leaves more freedom; but it may heal until then.
        wanted = fails(scenario)
        then = fails(longer)
        start = scenario
        if wanted is not None and then is not None and then == wanted.removesuffix(CUT_SHORT):
            start, wanted = longer, then
        shrunk = shrink(start, fails, budget=_BUDGET)
        return write_reproduction(
            folder / "shrunk", shrunk, hashes=campaign.hashes, firmware=firmware.given
        ).scenario_file
    except ExploreError:
        raise
    except ValueError:
        return None  # it has failed in its campaign and doesn't now: the machine was at fault, not the scenario
    except OSError as error:
        raise ExploreError(f"{error.filename or folder}: cannot be written: {reason_of(error)}") from error


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_NAME].rstrip("-")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text)
    except OSError as error:
        raise ExploreError(f"{error.filename or file}: cannot be written: {reason_of(error)}") from error


_KEPT = "what was played with it is kept with --store, and the same command goes on"


def check_boards(firmware: FirmwareChoice) -> None:
    """Raises ExploreError when one of them is gone, or isn't the same each time: what has just been played says nothing
    of the server."""
    for where, board in firmware.boards.items():
        if board.difference is not None:
            raise ExploreError(f"firmware of {where}: {board.difference}; {_KEPT}")
