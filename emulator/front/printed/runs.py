"""Documents of commands that play a run, or look at one. Times are in cycles, unless the key says another unit."""

from typing import Any

from pydantic import Field

from ringhil.emulator.debug.replaying import RunDifference
from ringhil.emulator.documents import Document
from ringhil.emulator.judge.contexts.applications import ApplicationOutcome, PowerOutcome
from ringhil.emulator.judge.outcome import VerdictWord
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.scenario import EventAction

absent: Any = None  # a key that needn't be there
Hashes = dict[str, str]  # of scenario, RTL, firmware


class Violation(Document):
    """An invariant that was broken. `lasts`: it was still so at the end; `sort`: the same for all of one kind."""

    invariant: str
    text: str
    at: int | None
    place: str | None
    found: Any
    expected: Any
    lasts: bool | None
    sort: str
    source: str | None


class CensusCounts(Document):
    """Rounds of a card's census: accepted, and rejected by reason."""

    accepted: int
    rejected: dict[str, int]


class CardAtEnd(Document):
    """A card at the end, as the CPU sees it."""

    count: int
    members: list[int]
    entry: str | None
    epoch: int
    elections: int
    boundary: dict[str, str]
    break_: str | None = Field(alias="break")
    stranded: list[str]
    isolated: list[str]
    lent: list[str]
    degraded: list[str]
    slow_link: str | None
    noisy_link: str | None
    reachable: bool
    suspects: list[str]
    share: int
    completed: int
    census: CensusCounts


class LinkAtEnd(Document):
    """A logical link between two cards. `frames`: data frames that crossed it."""

    cards: list[str]
    members: list[str]
    active: str | None
    epoch: int
    elections: int
    frames: int


class WorkCounts(Document):
    """Units of work."""

    units: int
    completed: int
    lost: int
    duplicated: int
    resent: int
    refused: int
    wrong: int
    late: int
    fenced: int
    crossed: int
    digest: str


class Recovered(Document):
    """An event of the timeline. `bound`: the cycle by which it was to be over."""

    fault: str
    action: EventAction
    where: str
    at: int
    detected: int | None
    switched: int | None
    recounted: int | None
    bound: int
    transits: float | None
    superseded: bool


class ExpectationAnswer(Document):
    """An item of `expect`."""

    index: int
    ok: bool
    expected: str
    found: str
    at: int | None
    later: int | None
    lasts: bool | None
    sort: str | None
    around: list[str]


class EngineFigures(Document):
    """What the run took. `seconds`: of the wall clock."""

    rtl: str
    evaluations: int
    busy_cycles: int
    seconds: float
    cycles_per_second: float | None


class BoardFigures(Document):
    """Whether a board answered in time, with `--clock`, in Hz."""

    clock: int
    latency: int
    answers: int
    late: int
    median_late_us: float | None
    median_late_cycles: float | None
    worst_late_us: float | None
    worst_late_cycles: float | None


class RunDocument(Document):
    """A run and its verdict."""

    name: str
    seed: int
    cycles: int
    verdict: VerdictWord
    failures: list[str]
    violations: list[Violation]
    not_judged: list[str]
    cards: dict[str, CardAtEnd]
    links: list[LinkAtEnd]
    work: WorkCounts
    recoveries: list[Recovered]
    expect: list[ExpectationAnswer]
    engine: EngineFigures
    hashes: Hashes
    applications: dict[str, ApplicationOutcome] = absent
    switching: SwitchingOutcome = absent
    power: dict[str, PowerOutcome] = absent
    boards: dict[str, BoardFigures] = absent


class ShareDocument(Document):
    """Applications that share GPUs."""

    name: str
    seed: int
    cycles: int
    verdict: VerdictWord
    failures: list[str]
    not_judged: list[str]
    applications: dict[str, ApplicationOutcome]
    hashes: Hashes
    power: dict[str, PowerOutcome] = absent


class SwitchDocument(Document):
    """Tasks that follow one another, by policy."""

    name: str
    seed: int
    verdict: VerdictWord
    failures: list[str]
    not_judged: list[str]
    policies: dict[str, SwitchingOutcome]
    hashes: Hashes


class ReplayDocument(Document):
    """A recording that was run again. `difference`: the first one; `changed`: hashes that are others now."""

    cycles: int
    messages: int
    verdict: str | None
    complete: bool
    difference: RunDifference | None
    clients: int
    bytes_in: int
    bytes_out: int
    failures: list[str]
    hashes: Hashes
    changed: list[str]


class ExportDocument(Document):
    """A recording for other tools. `number`: of messages and events; of waves the `first` and `last` cycle."""

    format: str
    file: str
    number: int = absent
    first: int = absent
    last: int = absent
    complete: bool = absent


class ViewFile(Document):
    """The page is this file."""

    html: str


class ViewAddress(Document):
    """The page can be opened there."""

    ready: bool
    url: str


ViewDocument = ViewFile | ViewAddress


class Difference(Document):
    """Something that is `there` in another recording, and `here`."""

    where: str
    there: Any
    here: Any


class FieldHop(Document):
    """A field of a message on a link."""

    cycle: int
    gpu: str
    link: str
    value: Any


class FutureShare(Document):
    """Of futures from before `cycle` so many failed; the true share lies between `low` and `high` (95 %)."""

    cycle: int
    failed: int
    tries: int
    low: float
    high: float


class TurnFound(Document):
    """Where the share of futures that fail rises. `items`: messages and events of that time."""

    after: int | None
    before: int
    main: dict[str, Any] | None
    items: list[dict[str, Any]]


class DoomFound(Document):
    """Since when a failure was likely, and certain."""

    failure: str
    at: int | None
    futures: int
    curve: list[FutureShare]
    likely: TurnFound | None
    certain: TurnFound | None


class StepDocument(Document):
    """What a command of `ringhil step` gave, one document each. `message`: where it stands then, the fields of a
    message or event by name; what else is there depends on the command."""

    command: str
    cycle: int
    message: dict[str, Any] | None
    moved: bool = absent
    same: int = absent
    holds: bool = absent
    found: dict[str, Any] = absent
    registers: dict[str, int] = absent
    firmware: dict[str, Any] | None = absent
    card: dict[str, Any] = absent
    signals: dict[str, dict[str, Any]] = absent
    elsewhere: dict[str, str] = absent
    failures: list[dict[str, Any]] = absent
    failure: dict[str, Any] = absent
    doomed: DoomFound = absent
    hops: list[FieldHop] = absent
    chain: list[dict[str, Any]] = absent
    differs: list[Difference] = absent
    changes: Any = absent
    branch: str = absent
    verdict: str | None = absent
    modules: list[str] = absent
    misfits: list[str] = absent
    changed: dict[str, Any] = absent
    breaks: list[str] = absent
