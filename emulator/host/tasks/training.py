"""A training task as a program: it takes its memory, then does its steps, each of a host part and a GPU part (S4).

It isn't told that it shares its GPU: it asks how much memory there is, and is told what its group was given (S2).
"""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.host.contexts.command import Command, Reply
from ringhil.emulator.host.tasks.process import Busy, Program
from ringhil.protocol.wire import AckStatus, Compute, Query, ResultStatus

_FOREVER = (1 << 32) - 1  # pages: no limit of its own


@dataclass(frozen=True)
class TrainingTask:
    """What a task is and may have. Memory in pages, times in cycles; `memory`: its limit, None: as much as there is;
    `slice`: 0: the GPU's default. `wants`: percent of the memory that it is told of, in pieces of `piece`; each of its
    `steps` takes `host`, then brings `input` bytes to the GPU and launches `compute`. `again`: it goes on with more of
    them as long as others have theirs to do."""

    memory: int | None
    slice: int
    priority: int
    state: int
    wants: int
    piece: int
    steps: int
    host: int
    compute: int
    input: int
    again: bool


@dataclass
class TaskReport:
    """How a task fares. Cycles; `failed`: why it ended early. `memory`: pages that it held at most, `told`: those that
    it was told of. `trained`: when its steps were done, `steps` counts those that it did `again`, too. `run`: what it
    had of the engine, in `switches` turns behind another one's, as the GPU has said when it ended; None: it hasn't."""

    began: int | None = None
    ready: int | None = None
    trained: int | None = None
    ended: int | None = None
    steps: int = 0
    failed: str | None = None
    memory: int = 0
    told: int = 0
    run: int | None = None
    switches: int | None = None


@dataclass(frozen=True)
class Surroundings:
    """What a task sees of the others: the time, whether any has steps to do; and whom it tells of each of its own."""

    now: Callable[[], int]
    others: Callable[[], bool]
    stepped: Callable[[], None]


class TaskFailedError(RinghilError):
    """A GPU has refused what the task can't do without."""


def training(task: TrainingTask, key: int, report: TaskReport, around: Surroundings) -> Program:
    """The program. What it is refused ends it, and it gives back what it has."""

    def ask(compute: Compute, amount: int = 0, data: bytes = b"") -> Command:
        return Command(compute, key, amount, task.slice, task.priority, task.state, data)

    report.began = around.now()
    try:
        limit = _FOREVER if task.memory is None else task.memory
        _must((yield ask(Compute.CREATE, limit)), "no context")
        mine = _must((yield ask(Compute.QUERY, Query.MEMORY.code)), "no answer").low
        there = _must((yield ask(Compute.QUERY, Query.GPU.code)), "no answer").low
        report.told = min(mine, there)
        wanted = report.told * task.wants // 100
        while report.memory < wanted:
            piece = min(task.piece, wanted - report.memory)
            _must((yield ask(Compute.ALLOCATE, piece)), "out of memory at initialisation")
            report.memory += piece
        report.ready = around.now()
        while around.others() if task.again and report.trained is not None else report.trained is None:
            if task.host:
                yield Busy(task.host)
            if task.input:
                _must((yield ask(Compute.COPY, 0, bytes(task.input))), "its data didn't reach the GPU")
            _must((yield ask(Compute.LAUNCH, task.compute)), "its work was not done")
            report.steps += 1
            around.stepped()
            if report.steps == task.steps:
                report.trained = around.now()
    except TaskFailedError as error:
        report.failed = str(error)
    report.ended = around.now()
    run = yield ask(Compute.QUERY, Query.RUN_TIME.code)
    counts = yield ask(Compute.QUERY, Query.COUNTS.code)
    if run is not None and counts is not None and run.done and counts.done:
        report.run, report.switches = run.digest, counts.high
    yield ask(Compute.DESTROY)


def _must(answer: Reply | None, why: str) -> Reply:
    assert answer is not None  # a command has an answer
    if answer.done:
        return answer
    match answer.status:
        case None:
            raise TaskFailedError(f"{why}: the GPU was lost")
        case ResultStatus.NO_MEMORY:
            raise TaskFailedError(f"{why}: the GPU has no more")
        case ResultStatus.OVER_LIMIT:
            raise TaskFailedError(f"{why}: it may have no more")
        case AckStatus() | ResultStatus() as status:
            raise TaskFailedError(f"{why}: {status.value}")
