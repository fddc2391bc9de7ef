"""What came of the requests, as they were served: measured, in cycles."""

from dataclasses import dataclass, field
from enum import StrEnum

NO_OTHER_GPU = "the GPU was lost, and there is no other"  # why a request has failed


class SwitchPhase(StrEnum):
    """What a task is doing."""

    START = "start"  # first stage
    PREPARE = "prepare"  # second stage
    RUN = "run"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """From `began` to `ended` a request's task did this on the GPU of this number in the plan. `part`: of the task;
    None: all of it. `cycles`: what a run had of the engine, as the GPU says. `lost`: it has come to nothing: the GPU
    was lost meanwhile, or the request was stopped while its model came."""

    request: int
    phase: SwitchPhase
    part: int | None
    gpu: int
    began: int
    ended: int
    cycles: int = 0
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """A request's turn on the GPU of this number in the plan: its first launch, its end, and the cycles of the engine
    that it had."""

    gpu: int
    began: int
    ended: int
    ran: int


@dataclass
class RequestReport:
    """One request. `wanted`: when it came; `first`: when its first launch went out on the GPU that it was on last;
    `began`: the same, since it was stopped last; `ended`: when all was computed; `ran`: cycles of the engine that it
    had on that GPU; `ahead`: those that another one had had there when this one was over. `times`: how often its
    execution was seen to be over; `gpu`: the number of the one that did it; `attempts` to begin it; `stops`: its turns
    that ended for another request."""

    task: str
    wanted: int = 0
    first: int | None = None
    began: int | None = None
    ended: int | None = None
    ran: int = 0
    ahead: int = 0
    launches: int = 0
    times: int = 0
    gpu: int | None = None
    attempts: int = 0
    failed: str | None = None
    stops: list[Service] = field(default_factory=list)

    @property
    def turns(self) -> list[Service]:
        """Those on the GPU on which it is over; none unless it is."""
        return [turn for turn in self.turns_over if turn.gpu == self.gpu] if self.gpu is not None else []

    @property
    def turns_over(self) -> list[Service]:
        """Those that ended for another request, on any GPU, and its last one, when it is over."""
        if self.gpu is None or self.began is None or self.ended is None:
            return self.stops
        ran = self.ran - sum(stop.ran for stop in self.stops_on(self.gpu))
        return [*self.stops, Service(self.gpu, self.began, self.ended, ran)]

    def stops_on(self, gpu: int | None) -> list[Service]:
        """Those on one GPU."""
        return [stop for stop in self.stops if stop.gpu == gpu]
