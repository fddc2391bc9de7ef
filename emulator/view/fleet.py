"""What the pages of a cluster and of loans are told, in `<script type="application/json">` of their file.

Columns stand for tables: the same place of each is one line. Nothing here is markup: texts are shown as they are.
"""

from typing import Annotated

from pydantic import Field

from ringhil.emulator.documents import Document
from ringhil.emulator.pages.charts import Chart

CLUSTER = "ringhil-cluster"  # elements with what the pages are told
LOANS = "ringhil-loans"

Place = Annotated[int, Field(ge=0)]
Moment = int | float


class FleetTable(Document):
    """As people read it: `heads` of columns, `rows` of cells."""

    name: str
    heads: list[str]
    rows: list[list[str]]


class FleetServer(Document):
    """`types`: of each GPU, a place in those of the cluster. `busy`: GPUs that are taken from the start."""

    name: str
    types: list[Place]
    busy: list[Place]


class FleetTasks(Document):
    """Columns: what each task needs of a server. `share`: thousandths of each of its GPUs, `cpus`: thousandths of
    processors, `memory`: MiB."""

    name: list[str]
    gpus: list[int]
    share: list[int]
    cpus: list[int]
    memory: list[int]


class FleetRun(Document):
    """By one policy, columns, a line for each try of each task that came. `task`: its place in those of the cluster;
    `came`, `began`, `ended`: on the time line, null: it never came to that; `came` of a later try: when the one before
    was lost. `number`: of the try, from 1. `where`: for each member its server, and then its GPUs; none where it isn't
    placed. `lost`: lines of tries that were lost with what they ran on, when they ended."""

    policy: str
    task: list[Place]
    came: list[Moment]
    began: list[Moment | None]
    ended: list[Moment | None]
    number: list[int]
    where: list[list[list[int]]]
    lost: list[Place]


class FleetFault(Document):
    """`gpu` null: the whole server. `ends` null: not within what is shown."""

    server: Place
    gpu: Place | None
    at: float
    ends: float | None


class ClusterAbout(Document):
    """A cluster, and its runs by several policies. `start`: the moment that is shown first; `end`: of the time line,
    seconds; `filled`: that counts GPUs that were asked for, 1 are all, and nothing ends. `sleeps`: whether servers
    without a task do. `servers`: as many as can be shown, of `all_servers`; `waits`: null where nobody waits. `charts`:
    over the time line, a curve for each policy."""

    title: str
    what: str
    start: float
    end: float
    filled: bool
    sleeps: bool
    whole: int
    all_servers: int
    types: list[str]
    servers: list[FleetServer]
    tasks: FleetTasks
    runs: list[FleetRun]
    faults: list[FleetFault]
    tables: list[FleetTable]
    said: list[str]
    charts: list[Chart]
    waits: Chart | None


class LentGpu(Document):
    """A GPU, and what it has used; null: nobody measured it. Seconds, joules, bytes."""

    gpu: str
    loans: int
    seen_s: float
    lent_s: float
    energy_j: float | None
    busy_s: float | None
    memory: int | None
    launches: int


class LentLoan(Document):
    """A loan, and what it has used; `ended_s` null: it goes on. `among`: GPUs that it could have had. `reason`: why it
    went back; `error`: why a step of it doesn't end; both empty where nobody wrote it down."""

    loan: str
    node: str
    kind: str
    size: float
    gpu: str
    among: list[str]
    began_s: float
    ended_s: float | None
    energy_j: float | None
    busy_s: float | None
    memory: int | None
    launches: int
    reason: str
    error: str


class LoansAbout(Document):
    """GPUs and loans of a database. Times: seconds of the clock of the runs that lent them; samples are from `begin_s`
    to `end_s`. `loans`: the latest of `all_loans`, by when they began. `followed`: the same is asked for again
    at `/api/loans`, as long as somebody lends."""

    what: str
    followed: bool
    begin_s: float
    end_s: float
    all_loans: int
    gpus: list[LentGpu]
    loans: list[LentLoan]
    said: list[str]
    charts: list[Chart]
