"""Documents of `ringhil place`. Times are in seconds, energy in joules, fragmentation in GPUs."""

from typing import Any

from pydantic import Field

from ringhil.emulator.documents import Document
from ringhil.emulator.front.printed.runs import Hashes, absent


class TaskMember(Document):
    """Where a member of a task ran."""

    server: str
    gpus: list[str]


class TaskPlaced(Document):
    """A task. `server` null: none was found."""

    server: str | None
    gpus: list[str]
    at: float
    began: float | None
    ended: float | None
    tries: int
    wasted_gpu_s: float
    members: list[TaskMember] = absent
    gpu_seconds: float = absent


class Waiting(Document):
    """Of tasks that waited."""

    median: float | None
    p99: float | None


class PolicyRun(Document):
    """A policy and seed, over time. `unread_gpus`, where servers are emulated: how many GPUs of which servers could not
    be asked in the end what they took, so that `energy_j` lacks it since they were asked last."""

    fleet: str = absent
    seed: int = absent
    tasks: dict[str, TaskPlaced] = absent
    until: float
    energy_j: float
    unread_gpus: dict[str, int] = absent
    predicted_j: float
    awake_j: float
    wake_ups: int
    awake_servers: float
    fragmentation: float
    unplaced: int
    lost_tries: int
    wasted_gpu_s: float
    waiting_s: Waiting


class PolicyFilled(Document):
    """A policy and seed, on a cluster that is filled. `percent`: of the GPUs that have come."""

    fleet: str = absent
    seed: int = absent
    percent: float
    allocated: float
    fragmentation: float
    watts: float
    arrived: int
    unplaced: int


class SeedSpread(Document):
    """The mean of several seeds, and half of its 95 % interval."""

    mean: float | None
    half: float | None


class PolicySeeds(Document):
    """A policy with several seeds."""

    fleet: str
    same: bool
    figures: dict[str, SeedSpread]
    runs: list[PolicyRun | PolicyFilled]


Policies = dict[str, PolicyRun | PolicyFilled | PolicySeeds]


class AtLoad(Document):
    """All policies at one load."""

    load: float
    policies: Policies


class SeedAnswer(Document):
    """Whether it holds with a seed."""

    seed: int
    ok: bool
    found: float | None


class ExpectedOf(Document):
    """An expectation of the file."""

    policy: str
    what: str
    bound: float
    line: int
    ok: bool | None
    expected: str
    seeds: list[SeedAnswer]
    not_judged: str | None


class Differ(Document):
    """What the table has wrong."""

    counts: int
    placements: int
    ends: int


class Window(Document):
    """A part of a run that was played on emulated servers."""

    load: float = absent
    policy: str
    seed: int
    from_: float = Field(alias="from")
    to: float
    metered_j: float
    table_j: float
    error: float | None
    tasks: int
    differ: Differ
    first: str | None
    failing_servers: Any


class PlaceDocument(Document):
    """Policies compared. With one seed there is `seed`, else `seeds`; with one load `policies`, else `loads`."""

    name: str
    hashes: Hashes
    seed: int = absent
    seeds: list[int] = absent
    load: float = absent
    policies: Policies = absent
    loads: list[AtLoad] = absent
    passed_over: dict[str, int] = absent
    expect: list[ExpectedOf] = absent
    windows: list[Window] = absent


class Fitting(Document):
    """A server that fits: what decides, in watts."""

    idle: int
    first: list[float]
    second: float
    third: float | None


class OrderDocument(Document):
    """In which order a policy takes the servers for a task."""

    task: str
    policy: str
    order: list[str]
    groups: list[list[str]]
    dropped: list[str]
    servers: dict[str, Fitting]


class ImportDocument(Document):
    """A cluster file that was made. `left_out`: how many, by why."""

    servers: int
    gpus: int
    tasks: int
    left_out: dict[str, int]
