"""What is read from a recording itself: what it is, its rows, in a line and decoded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ringhil.emulator.debug.elsewhere import elsewhere
from ringhil.emulator.debug.items import NO_FRAME, RecordedItem, decoded
from ringhil.emulator.debug.memory import plain
from ringhil.emulator.debug.names import MESSAGES, NAMES
from ringhil.emulator.debug.shown import line
from ringhil.emulator.events.recorded import KINDS
from ringhil.emulator.scenario import Scenario
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.view.messages import (
    FORMAT,
    MOST_ROWS,
    Elsewhere,
    FailureAbout,
    OtherTool,
    RowLine,
    ViewAbout,
    ViewRow,
    ViewRows,
)
from ringhil.emulator.view.places import Wires

if TYPE_CHECKING:
    from ringhil.emulator.debug.session import DebugSession

_MOST_FAILURES = 100


def in_other_tools(recording: Recording, number: int, firmware: Sequence[str]) -> Elsewhere:
    """What shows a row, which is there, in other tools; see `debug.elsewhere`."""
    item = next(recording.all(number, number))
    tools = elsewhere(recording.path, number, item.cycle, firmware)
    return Elsewhere(tools=[OtherTool(tool=tool, command=command) for tool, command in tools.items()])


def lines(recording: Recording, first: int, count: int) -> ViewRows:
    """Rows from a number on, `MOST_ROWS` at most. Raises RecordingError."""
    last = first + min(count, MOST_ROWS) - 1
    return ViewRows(
        rows=[row_line(item, recording.gpus) for item in recording.all(first, last)], last=recording.last_number
    )


def row_line(item: RecordedItem, gpus: list[str]) -> RowLine:
    """In a line."""
    found = line(item, gpus)
    return RowLine(
        number=item.number,
        cycle=item.cycle,
        gpu=found.gpu,
        kind=found.kind,
        way=found.way,
        bad=found.bad,
        text=found.said,
    )


def row(recording: Recording, number: int) -> ViewRow | None:
    """One, decoded; None: there is none of this number. Raises RecordingError."""
    item = next(recording.all(number, number), None)
    return None if item is None else whole_row(recording, item)


def whole_row(recording: Recording, item: RecordedItem) -> ViewRow:
    """Decoded."""
    if isinstance(item, RecordedMessage):
        found: dict[str, Any] = {"port": item.port, "way": WAYS[item.way], **decoded(item.frame)[1]}
    else:
        found = recording.said(item)
    frame = item.frame.hex() if isinstance(item, RecordedMessage) else None
    return ViewRow(**row_line(item, recording.gpus).model_dump(), fields=plain(found), bytes=frame)


def about(
    recording: Recording, scenario: Scenario, wires: Wires, *, source: Any, live: bool, failures: list[FailureAbout]
) -> ViewAbout:
    """What it is. `unplayable` is what the session says."""
    outcome = recording.outcome or {}
    said, sharing, clock = outcome.get("failures"), scenario.sharing, recording.about.clock
    cycle = None if sharing is None else 10**9 / sharing.cycle
    return ViewAbout(
        format=FORMAT,
        source=source,
        file=recording.path.name,
        title=recording.about.name,
        live=live,
        complete=recording.complete,
        cut_off=recording.cut_off,
        rows=recording.last_number,
        last_cycle=recording.last_cycle,
        cycles_per_second=float(clock) if clock else cycle,
        cards=wires.cards,
        crossings=wires.crossings,
        kinds=[*MESSAGES, *KINDS, NO_FRAME],
        ways=[*WAYS],
        names=sorted(NAMES),
        verdict=None if recording.outcome is None else str(outcome.get("verdict", "?")),
        failed=[str(each) for each in said] if isinstance(said, list) else [],
        failures=failures,
        unplayable=None,
        first_row=1,
    )


def failures(session: "DebugSession") -> list[FailureAbout]:
    """What broke an invariant, with the row by which it was found; then what was expected and was not so, with the
    last row up to there. Raises RecordingError."""
    found = []
    here = session.here
    for each in session.failures[:_MOST_FAILURES]:
        at, place = each.get("at"), each.get("place")
        found.append(
            FailureAbout(
                invariant=str(each.get("invariant")),
                text=str(each.get("text")),
                at=at if type(at) is int and at >= 0 else None,
                place=None if place is None else str(place),
                row=session.number if session.failure(each) else None,
            )
        )
    session.here = here
    return [*found, *_not_so(session.recording)[: _MOST_FAILURES - len(found)]]


def _not_so(recording: Recording) -> list[FailureAbout]:
    """Of `expect`. Its texts are the last of all that `failed` has, which name their lines as well."""
    from ringhil.emulator.debug.futures import failures as ways_to_fail  # loads all that a run needs

    outcome = recording.outcome or {}
    ways = [way for way in ways_to_fail(outcome) if way.item is not None]
    said = outcome.get("failures")
    texts = [str(each) for each in said][-len(ways) :] if isinstance(said, list) else []
    found = []
    for place, way in enumerate(ways):
        at = recording.last_cycle if way.at is None else way.at
        there = recording.at(at)
        found.append(
            FailureAbout(
                invariant=None,
                text=texts[place] if len(texts) == len(ways) else way.text,
                at=at,
                place=None,
                row=None if there is None else there.number,
            )
        )
    return found
