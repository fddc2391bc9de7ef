"""Documents of commands about RTL, speed and this machine. Times are in cycles, unless the key says another unit."""

from typing import Any

from pydantic import Field

from ringhil.emulator.conformance.report import State as RuleWord
from ringhil.emulator.documents import Document
from ringhil.emulator.front.printed.runs import absent
from ringhil.emulator.pages.verdicts import Verdict
from ringhil.emulator.proofs.report import State as ClaimWord


class CheckedRule(Document):
    """A rule of the contract; `found`, `cause` and files: of a broken one."""

    rule: str
    state: RuleWord
    demands: str
    requirement: str
    cases: int
    cycles: int
    case: str = absent
    cycle: int | None = absent
    found: str = absent
    cause: int = absent
    stimulus: str = absent
    waves: str = absent
    why: str = absent


class LikelyCause(Document):
    """What is likely behind broken rules."""

    where: str
    what: str
    rules: list[str]


class CheckDocument(Document):
    """A node beside its contract."""

    rtl: str
    top: str
    hash: str
    simulator: str
    seed: int
    effort: int
    verdict: Verdict
    rules: list[CheckedRule]
    causes: list[LikelyCause] = absent


class Proof(Document):
    """A claim. `assertion`, `trace`, `waves`: of a counterexample."""

    proof: str
    state: ClaimWord
    demands: str
    depth: int
    assumes: list[str]
    assertion: str = absent
    trace: list[str] = absent
    waves: str = absent
    why: str = absent


class ProveDocument(Document):
    """Claims about a node's ports."""

    rtl: str
    top: str
    verdict: Verdict
    proofs: list[Proof]


class BuildDocument(Document):
    """The engine's library. `seconds`: of the wall clock."""

    rtl: str
    cached: bool
    seconds: float


class BridgeDocument(Document):
    """Where a node is to be reached."""

    ready: bool
    port: str


class TallyCounts(Document):
    """So many were reached, of how many; `left_out`: waived, or ignored."""

    reached: int
    of: int
    left_out: int


class SourceCoverage(Document):
    """Of one file."""

    lines: TallyCounts
    toggles: TallyCounts


class Waived(Document):
    """What can't be reached."""

    file: str
    text: str
    toggles: Any
    points: int
    reason: str


class CoverageDocument(Document):
    """What tests of the RTL have exercised. `at_least`: a share."""

    verdict: Verdict
    at_least: float
    totals: dict[str, TallyCounts]
    files: dict[str, SourceCoverage] = absent
    absent_: list[str] = Field(default=absent, alias="absent")
    outside: list[str] = absent
    waived: list[Waived] = absent


class BrokenRule(Document):
    """A rule of the link that the node broke."""

    rule: str
    cycle: int
    what: str


class PlayDocument(Document):
    """What a node did in answer to a stimulus: by link frames, levels (cycle, carrier, remote fault) and cycles of
    credits."""

    arrived: dict[str, list[dict[str, Any]]]
    left: dict[str, list[dict[str, Any]]]
    mail: list[dict[str, Any]]
    levels: dict[str, list[tuple[int, bool, bool]]]
    credits: dict[str, list[int]]
    granted: dict[str, list[int]]
    peeks: list[tuple[int, str | int, int]]
    done: list[Any]
    registers: dict[str, int]
    breaches: list[BrokenRule]
    status: list[tuple[int, int]]
    unfinished: list[tuple[str, str]]
    rests: bool
    leaped: int


class NeedAnswer(Document):
    """Something that a feature needs. `get`: what to do about it, null where it is there."""

    name: str
    found: str
    get: str | None


class FeatureAnswer(Document):
    """Something of ringhil, and what it needs."""

    feature: str
    what: str
    works: bool
    needs: list[NeedAnswer]


class DoctorDocument(Document):
    """What this machine has. `works`: all that the core needs is there."""

    works: bool
    features: list[FeatureAnswer]


class Machine(Document):
    """Where it was measured."""

    processor: str
    cores: int | None


class ScheduleRate(Document):
    """How fast schedules were played; ratios: to one process of `explore`."""

    schedules: int
    cycles: int
    seconds: float
    processor_seconds: float
    schedules_per_second: float
    cycles_per_second: float
    ratio: float
    processor_ratio: float


class Load(Document):
    """Processes that were running, on the average."""

    before: float
    after: float


class ScenarioRates(Document):
    """`explore` and `verify` by number of processes, cocotb by kind of monitor."""

    gpus: int
    schedules: int
    cycles: int
    settling_seconds: float
    load: Load
    explore: dict[str, ScheduleRate]
    verify: dict[str, ScheduleRate]
    cocotb: dict[str, ScheduleRate]


class Recorded(Document):
    """The same with records."""

    messages_per_second: float
    cycles_per_second: float


class BareFigures(Document):
    """Plain Verilator on the same RTL."""

    cycles_per_second: float
    ratio: float
    build_seconds: float
    extrapolated_from: int | None


class CocotbRate(Document):
    """cocotb on the same RTL."""

    cycles_per_second: float
    ratio: float


class CensusRates(Document):
    """A ring of so many GPUs."""

    gpus: int
    messages_per_second: float
    cycles_per_second: float
    round_cycles: int
    evaluations_per_second: float
    with_records: Recorded
    bare: BareFigures = absent
    cocotb: CocotbRate = absent


class KitRates(Document):
    """The testbench kit in cocotb."""

    gpus: int
    period: int
    frames: int
    cycles_per_second: float
    naive_cycles_per_second: float
    ratio: float


class DataRate(Document):
    """Work data through a card."""

    bytes_per_second: float
    bytes_per_cycle: float
    bytes: int


class Trips(Document):
    """Requests on a line; microseconds."""

    per_second: float
    p50: float
    p99: float


class Transport(Trips):
    """Beside a bare echo on the same line."""

    name: str
    echo: Trips = absent
    ratio: float = absent


class PacingFigures(Document):
    """What was asked for, and found."""

    baud: int
    found_baud: float
    clock: int
    found_clock: float


class LineRates(Document):
    """Of management ports."""

    transports: list[Transport]
    pacing: list[PacingFigures]


class StartUp(Document):
    """Of `ringhil run`."""

    cold_seconds: float
    warm_seconds: float


class BenchDocument(Document):
    """Speed, beside that of other ways to run the RTL; a section for each that was asked for."""

    machine: Machine
    rtl: str
    targets: dict[str, Any]
    peak_memory_bytes: int
    scenarios: ScenarioRates = absent
    census: list[CensusRates] = absent
    kit: KitRates = absent
    data: DataRate = absent
    lines: LineRates = absent
    start_up: StartUp = absent
