"""A page that stands alone: one file with the page and all that it is told, to be kept, mailed and opened from a disk.

Of a recording of up to `MOST_ROWS` rows it has all of them, of others those around failures, or, where nothing failed,
around faults and the end: so many at most, so that no file is larger than a few megabytes.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.documents import one_line
from ringhil.emulator.engine.library import Library
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import reason_of, write_whole
from ringhil.emulator.pages.one_file import as_data, as_script, as_style, policy
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.view import reading
from ringhil.emulator.view.files import INDEX, PageError, built
from ringhil.emulator.view.messages import (
    Embedded,
    FailureAbout,
    ViewDoomed,
    ViewHops,
    ViewPasses,
    ViewRow,
    ViewWindow,
    json_of,
)
from ringhil.emulator.view.pictures import Pictures
from ringhil.emulator.view.places import Wires
from ringhil.emulator.view.playing import PlayedView
from ringhil.emulator.view.timeline import ViewTime

MOST_ROWS = 3_000
_MOMENTS = 6  # around which rows are kept
_MOST_PICTURES = 1_000
_MOST_PASSED = 12_000  # frames on links, of all windows
_LONGEST = 4_000  # cycles around a moment, in which frames are shown
_HOPS = 8  # rows before and after a moment, whose hops are there
_BUCKETS = 1_000

_SCRIPT = re.compile(r'<script\b[^>]*\bsrc="([^"]+)"[^>]*></script>')
_STYLE = re.compile(r'<link\b[^>]*\brel="stylesheet"[^>]*>')
_LINK = re.compile(r'<link\b[^>]*\brel="(?:icon|modulepreload|preload)"[^>]*>')
_HREF = re.compile(r'\bhref="([^"]+)"')
ID = "ringhil"  # of the element with the answers of a run
_DATA = '<script type="application/json" id="{}">'  # begins it


def embedded(session: DebugSession, around: Sequence[int] = ()) -> Embedded:
    """What such a page is told of a recording; `around`: rows of moments that it has before others. Raises
    RecordingError."""
    recording, played = session.recording, PlayedView(session)
    wires = Wires(session.scenario.server)
    unplayable, failures = played.begin()
    time = ViewTime(recording)
    while time.read(recording):
        pass
    about = reading.about(recording, session.scenario, wires, source="recording", live=False, failures=failures)
    marks = time.marks(recording, _BUCKETS, failures)
    faults = [bucket.row for bucket in marks.buckets if "x" in bucket.signs]
    moments = _moments(failures, faults, about.rows, around)
    windows = _windows(about.rows, moments)
    rows = [reading.whole_row(recording, item) for one in windows for item in recording.all(one.first, one.last)]
    passes, hops = list[ViewPasses](), list[ViewHops]()
    if unplayable is None:
        try:
            passes, hops = _passes(played, moments, windows), _hops(played, moments)
        except DebugError as error:
            unplayable = str(error)
    return Embedded(
        about=about.model_copy(update={"unplayable": unplayable}),
        windows=windows,
        rows=rows,
        hops=hops,
        passes=passes,
        pictures=list(Pictures(recording, wires).all(recording, _wanted(rows, about.last_cycle))),
        marks=marks,
    )


def _wanted(rows: list[ViewRow], last: int) -> Callable[[int], bool]:
    """Of which cycles pictures are kept: of those with rows, and of so many others, far enough apart."""
    cycles, kept, seen = {row.cycle for row in rows}, 0, set[int]()

    def wanted(cycle: int) -> bool:
        nonlocal kept
        place = cycle * _MOST_PICTURES // (last + 1)
        if (cycle in cycles and kept < _MOST_PICTURES) or place not in seen:
            kept += 1
            seen.add(place)
            return True
        return False

    return wanted


def _moments(failures: list[FailureAbout], faults: list[int | None], last: int, around: Sequence[int]) -> list[int]:
    """The rows around which something is kept, the most telling first."""
    failed = [each.row for each in failures if each.row is not None]
    others = [*failed[:1], *around, *failed[1:]] or [row for row in faults if row is not None]
    return list(dict.fromkeys([*others[: _MOMENTS - 1], last])) if last else []


def _windows(last: int, moments: list[int]) -> list[ViewWindow]:
    """Rows in order, none twice."""
    if last <= MOST_ROWS:
        return [ViewWindow(first=1, last=last)] if last else []
    half = MOST_ROWS // (2 * len(moments))
    found = list[ViewWindow]()
    for row in sorted(moments):
        first = max(1, row - half, found[-1].last + 1 if found else 1)
        if found and first == found[-1].last + 1:
            found[-1] = ViewWindow(first=found[-1].first, last=min(last, row + half))
        else:
            found.append(ViewWindow(first=first, last=min(last, row + half)))
    return found


def _passes(played: PlayedView, moments: list[int], windows: list[ViewWindow]) -> list[ViewPasses]:
    """Frames on links around each moment; of a recording that is there whole, from its beginning as well."""
    recording, left, seen = played.session.recording, _MOST_PASSED, -1
    wanted = []
    for row in sorted({1, *moments}):
        item = next(recording.all(row, row), None)
        if item is not None and any(one.first <= row <= one.last for one in windows):
            wanted.append(item.cycle)
    found = list[ViewPasses]()
    for cycle in wanted:
        first = max(seen + 1, cycle - _LONGEST // 2)
        if first > cycle + _LONGEST // 2 or not left:
            continue
        passes = played.passes(first, cycle + _LONGEST // 2)
        if len(passes.frames) > left:
            passes = _shorter(passes, left)
        found.append(passes)
        left -= len(passes.frames)
        seen = passes.last
    return found


def _shorter(passes: ViewPasses, most: int) -> ViewPasses:
    last = max(passes.first, passes.frames[most].cycle - 1)
    return passes.model_copy(update={"last": last, "frames": [each for each in passes.frames if each.cycle <= last]})


def _hops(played: PlayedView, moments: list[int]) -> list[ViewHops]:
    session = played.session
    numbers = sorted({n for row in moments for n in range(max(1, row - _HOPS), row + _HOPS + 1)})
    found = []
    for number in numbers:
        here = next(session.recording.all(number, number), None)
        if isinstance(here, RecordedMessage):
            session.here = here
            sent, came = session.way(here)
            if came - sent > _LONGEST:  # it would take seconds, and finds what has no end as a rule
                continue
            try:
                found.append(played.links())
            except DebugError:  # a damaged frame has none
                continue
    return found


def in_one(page: dict[str, tuple[bytes, str]], answers: BaseModel, name: str = ID) -> str:
    """The page as one file. What is told stands in the element `name` as JSON, in which no markup can begin. Raises
    PageError."""
    scripts, styles = list[str](), list[str]()

    def script(match: re.Match[str]) -> str:
        scripts.append(as_script(_content(page, match[1])))
        return f'<script type="module">{scripts[-1]}</script>'

    def style(match: re.Match[str]) -> str:
        href = _HREF.search(match[0])
        styles.append(as_style(_content(page, href[1] if href else "")))
        return f"<style>{styles[-1]}</style>"

    text = _LINK.sub("", page[INDEX][0].decode())
    head, body, rest = text.partition("</head>")
    if not body:
        raise PageError(f"the page: found no </head> in {INDEX}; `make page` builds it anew")
    made = [_STYLE.sub(style, _SCRIPT.sub(script, part)) for part in (head, rest)]
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts, styles)}">'
    begin, opened, inside = made[0].partition("<head>")
    return f"{begin}{opened}{meta}{inside}{_element(answers, name)}{body}{made[1]}"


def with_answers(page: dict[str, tuple[bytes, str]], answers: BaseModel, name: str) -> dict[str, tuple[bytes, str]]:
    """The same, as files that a server has."""
    text, kind = page[INDEX]
    head, body, rest = text.decode().partition("</head>")
    return page | {INDEX: (f"{head}{_element(answers, name)}{body}{rest}".encode(), kind)}


def _element(answers: BaseModel, name: str) -> str:
    return f"{_DATA.format(name)}{as_data(json_of(answers))}</script>"


def _content(page: dict[str, tuple[bytes, str]], path: str) -> str:
    name = path.removeprefix(".").removeprefix("/")
    if name not in page:
        raise PageError(f"the page: {INDEX} names {name[:80]!r}, which isn't there; `make page` builds it anew")
    return page[name][0].decode()


def page_alone(session: DebugSession, page: dict[str, tuple[bytes, str]]) -> str:
    """The page of a recording as one file. Raises RecordingError and PageError."""
    return in_one(page, embedded(session))


def add_doomed(page: Path, found: ViewDoomed) -> None:
    """Since when its run was to fail, into such a page that was left. Raises OSError."""
    text = page.read_text()
    start = text.index(_DATA.format(ID)) + len(_DATA.format(ID))
    end = text.index("</script>", start)
    told = Embedded.model_validate_json(text[start:end]).model_copy(update={"doomed": found})
    write_whole(page, text[:start] + as_data(json_of(told)) + text[end:])


class LeftPage(NamedTuple):
    """`path` None: there is none, and `why`."""

    path: Path | None
    why: str = ""


def leave_page(recording: Path, library: Library, firmware: FirmwareChoice = OURS) -> LeftPage:
    """Such a page beside the recording of a case that failed. That there is none takes nothing from the recording."""
    try:
        page = built()
        with DebugSession(recording, library, firmware=firmware) as session:
            text = page_alone(session, page)
        path = recording.with_suffix(".html")
        write_whole(path, text)
    except RinghilError as error:
        return LeftPage(None, one_line(str(error)))
    except OSError as error:
        return LeftPage(None, f"{path.name}: cannot be written: {reason_of(error)}")
    return LeftPage(path)


def told_missing(reasons: Iterable[str]) -> str | None:
    """What is said on standard error of cases without a page, by why; None: nothing."""
    found = [why for why in reasons if why]
    if not found:
        return None
    cases = f"{len(found):,} case{'s' * (len(found) != 1)}"
    return f"no page was left of {cases}: {'; '.join(dict.fromkeys(found))}"
