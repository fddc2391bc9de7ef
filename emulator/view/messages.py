"""What the page is told: the JSON of every answer. docs/howto/view.md names the paths.

Cycles count from power-up, rows from 1: messages and events of the recording, numbered together. GPUs are named `a.3`.
Nothing here is markup: texts are shown as they are.
"""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ringhil.emulator.documents import Document
from ringhil.emulator.pages import visible

FORMAT = 1  # of these answers; a page of another build says so
MOST_ROWS = 500  # in an answer
MOST_CYCLES = 20_000  # of `Passes`
MOST_PASSED = 20_000  # frames in it
MOST_BUCKETS = 4_000  # of `Marks`

Cycle = Annotated[int, Field(ge=0)]
Number = Annotated[int, Field(ge=0)]
_ESCAPED = re.compile(r"\\[ubfr]")  # of letters in JSON: some that can't be seen are
_LETTER = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)|[^ -~]")
LinkName = Annotated[str, "p1, p2, host or boundary"]


def json_of(answer: BaseModel) -> str:
    """Its JSON; a recording may hold what UTF-8 and JSON have no letters for. What would turn the order of letters on
    the page, or can't be seen there, is written out, in names as well as in values: `\\u202e`."""
    try:
        text = answer.model_dump_json()
    except ValueError:
        found = json.loads(json.dumps(answer.model_dump()), parse_constant=lambda _: None)
        text = json.dumps(found, ensure_ascii=False)
    return text if text.isprintable() and not _ESCAPED.search(text) else _LETTER.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    """A letter in JSON as it can be seen."""
    there = found[0]
    letter = json.loads(f'"{there}"') if there.startswith("\\") else there
    shown = str(visible(letter))
    return there if shown == letter else json.dumps(shown)[1:-1]


class ErrorAnswer(Document):
    """With a status of 400 or more: one line, or three, of which the last has a mark below the place in the second."""

    error: str


class CardAbout(Document):
    """A card. `gpus`: clockwise round the ring; `host`: those with a link to the CPU, by priority."""

    name: str
    gpus: list[str]
    host: list[str]


class CrossAbout(Document):
    """A link between two GPUs of two cards; the faults on it have it as `one-other`."""

    one: str
    other: str


class FailureAbout(Document):
    """What broke an invariant, or (`invariant`: None) was expected and was not so. `at`: the cycle; `place`: a GPU,
    card or link; `row`: the one by which it was found, of what was expected the last up to there."""

    invariant: str | None
    text: str
    at: Cycle | None
    place: str | None
    row: Number | None


class ViewAbout(Document):
    """What is shown. `source`: what was opened; `live`: it still goes on; `complete`: the recording says how it ended;
    `cut_off`: the file is shorter than it was. `rows`, `last_cycle`: as far as it has come. `cycles_per_second`: of the
    server's clock, where the file says. `kinds`, `ways`, `names`: what a condition may name. `unplayable`: why states
    (hops, passes, registers) can't be had; None: they can. `first_row`: of a card the first that is still kept."""

    format: int
    source: Literal["recording", "run", "server"]
    file: str
    title: str
    live: bool
    complete: bool
    cut_off: bool
    rows: Number
    last_cycle: Cycle
    cycles_per_second: float | None
    cards: list[CardAbout]
    crossings: list[CrossAbout]
    kinds: list[str]
    ways: list[str]
    names: list[str]
    verdict: str | None
    failed: list[str]
    failures: list[FailureAbout]
    unplayable: str | None
    first_row: Number


class RowLine(Document):
    """A row in a line. `way`: as the list shows it (`→ fw`, `•` of an event); `bad`: the frame came damaged."""

    number: Number
    cycle: Cycle
    gpu: str
    kind: str
    way: str
    bad: bool
    text: str


class ViewRows(Document):
    """`/api/rows?from=N&count=M`, at most 500. `last`: the number of the last row that there is."""

    rows: list[RowLine]
    last: Number


class ViewRow(Document):
    """`/api/row/N`. `fields`: decoded; `bytes`: of a message, in hexadecimal."""

    number: Number
    cycle: Cycle
    gpu: str
    kind: str
    way: str
    bad: bool
    text: str
    fields: dict[str, Any]
    bytes: str | None


class Changed(Document):
    """A field that a hop has changed."""

    name: str
    before: str
    after: str


class ViewHop(Document):
    """A link that a message passed: from `gpu` by `link` to `to`, a GPU or `cpu`; what is otherwise than on the link
    before."""

    cycle: Cycle
    gpu: str
    link: LinkName
    to: str
    changed: list[Changed]
    bytes: str


class ViewHops(Document):
    """`/api/hops/N`, in the order of time; of an event there are none."""

    number: Number
    hops: list[ViewHop]


class PassedFrame(Document):
    """A frame on a link: its first flit leaves `gpu` in `cycle`, its last one `flits` - 1 cycles later. `message`: the
    same for the same message on all links of this answer; `row`: of the recording, where it was sent or came, if that
    is near. `gpu` and `to`: a GPU, or `cpu`."""

    cycle: Cycle
    gpu: str
    link: LinkName
    to: str
    flits: int
    kind: str
    text: str
    bad: bool
    message: Number
    row: Number | None


class ViewPasses(Document):
    """`/api/passes?from=C&to=D`, at most 20,000 cycles: every frame whose first flit is put on a link in `first` to
    `last`, in the order of time. `last` is less than what was asked for where there are more than 20,000."""

    first: Cycle
    last: Cycle
    frames: list[PassedFrame]


