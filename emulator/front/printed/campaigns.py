"""Documents of commands that play many runs. Times are in cycles, unless the key says another unit."""

from typing import Any

from pydantic import Field

from ringhil.emulator.campaign.explore.query import Change
from ringhil.emulator.campaign.verify.compare import VerdictChange
from ringhil.emulator.documents import Document
from ringhil.emulator.front.printed.runs import DoomFound, Hashes, absent
from ringhil.emulator.judge.outcome import VerdictWord

ListDocument = list[str]  # names of variants


class VariantFailure(Document):
    """Why a variant failed. `line`, `column`: of the scenario file; `source`: of the judge."""

    kind: str
    text: str
    line: int | None
    column: int | None
    at: int | None
    notes: list[str]
    lasts: bool | None
    sort: str
    source: str | None


class VariantVerdict(Document):
    """The verdict of a variant. `seconds`: of the wall clock; `left`: a folder with what plays it again."""

    id: str
    file: str
    variant: str
    parameters: dict[str, str]
    name: str
    verdict: VerdictWord
    scenario: str | None
    known: str | None
    kept: bool
    seed: int | None
    cycles: int
    seconds: float
    failures: list[VariantFailure]
    not_judged: list[str]
    replay: str
    left: str | None
    no_page: str | None
    note: str | None


class NotPlayed(Document):
    """A file that was left when the run was interrupted. `variants` null: it was not read yet."""

    file: str
    variants: int | None


class VariantSort(Document):
    """Variants that failed in one way. `first`: the id of one."""

    sort: str
    lasts: bool | None
    variants: int
    first: str


class VerdictsDocument(Document):
    """All verdicts. `ringhil`: the version; `passed_over`: files that are no scenarios."""

    ringhil: str
    rtl: str
    hashes: Hashes
    verdict: VerdictWord
    interrupted: bool
    passed: int
    failed: int
    errors: int
    kept: int
    known: int
    stale: list[str]
    idle: list[str]
    variants: int
    not_played: list[NotPlayed]
    files: int
    passed_over: list[str]
    unmatched: list[str]
    cycles: int
    seconds: float
    sorts: list[VariantSort]
    results: list[VariantVerdict]


class OldNew(Document):
    """A value in both documents."""

    old: str | None
    new: str | None


class VerifyCompareDocument(Document):
    """What differs between two documents of `verify --json`."""

    old: str
    new: str
    both: int
    worse: list[VerdictChange]
    better: list[VerdictChange]
    other: list[VerdictChange]
    only_old: list[str]
    only_new: list[str]
    new_failures: list[str]
    changed: dict[str, OldNew]


class PlayedCase(Document):
    """A case and its result. `timeline`: its faults, as scenario files have them; `detection`: of its slowest fault;
    `recovery`, `bound`, `transits`, `slowest`: of the event that took most of its bound."""

    number: int
    key: str
    class_: str = Field(alias="class")
    place: str
    phase: int
    depth: int
    timeline: list[dict[str, Any]]
    verdict: VerdictWord
    failures: list[str]
    violated: str | None
    detected: bool | None
    located: bool | None
    recovered: bool | None
    detection: int | None
    recovery: int | None
    bound: int | None
    transits: float | None
    slowest: str | None
    cycles: int | None
    until: int | None
    sort: str
    lasts: bool | None


class FailingCase(PlayedCase):
    """With what was written for it: `file`, what plays it again, the smallest that fails, a recording, what steps
    through it, its page."""

    file: str | None
    replay: str | None
    shrunk: str | None
    smallest: Any
    recording: str | None
    step: str | None
    page: str | None
    no_page: str | None
    doomed: DoomFound | None


class FoundCase(PlayedCase):
    """With the file that it was written to."""

    file: str | None


class CaseTotals(Document):
    """Cases of a class. `detected` of `to_detect`, and so on; `failure_rate_bound`: 95 % confidence."""

    class_: str = Field(alias="class")
    depth: int
    cases: int
    failed: int
    errors: int
    detected: int
    to_detect: int
    located: int
    to_locate: int
    recovered: int
    to_recover: int
    recovery: int | None
    bound: int | None
    transits: float | None
    worst: str | None
    failure_rate_bound: float | None
    known: int = absent


class PlayedNow(Document):
    """This run of the campaign."""

    played: int
    already_done: int
    stopped: str | None
    seconds: float
    plays_per_second: float | None


class CaseSort(Document):
    """Cases that failed in one way. `over`: why they were known, until its last day."""

    sort: str
    lasts: bool | None
    cases: int
    first: str
    shrunk: str | None
    known: str | None
    over: str | None


class ExploreDocument(Document):
    """A campaign. `covered`: share of its cases that are done."""

    name: str
    campaign: int
    verdict: str
    scenario: str
    rtl: str
    hashes: Hashes
    version: str
    seed: int
    arguments: dict[str, Any]
    space: dict[str, int]
    cases: int
    done: int
    covered: float
    run: PlayedNow
    known: int
    stale: list[str]
    classes: list[CaseTotals]
    total: CaseTotals
    sorts: list[CaseSort]
    failing: list[FailingCase]


class FoundCases(Document):
    """Cases of a campaign; `found`: how many there are."""

    campaign: int
    name: str
    found: int
    cases: list[FoundCase]


class CampaignRow(Document):
    """A campaign in a store."""

    campaign: int
    cases: int
    name: str
    scenario_hash: str
    rtl: str
    version: str
    seed: int
    arguments: dict[str, Any]
    space: dict[str, int]
    hashes: Hashes


class Campaigns(Document):
    """All campaigns of a store."""

    campaigns: list[CampaignRow]


ExploreQueryDocument = FoundCases | Campaigns


class InStore(Document):
    """A campaign, and where it is."""

    store: str
    campaign: int


class ExploreCompareDocument(Document):
    """What differs between two campaigns."""

    old: InStore
    new: InStore
    both: int
    faster: int
    worse: list[Change]
    better: list[Change]
    other: list[Change]
    slower: list[Change]
    only_old: list[str]
    only_new: list[str]
