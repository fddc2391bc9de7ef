"""Documents of commands about cards and their firmware. Times are in cycles, unless the key says another unit."""

from ringhil.emulator.documents import Document
from ringhil.emulator.front.printed.runs import BoardFigures, Hashes, absent
from ringhil.emulator.loop.checking import FirmwareFinding
from ringhil.emulator.pages.verdicts import Verdict
from ringhil.emulator.serial.checks.suite import PromiseFinding
from ringhil.emulator.serial.client import Info
from ringhil.emulator.serial.client.client import ClientContext

RegistersDocument = dict[str, int]  # by name
ContextsDocument = list[ClientContext]


class InfoDocument(Document):
    """What a card says of itself. `clock`: Hz, 0 if it isn't known; `kept`: share of it that the ring keeps."""

    name: str
    version: str
    card: int
    gpus: int
    capabilities: list[str]
    clock: int
    serial: int
    now: int
    kept: float | None


class CensusDocument(Document):
    """A census of a card. `members` null: it isn't known who; `accepted`, `rejected`: censuses so far."""

    card: str
    size: int
    count: int
    members: list[int] | None
    verdict: str | int
    break_after: int | None
    break_before: int | None
    entry: int
    epoch: int
    sequence: int
    sent_at: int
    cycle: int
    accepted: int
    rejected: int


class EventDocument(Document):
    """An event of a card, one on a line; what is there depends on `event`. What has no word stays a number."""

    event: str
    cycle: int = absent
    gpu: int = absent
    role: str | int = absent
    holds: bool = absent
    epoch: int = absent
    fault: str | int = absent
    injection: str | int = absent
    value: int = absent
    way: str | int = absent
    port: int = absent
    bad: bool = absent
    events: int = absent
    size: int = absent
    count: int = absent
    members: list[int] | None = absent
    verdict: str | int = absent
    break_after: int | None = absent
    break_before: int | None = absent
    entry: int = absent
    sequence: int = absent
    sent_at: int = absent
    counted_at: int = absent
    accepted: int = absent
    rejected: int = absent
    kind: str = absent
    frame: str = absent
    error: str = absent


class CardCheckDocument(Document):
    """Whether a card keeps to the management protocol. `ended`: why before its end."""

    card: Info
    verdict: Verdict
    ended: str | None
    kept: int
    broken: int
    not_judged: int
    rules: list[PromiseFinding]


class ComparedField(Document):
    """A field of an answer."""

    field: str
    card: str
    emulator: str
    differs: bool


class ComparedAnswer(Document):
    """The first answer that differs."""

    number: int
    request: str
    fields: list[ComparedField]


class CardCompareDocument(Document):
    """A card's answers beside an emulated card's."""

    equal: bool
    requests: int
    fields: int
    may_differ: dict[str, int]
    difference: ComparedAnswer | None


class RecordDocument(Document):
    """Where a program connects."""

    ready: bool
    ports: dict[str, list[str]]


class ServedPorts(Document):
    """Ports by card. `groups`: a folder; `nvml`: a socket."""

    ready: bool
    ports: dict[str, list[str]]
    groups: str = absent
    nvml: str = absent


class Behind(Document):
    """So many seconds behind the clock, in Hz."""

    behind: float
    clock: int


class Boards(Document):
    """Whether boards answered in time, at the end."""

    boards: dict[str, BoardFigures]


ServeDocument = ServedPorts | Behind | Boards


class FirmwareCheckDocument(Document):
    """Whether firmware keeps what is promised."""

    firmware: str
    hashes: Hashes
    verdict: Verdict
    ended: str | None
    rules: list[FirmwareFinding]
