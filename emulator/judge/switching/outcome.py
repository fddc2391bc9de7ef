"""How the tasks that followed one another on a GPU fared, in the units of the file (W7)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, SwitchPhase
from ringhil.emulator.judge.findings import Value, say
from ringhil.emulator.judge.switching.presets import off_presets
from ringhil.emulator.scenario import SwitchPolicyName, TaskSwitching
from ringhil.emulator.scenario.file.switching import MIB

_MS = 10**6  # nanoseconds
_KIB = 1024  # bytes
_MOST_OF, _HUNDRED = 95, 100


@dataclass(frozen=True)
class RequestOutcome:
    """One request. Milliseconds since the cards were counted: `wanted`, first launch (`began`), end of the last one
    (`ended`). `ran_ms`: what it had of the engine, as the GPU says, on the GPU that it was on last; `attempts` to begin
    it; `stops`: how often it was stopped for another one. `slowdown`: how many times as long it took, from when it came
    to its end, as `ran_ms`, which it would take on an empty GPU that has its model; None: it isn't over."""

    task: str
    gpu: str | None
    failed: bool
    why: str | None
    wanted_ms: float
    began_ms: float | None
    ended_ms: float | None
    ran_ms: float
    attempts: int
    stops: int
    slowdown: float | None = None


@dataclass(frozen=True)
class SwitchOutcome:
    """From one request's turn to the next. From the one's end (`since_ms`), or from when the other came, if that was
    later, `startup_ms`: until the other's first launch; `overhead_ms`: all the time until the other's end (`until_ms`)
    in which the engine worked for no task. The other's turn `began_ms`, and it had waited `waited_ms` for it: since it
    came, or since it was stopped (`resumed`)."""

    before: str
    after: str
    since_ms: float
    until_ms: float
    startup_ms: float
    overhead_ms: float
    began_ms: float
    waited_ms: float
    resumed: bool = False


@dataclass(frozen=True)
class SwitchFigures:
    """Of `count` values the middle one, that which 95 of 100 don't exceed, and the largest; None of none."""

    count: int
    median: float | None
    p95: float | None
    most: float | None


