"""What came of the requests, as they were served: measured, in cycles."""

from dataclasses import dataclass
from enum import StrEnum


class SwitchPhase(StrEnum):
    """What a task is doing."""

    START = "start"  # first stage
    PREPARE = "prepare"  # second stage
    RUN = "run"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """From `began` to `ended` a request's task did this on the GPU of this number in the plan. `part`: of the task;
    None: all of it. `cycles`: what a run had of the engine, as the GPU says. `lost`: the GPU was lost meanwhile."""

    request: int
    phase: SwitchPhase
    part: int | None
    gpu: int
    began: int
    ended: int
    cycles: int = 0
    lost: bool = False


@dataclass
class RequestReport:
    """One request. `wanted`: when it came; `began`: when its first launch went out, `ended`: when all was computed,
    `ran`: cycles of the engine that it had, `beside` of them before the request before it had ended. `times`: how
    often its execution was seen to be over; `gpu`: the number of the one that did it; `attempts` to begin it."""

    task: str
    wanted: int = 0
    began: int | None = None
    ended: int | None = None
    ran: int = 0
    beside: int = 0
    launches: int = 0
    times: int = 0
    gpu: int | None = None
    attempts: int = 0
    failed: str | None = None
