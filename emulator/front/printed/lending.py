"""Documents of commands about lending. Times are in seconds of the run's clock, energy in joules, memory in bytes."""

from ringhil.emulator.documents import Document
from ringhil.emulator.front.printed.cards import Behind
from ringhil.emulator.lending.choice import JudgedChoice
from ringhil.emulator.lending.document import DataDocument, GpusDocument, LoanDocument, LoansDocument

__all__ = ["LoanDocument"]

LendListDocument = LoansDocument | GpusDocument


class Fetched(Document):
    """A file that came."""

    name: str
    file: str
    size: int


LendDataDocument = DataDocument | Fetched


class Listening(Document):
    """Where the server listens, and the operator's token."""

    ready: bool
    url: str
    token: str


LendServeDocument = Listening | Behind


class LendingCheck(Document):
    """Something that lending needs. `missing`: how to get it."""

    check: str
    gpu: str | None
    ok: bool
    found: str
    missing: str | None


class PciDevice(Document):
    """A GPU on the PCI bus. `beside`: what else is in its IOMMU groups."""

    address: str
    functions: list[str]
    groups: list[str]
    beside: list[str]
    hostdev: str


class PreflightDocument(Document):
    """Whether a machine can lend its GPUs."""

    ok: bool
    checks: list[LendingCheck]
    gpus: list[PciDevice]


class UsedGpu(Document):
    """What a GPU has done. `seen_s`: of which there are samples."""

    gpu: str
    loans: int
    seen_s: float
    lent_s: float
    energy_j: float | None
    busy_s: float | None
    memory: int | None
    launches: int | None


class UsedLoan(Document):
    """What a loan has used. `loan`: its name in the database; `among`: GPUs that could have been chosen."""

    loan: str
    node: str
    kind: str
    size: int
    gpu: str
    began_s: float
    ended_s: float | None
    energy_j: float | None
    busy_s: float | None
    memory: int | None
    launches: int | None
    among: list[str]


class UsedDocument(Document):
    """What is in a database of loans."""

    database: str
    begin_s: float
    end_s: float
    gpus: list[UsedGpu]
    loans: list[UsedLoan]


class TrainDocument(Document):
    """A model that was learned from past loans. `seconds`: of the wall clock; `trained`, `judged`: loans."""

    database: str
    kept: bool
    goal: str
    trained: int
    judged: int
    seconds: float
    quality: dict[str, JudgedChoice]
    kinds: list[str]
    not_for: list[str]
