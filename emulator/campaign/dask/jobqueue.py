"""A file that says what to ask of a batch system, Slurm or LSF, through dask-jobqueue.

    system: slurm              # or lsf
    jobs: 4
    wait: 3600                 # seconds without any worker after which a campaign ends
    arguments: {cores: 8, memory: 16GB, queue: short, walltime: "02:00:00"}

Arguments go into a script that a shell runs. So only those of the tables below are taken, and their values are numbers
and words without anything that a shell, or a second line of the script, could make of them.
"""

import logging
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError

from ringhil.emulator.campaign.dask import ClusterError
from ringhil.emulator.documents import Document, explained
from ringhil.emulator.forks import SIGNALS
from ringhil.emulator.scenario import ScenarioError, read_text
from ringhil.emulator.scenario.yaml.parse import parse

_log = logging.getLogger(__name__)

Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_/][A-Za-z0-9_.,:/@+=%-]*$", max_length=200)]
Directive = Annotated[
    str, StringConstraints(pattern=r"^--?[A-Za-z][A-Za-z0-9_-]*([= ][A-Za-z0-9_.,:/@+=%-]+)*$", max_length=200)
]
Number = Annotated[int, Field(ge=1, le=100_000)]


class _Arguments(Document):
    cores: Number
    memory: Word
    processes: Number = 1
    queue: Word | None = None
    walltime: Word | None = None
    interface: Word | None = None
    local_directory: Word | None = None
    log_directory: Word | None = None
    job_extra_directives: list[Directive] | None = None


class SlurmArguments(_Arguments):
    """Of dask_jobqueue.SLURMCluster."""

    account: Word | None = None
    job_cpu: Number | None = None
    job_mem: Word | None = None


class LsfArguments(_Arguments):
    """Of dask_jobqueue.LSFCluster; `mem` in bytes."""

    project: Word | None = None
    ncpus: Number | None = None
    mem: Annotated[int, Field(ge=1)] | None = None


class _Slurm(Document):
    system: Literal["slurm"]
    jobs: Number = 1
    wait: Annotated[float, Field(gt=0, le=604_800, strict=False)] = 600.0
    arguments: SlurmArguments


class _Lsf(Document):
    system: Literal["lsf"]
    jobs: Number = 1
    wait: Annotated[float, Field(gt=0, le=604_800, strict=False)] = 600.0
    arguments: LsfArguments


_KINDS: dict[object, type[_Slurm] | type[_Lsf]] = {"slurm": _Slurm, "lsf": _Lsf}


# Without pages, but not without a port for them: any, as a second campaign would be told that 8787 is taken.
_SCHEDULER = {"dashboard": False, "dashboard_address": ":0"}
_COMMANDS = {"slurm": ("sbatch", "scancel"), "lsf": ("bsub", "bkill")}
_SHOWS = {"slurm": "squeue", "lsf": "bjobs"}


class JobQueue:
    """What a file asks for. `jobs`: of the batch system; `wait`: in seconds."""

    def __init__(self, path: Path, asked: _Slurm | _Lsf) -> None:
        self.path, self.system, self.jobs, self.wait = path, asked.system, asked.jobs, asked.wait
        self.arguments: dict[str, Any] = asked.arguments.model_dump(exclude_none=True)
        self._told: SimpleQueue[str | None] = SimpleQueue()  # for each job, why it wasn't taken

    @classmethod
    def read(cls, path: Path) -> "JobQueue":
        """The file at `path`. Raises ClusterError."""
        try:
            found = parse(read_text(path), str(path)).data
        except ScenarioError as error:
            raise ClusterError(f"--cluster {error}") from error
        system = found.get("system") if isinstance(found, dict) else None
        if system not in _KINDS:
            raise ClusterError(
                f"--cluster {path}: system: found {system!r}; allowed is {' or '.join(map(str, _KINDS))}"
            )
        try:
            return cls(path, _KINDS[system].model_validate(found))
        except ValidationError as error:
            raise ClusterError(f"--cluster {path}: {explained(error)}") from None

    def check(self) -> None:
        """Raises ClusterError when the batch system's commands aren't here."""
        for command in _COMMANDS[self.system]:
            if shutil.which(command) is None:
                raise ClusterError(f"--cluster {self.path}: no {command} on PATH; {self.system} needs it here")

    @property
    def missing(self) -> str:
        """What to say when no worker has come for `wait` seconds."""
        return (
            f"none of its jobs has had a worker for {self.wait:g} seconds (wait); "
            f"{_SHOWS[self.system]} says whether they run, their output why not"
        )

    def start(self, opened: ExitStack) -> Any:
        """The cluster, which asks for its jobs; they are taken back when `opened` closes. Raises ClusterError."""
        cluster_class, job_class = _classes(self.system)
        try:
            cluster = cluster_class(
                job_cls=_telling(job_class, self._told), scheduler_options=_SCHEDULER, **self.arguments
            )
            opened.callback(lambda: _closed(cluster))
            cluster.scale(jobs=self.jobs)
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            raise ClusterError(f"--cluster {self.path}: {self.system} can't be used: {reason}") from error
        return cluster

    def submit(self, refused: Callable[[str], None]) -> None:
        """Wait until the batch system has answered for each job; `refused` is told of jobs that it didn't take. Raises
        ClusterError when it took none, or doesn't answer for `wait` seconds."""
        until, reasons = time.monotonic() + self.wait, list[str]()
        for _ in range(self.jobs):
            try:
                reason = self._told.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                why = f"{_COMMANDS[self.system][0]} doesn't answer for {self.wait:g} seconds (wait)"
                raise ClusterError(f"--cluster {self.path}: {why}") from None
            if reason is not None:
                reasons.append(reason)
        if len(reasons) == self.jobs:
            raise ClusterError(f"--cluster {self.path}: {self.system} takes no job: {reasons[0]}")
        if reasons:
            refused(f"{len(reasons)} of {self.jobs} jobs: {self.system} doesn't take them: {reasons[0]}")


def _classes(system: str) -> tuple[Any, Any]:
    # dask-jobqueue makes an exit of every interrupt as soon as it is loaded.
    before = {number: signal.getsignal(number) for number in SIGNALS}
    from dask_jobqueue import LSFCluster, SLURMCluster
    from dask_jobqueue.lsf import LSFJob
    from dask_jobqueue.slurm import SLURMJob

    for number, handler in before.items():
        signal.signal(number, handler)
    return {"slurm": (SLURMCluster, SLURMJob), "lsf": (LSFCluster, LSFJob)}[system]


def _telling(job_class: Any, told: "SimpleQueue[str | None]") -> Any:
    """A class of jobs that say how their submission ended: nobody else hears of it. And their status is kept, without
    which the cluster may fail when it closes."""
    from distributed.core import Status

    async def start(self: Any) -> None:
        try:
            await job_class.start(self)
        except Exception as error:
            self.status = Status.failed
            told.put(_reason(str(error)))
            raise
        told.put(None)

    async def close(self: Any) -> None:
        await job_class.close(self)
        self.status = Status.closed

    return type(job_class.__name__, (job_class,), {"start": start, "close": close})


def _closed(cluster: Any) -> None:
    # Jobs that can't be taken back end by themselves when they find no scheduler.
    try:
        cluster.close()
    except Exception as error:
        _log.info("jobs can't be taken back: %s", error)


def _reason(text: str) -> str:
    """What the command itself said, in one line."""
    _, _, said = text.partition("stderr:\n")
    return " ".join((said.strip() or text).split())
