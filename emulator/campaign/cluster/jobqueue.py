"""A file that says what to ask of a batch system, Slurm or LSF, through dask-jobqueue.

    system: slurm              # or lsf
    jobs: 4
    wait: 3600                 # seconds without any worker after which a campaign ends
    arguments: {cores: 8, memory: 16GB, queue: short, walltime: "02:00:00"}

Arguments go into a script that a shell runs. So only those of the tables below are taken, and their values are numbers
and words without anything that a shell, or a second line of the script, could make of them.
"""

import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError

from ringhil.emulator.campaign.cluster.errors import ClusterError
from ringhil.emulator.campaign.pool.fork import SIGNALS
from ringhil.emulator.documents import Document, explained
from ringhil.emulator.scenario import ScenarioError, read_text
from ringhil.emulator.scenario.yaml_source import parse

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


def _classes() -> dict[str, Any]:
    # dask-jobqueue makes an exit of every interrupt as soon as it is loaded.
    before = {number: signal.getsignal(number) for number in SIGNALS}
    from dask_jobqueue import LSFCluster, SLURMCluster

    for number, handler in before.items():
        signal.signal(number, handler)
    return {"slurm": SLURMCluster, "lsf": LSFCluster}


class JobQueue:
    """What a file asks for. `jobs`: of the batch system; `wait`: in seconds."""

    def __init__(self, asked: _Slurm | _Lsf) -> None:
        self.system, self.jobs, self.wait = asked.system, asked.jobs, asked.wait
        self.arguments: dict[str, Any] = asked.arguments.model_dump(exclude_none=True)

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
            return cls(_KINDS[system].model_validate(found))
        except ValidationError as error:
            raise ClusterError(f"--cluster {path}: {explained(error)}") from None

    def start(self, opened: ExitStack) -> Any:
        """The cluster, with its jobs asked for; they are taken back when `opened` closes. Raises ClusterError."""
        kinds = _classes()
        try:
            cluster = kinds[self.system](scheduler_options={"dashboard": False}, **self.arguments)
            opened.callback(cluster.close)
            cluster.scale(jobs=self.jobs)
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split())
            raise ClusterError(f"--cluster: {self.system} can't be used: {reason}") from error
        return cluster
