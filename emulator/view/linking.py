"""Reports that lead into the page of a recording, to the row of a moment."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ringhil.emulator.debug.futures import failures
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import Library
from ringhil.emulator.files import reason_of, shown, write_whole
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.view.alone import MOST_ROWS, embedded, in_one
from ringhil.emulator.view.files import PageError, built


def href(page: Path, report: Path) -> str:
    """From one file to another."""
    return quote(Path(os.path.relpath(page.absolute(), report.absolute().parent)).as_posix())


def page_beside(recording: Path) -> Path:
    """The page of a recording `r.rec` is `r.rec.html`: a report may well be `r.html`."""
    return recording.with_name(f"{recording.name}.html")


@dataclass(frozen=True)
class LinkedPage:
    """A page beside a recording. `rows`: of the cycles that were asked for, as far as the page has them."""

    path: Path
    rows: dict[int, int] = field(default_factory=dict)

    def linked(self, report: Path) -> Callable[[int], str | None]:
        """What leads to a cycle from a report; None: the page hasn't that."""
        there = self.whole(report)
        return lambda cycle: None if cycle not in self.rows else f"{there}#{self.rows[cycle]}"

    def whole(self, report: Path) -> str:
        """What leads to all of it."""
        return href(self.path, report)


def leave_linked(recording: Path, library: Library, cycles: Sequence[int], around: Sequence[int]) -> LinkedPage:
    """Write the page of a recording beside it; of a long one it has what is around failures, and around these cycles.
    Raises RinghilError."""
    page, path = built(), page_beside(recording)
    with DebugSession(recording, library) as session:
        kept = session.recording
        answers = embedded(session, [item.number for cycle in around if (item := kept.at(cycle)) is not None])
        rows = {cycle: item.number for cycle in cycles if (item := kept.at(cycle)) is not None}
        try:
            write_whole(path, in_one(page, answers))
        except OSError as error:
            raise PageError(f"{shown(path)}: cannot be written: {reason_of(error)}") from None
    there = [range(each.first, each.last + 1) for each in answers.windows]
    return LinkedPage(path, {cycle: row for cycle, row in rows.items() if any(row in each for each in there)})


def first_failure(recording: Path, library: Library, firmware: FirmwareChoice = OURS) -> int | None:
    """The row by which it was found that a recorded run has failed; None: its page has no such row. Raises
    RecordingError."""
    with DebugSession(recording, library, firmware=firmware) as session:
        for each in session.failures:
            if session.failure(each):
                return session.number
        kept = session.recording
        if kept.last_number > MOST_ROWS:
            return None
        found = (way.at for way in failures(kept.outcome or {}) if way.at is not None)
        item = next((item for at in found if (item := kept.at(at)) is not None), None)
        return None if item is None else item.number