class GpuPicture(Document):
    """A GPU. `roles`: `entry`, `boundary`; `failed`: it has no hardware or firmware that works; `bypassed`: its ring
    passes it by, None: not known without playing the run. `turn`: the context that has the engine, `switching`: it is
    on its way in; `pages`: memory that contexts hold; None: nothing was told of them."""

    gpu: str
    roles: list[str]
    faults: list[str]
    failed: bool
    lent: bool
    draining: bool
    bypassed: bool | None
    turn: int | None
    switching: bool
    pages: int | None


class CpuPicture(Document):
    """What the CPU knows of a card."""

    count: int
    members: list[int]
    entry: str | None
    epoch: int
    reachable: bool
    share: int
    completed: int


class CardPicture(Document):
    """A card. `count`, `members`: of its last census, in cycle `counted`; `entry`, `epoch`: the lease that the CPU has
    granted last, None: none holds; `share`: units of work that it was given last. `cpu`: None: not known without
    playing the run."""

    card: str
    count: int | None
    members: list[int] | None
    counted: Cycle | None
    entry: str | None
    epoch: int | None
    share: int | None
    cpu: CpuPicture | None


class LinkPicture(Document):
    """A link that a fault strikes."""

    link: str
    faults: list[str]


class ViewPicture(Document):
    """`/api/picture?cycle=C`: after all that happened in this cycle. `row`: the last one up to there. `until`: up to
    and with that cycle nothing of it changes but what is not known. `exact=1` plays the run, and knows all; it takes
    longer. `exact`: whether it was."""

    cycle: Cycle
    until: Cycle
    row: Number
    exact: bool
    gpus: list[GpuPicture]
    cards: list[CardPicture]
    links: list[LinkPicture]


class MarkBucket(Document):
    """What happened in cycles `first` to `last`. `row`: of the first; `signs`: how many of each, `x` a fault, `o` its
    end, `E` an entry role, `B` a boundary role, `-` a role that was lost, `!` firmware or hardware that was lost, `F` a
    failure of the run; `text`: the strongest of them in words. `counts`: by card the lowest and the last count."""

    first: Cycle
    last: Cycle
    row: Number | None
    signs: dict[str, int]
    text: str
    counts: dict[str, tuple[int, int]]


class ViewMarks(Document):
    """`/api/marks?buckets=B`: the time line, up to cycle `last` or row `rows`; buckets in which nothing happened are
    left out. `more`: it isn't read to its end yet; ask again."""

    last: Cycle
    rows: Number
    more: bool
    buckets: list[MarkBucket]


class ViewFound(Document):
    """`/api/find?condition=...&from=N&back=0|1`: the next row after N for which it holds, or the one before; None:
    there is none."""

    row: Number | None


class ViewState(Document):
    """`/api/state?gpu=a.3&number=N`: after the cycle of this row. `words`: of registers with named bits those that are
    set; `firmware`: what it has in its memory, None: it has failed, or has none."""

    gpu: str
    number: Number
    cycle: Cycle
    registers: dict[str, int]
    words: dict[str, list[str]]
    firmware: Any


class CardState(Document):
    """`/api/card?name=a&number=N`: what the CPU knows of a card."""

    card: str
    number: Number
    cycle: Cycle
    knows: dict[str, Any]


class FailingShare(Document):
    """Of `tries` futures of the moment before `cycle` so many `failed`; the true share is in `low` to `high` with 95 %
    confidence."""

    cycle: Cycle
    failed: Number
    tries: Number
    low: float
    high: float


class TurnedThere(Document):
    """Where that share rises: between the moments before the cycles `after` (None: since power-up) and `before`, with
    what is in `row`, in `cycle`: `text`. None: nothing was recorded there."""

    after: Cycle | None
    before: Cycle
    cycle: Cycle
    row: Number | None
    text: str


class ViewDoomed(Document):
    """Since when a run was to fail in the way of `failure`, found in cycle `at` (None: at the end): the share of all
    `futures` that fail so, in the order of time, and from where on it is halfway to one, and one; None: it never is
    before the failure is found."""

    failure: str
    at: Cycle | None
    futures: Number
    curve: list[FailingShare]
    likely: TurnedThere | None
    certain: TurnedThere | None


class DoomedAnswer(Document):
    """`/api/doomed`, with `?do=begin` to have futures played, with `?do=stop` to break that off. `playing`: that goes
    on, `done` futures of at most `total` are played. `refused`: why there is no answer."""

    playing: bool
    done: Number
    total: Number
    refused: str | None
    found: ViewDoomed | None


class OtherTool(Document):
    """`command`: for a shell, or an address that the tool opens."""

    tool: str
    command: str


class Elsewhere(Document):
    """`/api/elsewhere/N`: the same message or event in other tools."""

    tools: list[OtherTool]


class Followed(Document):
    """`/api/follow`: an event of a stream of them (`text/event-stream`), whenever there is more; the last one has
    `live` false. `failed`: why the run broke off, or why a card isn't heard at present. `first_row`: as in `about`;
    `begun`: how often a card has been another one since, or was powered up anew."""

    rows: Number
    last_cycle: Cycle
    live: bool
    complete: bool
    failed: str | None
    first_row: Number
    begun: Number


class ViewWindow(Document):
    """Rows `first` to `last` of a page that stands alone."""

    first: Number
    last: Number


class Embedded(Document):
    """What a page that stands alone has instead of a server, in `<script type="application/json" id="ringhil">`.
    `windows`: whose rows are there, all or those around failures, in order; `passes`: cycles in these, in order;
    `pictures`: one where something changes, good for cycles `cycle` to `until`, in order; `hops` by the number of their
    row, of those nearest to a failure; `doomed`: where it was played. What isn't there wasn't kept."""

    about: ViewAbout
    windows: list[ViewWindow]
    rows: list[ViewRow]
    hops: list[ViewHops]
    passes: list[ViewPasses]
    pictures: list[ViewPicture]
    marks: ViewMarks
    doomed: ViewDoomed | None = None