def figures(values: Sequence[float]) -> SwitchFigures:
    """Returns them."""
    if not values:
        return SwitchFigures(0, None, None, None)
    ordered = sorted(values)
    most_of = ordered[-(-_MOST_OF * len(ordered) // _HUNDRED) - 1]
    return SwitchFigures(len(ordered), round(median(ordered), 6), most_of, ordered[-1])


@dataclass(frozen=True)
class PhaseOutcome:
    """A bar of a chart."""

    request: int
    phase: str
    part: int | None
    gpu: str
    began_ms: float
    ended_ms: float
    lost: bool


@dataclass(frozen=True)
class SwitchingOutcome:
    """One policy. `overhead_ms`: of a switch on the average; `utilisation`: share of the time from the first launch to
    the last one's end in which the engine worked for a task, as the answers to launches say; `latency_ms`: from when a
    request of inference came to its end, on the average. `memory`: most bytes that were held on a GPU; `held`: for each
    GPU the bytes from a time in ms on. `figures`: by what they are of. `broken`: what must never be."""

    policy: str
    overhead_ms: float | None
    startup_ms: float | None
    utilisation: float | None
    latency_ms: float | None
    memory: int
    requests: tuple[RequestOutcome, ...]
    switches: tuple[SwitchOutcome, ...]
    phases: tuple[PhaseOutcome, ...]
    held: dict[str, tuple[tuple[float, int], ...]]
    broken: tuple[str, ...]
    figures: dict[str, SwitchFigures] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """Requests that could not be served."""
        return sum(request.failed for request in self.requests)

    def to_json(self) -> dict[str, Any]:
        """As `ringhil switch --json` has it."""
        return asdict(self)


@dataclass(frozen=True)
class SwitchingEvidence:
    """What was seen: cycles and pages. `since`: from which cycle on times are counted. `whole`: the run had no end
    before that of its tasks. `slice`: of a turn, which is told of when it is over."""

    plan: SwitchPlan
    reports: Sequence[RequestReport]
    spans: Sequence[PhaseSpan]
    held: Sequence[Sequence[tuple[int, int]]]
    since: int
    whole: bool = True
    slice: int = 0


def switching_outcome(switching: TaskSwitching, evidence: SwitchingEvidence) -> SwitchingOutcome:
    """All of it."""

    def ms(cycles: int) -> float:
        return round(cycles * switching.cycle / _MS, 6)

    def time(cycle: int) -> float:
        return ms(cycle - evidence.since)

    gpus = [str(gpu) for gpu in switching.gpus]
    requests = tuple(
        RequestOutcome(
            task=r.task,
            gpu=None if r.gpu is None else gpus[r.gpu],
            failed=r.ended is None,
            why=r.failed or (None if r.ended is not None else "the run ended before it was done"),
            wanted_ms=time(r.wanted),
            began_ms=None if r.first is None else time(r.first),
            ended_ms=None if r.ended is None else time(r.ended),
            ran_ms=ms(r.ran),
            attempts=r.attempts,
            stops=len(r.stops),
            slowdown=round((r.ended - r.wanted) / r.ran, 6) if r.ended is not None and r.ran else None,
        )
        for r in evidence.reports
    )
    switches = tuple(
        SwitchOutcome(
            each.before.task,
            each.after.task,
            since_ms=time(each.ended),
            until_ms=time(each.over),
            startup_ms=ms(each.startup),
            overhead_ms=ms(max(0, each.idle)),
            began_ms=time(each.began),
            waited_ms=ms(each.waited),
            resumed=each.resumed,
        )
        for each in _switches(switching.policy, evidence.reports)
    )
    page = switching.page * _KIB
    asked = [
        (ms(r.ended - r.wanted), outcome.slowdown)
        for wanted, r, outcome in zip(evidence.plan.requests, evidence.reports, requests, strict=True)
        if r.ended is not None and not wanted.task.training
    ]
    return SwitchingOutcome(
        policy=switching.policy,
        overhead_ms=_mean([s.overhead_ms for s in switches]),
        startup_ms=_mean([s.startup_ms for s in switches]),
        utilisation=_utilisation(evidence.spans),
        latency_ms=_mean([latency for latency, _ in asked]),
        memory=max((pages for changes in evidence.held for _, pages in changes), default=0) * page,
        requests=requests,
        switches=switches,
        phases=tuple(
            PhaseOutcome(s.request, s.phase, s.part, gpus[s.gpu], time(s.began), time(s.ended), s.lost)
            for s in evidence.spans
        ),
        held={
            gpu: tuple((time(cycle), pages * page) for cycle, pages in changes)
            for gpu, changes in zip(gpus, evidence.held, strict=True)
        },
        broken=(*_broken(switching.policy, evidence), *_off_presets(switching, evidence)),
        figures={
            "overhead_ms": figures([s.overhead_ms for s in switches]),
            "startup_ms": figures([s.startup_ms for s in switches]),
            "asking_waits_ms": figures([s.waited_ms for s in switches if not s.resumed]),
            "stopped_waits_ms": figures([s.waited_ms for s in switches if s.resumed]),
            "latency_ms": figures([latency for latency, _ in asked]),
            "slowdown": figures([slowdown for _, slowdown in asked if slowdown is not None]),
        },
    )


@dataclass(frozen=True)
class _Switch:
    """Cycles. `ended`: that turn of `before`, `over`: that of `after`, which `began` when it had `waited` since it
    came or was stopped (`resumed`); `beside`: another one was under way between."""

    before: RequestReport
    after: RequestReport
    ended: int
    over: int
    startup: int
    idle: int
    beside: bool
    began: int
    waited: int
    resumed: bool


def _switches(policy: str, reports: Sequence[RequestReport]) -> list[_Switch]:
    """Those between two turns that are over: a request's last one, and those that ended for another one. What the
    engine did meanwhile: the later one's work, and what another one has had by its end; without what such a one, which
    may be the same, had before. Only tasks that are never stopped run beside others; while one does, time counts also
    before the later one comes, from when that one came."""
    turns = [(report, turn) for report in reports for turn in report.turns_over]
    turns.sort(key=lambda each: each[1].ended)
    found = []
    for (before, last), (after, turn) in pairwise(turns):
        comes = max(last.ended, after.wanted)
        others = _under_way((last.ended, comes), reports) if policy == SwitchPolicyName.PIPELINED else []
        since = max(last.ended, min((each.wanted for each in others), default=comes))
        had = before.ahead if last.gpu == turn.gpu else 0  # else it was lost, and is done again
        idle = turn.ended - since - turn.ran - after.ahead + had
        startup = max(0, turn.began - comes)
        stops = [stop.ended for stop in after.stops if stop.ended <= turn.began]
        waited = max(0, turn.began - max([after.wanted, *stops]))
        tell = (last.ended, turn.ended, startup, idle, bool(others), turn.began, waited, bool(stops))
        found.append(_Switch(before, after, *tell))
    return found


def _under_way(cycles: Sequence[int], reports: Sequence[RequestReport]) -> list[RequestReport]:
    """Those that were in one of these cycles."""
    return [
        each
        for each in reports
        for cycle in cycles
        if each.first is not None and each.first < cycle and (each.ended is None or each.ended > cycle)
    ]


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None


def _utilisation(spans: Sequence[PhaseSpan]) -> float | None:
    """Of launches that were answered: what a GPU had computed before it was lost counts, and so does what is done
    again."""
    launches = [span for span in spans if span.phase is SwitchPhase.RUN and not span.lost]
    if not launches:
        return None
    whole = max(span.ended for span in launches) - min(span.began for span in launches)
    return round(sum(span.cycles for span in launches) / max(1, whole), 6)


def _off_presets(switching: TaskSwitching, evidence: SwitchingEvidence) -> Iterator[str]:
    if switching.policy is SwitchPolicyName.PIPELINED:
        second = switching.pages(switching.second_preset * MIB)
        yield from off_presets(evidence.plan, evidence.spans, second, switching.left)


def _broken(policy: SwitchPolicyName, evidence: SwitchingEvidence) -> list[str]:
    plan, found = evidence.plan, list[str]()
    if policy is SwitchPolicyName.PIPELINED:
        for changes in evidence.held:
            over = next(((cycle, pages) for cycle, pages in changes if pages > plan.first), None)
            if over is not None:
                found.append(
                    say(
                        "cycle {cycle}: {} pages are held; the first preset value is {}",
                        over[1],
                        plan.first,
                        cycle=over[0],
                    )
                )
    for wanted, report in zip(plan.requests, evidence.reports, strict=True):
        name = say("request {} ({})", wanted.number, Value(report.task))
        if report.times != (report.ended is not None):
            found.append(say("{} was over {} times", name, report.times))
        if report.times and report.failed:
            found.append(say("{} was over, and then failed: {}", name, report.failed))
        if evidence.whole and report.ended is None and report.failed is None:
            found.append(say("{} was lost: it was not done, and has not failed", name))
        behind = [r.ran for r in evidence.reports if report.ended is not None and (r.ended or 0) > report.ended]
        if behind and report.ahead > max(behind):
            found.append(say("beside {} another one had {} cycles, of {} at most", name, report.ahead, max(behind)))
        needed = wanted.task.steps * wanted.task.whole.cycles
        if report.ended is not None and report.ran < needed:
            found.append(
                say("{} had {found} cycles of the engine; it needs {expected}", name, found=report.ran, expected=needed)
            )
    for switch in _switches(policy, evidence.reports):
        unknown = evidence.slice if switch.beside else 0
        if switch.idle < -unknown:
            found.append(
                say(
                    "cycle {cycle}: a switch to {} has taken {} cycles",
                    switch.after.task,
                    switch.idle,
                    cycle=switch.over,
                )
            )
    return found
