"""Whether training is stopped for other requests, and goes on, as docs/howto/switching.md says (`interrupt`).

It is stopped at the end of a launch, when the next request of the file that has had no turn has come, and then at once.
When a turn is over that request has the next one, if it has come; else whoever has waited longest since it was stopped.
A step that isn't over is done again.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.host.switching.report import NO_OTHER_GPU, PhaseSpan, RequestReport, SwitchPhase
from ringhil.emulator.judge.findings import Value, say
from ringhil.emulator.scenario import SwitchPolicyName

_STOPPING = (SwitchPolicyName.PIPESWITCH, SwitchPolicyName.STOP_START)
_NEVER = 1 << 62  # cycles


def wrongly_stopped(plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan]) -> Iterator[str]:
    """What is not as it must be."""
    may = plan.interrupt and plan.policy in _STOPPING
    for number, report in enumerate(reports):
        if report.stops and not (may and plan.requests[number].task.training):
            yield say("request {} ({}) was stopped, and may not be", number, Value(report.task))
            return
    if may:
        for gpu in sorted({span.gpu for span in spans}):
            yield from _OnGpu(plan, reports, spans, gpu).wrong()


class _OnGpu:
    """What was done on one GPU. Requests that were over before, or have failed without a turn there, are left out."""

    def __init__(
        self, plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan], gpu: int
    ) -> None:
        self._plan, self._reports, self._gpu = plan, reports, gpu
        self._spans = sorted((s for s in spans if s.gpu == gpu), key=lambda s: (s.began, s.ended))
        begin = self._spans
        if plan.policy == SwitchPolicyName.PIPESWITCH:  # its workers start before there are requests
            begin = [span for span in begin if span.phase is not SwitchPhase.START]
        self._turn: dict[int, int] = {}
        for span in begin:
            self._turn.setdefault(span.request, span.began)
        self._fresh = [number for number in range(len(reports)) if self._is_here(number)]

    def _is_here(self, number: int) -> bool:
        report = self._reports[number]
        over_before = report.gpu is not None and report.gpu < self._gpu
        return not over_before and (report.failed in (None, NO_OTHER_GPU) or number in self._turn)

    def _waiting(self, cycle: int) -> int | None:
        """The next one of those that have had no turn before this cycle, if it has come before or in it."""
        for number in self._fresh:
            if self._turn.get(number, _NEVER) >= cycle:
                return number if self._reports[number].wanted <= cycle else None
        return None

    def wrong(self) -> Iterator[str]:
        """What is not as it must be."""
        for number, wanted in enumerate(self._plan.requests):
            if wanted.task.training:
                yield from self._stops(number)
                yield from self._goes_on(number)
                yield from self._steps(number)
        yield from self._order()

    def _name(self, number: int) -> str:
        return say("request {} ({})", number, Value(self._reports[number].task))

    def _stops(self, number: int) -> Iterator[str]:
        for stop in self._reports[number].stops_on(self._gpu):
            if self._waiting(stop.ended) is None:
                yield say("cycle {cycle}: {} is stopped for nobody", self._name(number), cycle=stop.ended)

    def _turns(self, number: int) -> list[list[PhaseSpan]]:
        """Its launches in each of its turns."""
        ends = [stop.ended for stop in self._reports[number].stops_on(self._gpu)]
        turns: list[list[PhaseSpan]] = [[] for _ in range(len(ends) + 1)]
        for span in self._spans:
            if span.request == number and span.phase is SwitchPhase.RUN:
                turns[sum(end <= span.began for end in ends)].append(span)
        return turns

    def _goes_on(self, number: int) -> Iterator[str]:
        for turn in self._turns(number):
            for launch in turn[1:]:
                other = self._waiting(launch.began)
                if other is not None and self._reports[other].wanted < launch.began:
                    yield say(
                        "cycle {cycle}: {} goes on, and {} waits",
                        self._name(number),
                        self._name(other),
                        cycle=launch.began,
                    )
                    return

    def _steps(self, number: int) -> Iterator[str]:
        """Each step is computed whole, in one turn."""
        report, task = self._reports[number], self._plan.requests[number].task
        if report.gpu != self._gpu:
            return
        turns = self._turns(number)
        last = max((span.part or 0 for turn in turns for span in turn), default=0)
        done = cycles = 0
        for turn in turns:
            step, wanted = 0, 0
            for span in turn:
                if (span.part or 0) != wanted:
                    yield say(
                        "cycle {cycle}: {} computes part {found}, must be {expected}",
                        self._name(number),
                        cycle=span.began,
                        found=span.part,
                        expected=wanted,
                    )
                    return
                step += span.cycles
                wanted = 0 if wanted == last else wanted + 1
                if not wanted:
                    done, cycles, step = done + 1, cycles + step, 0
        if done != task.steps or cycles < task.steps * task.whole.cycles:
            had = say("{} whole steps, {} cycles of the engine", done, cycles)
            yield say(
                "{} had {found}; it needs {expected}, {}",
                self._name(number),
                task.steps * task.whole.cycles,
                found=had,
                expected=task.steps,
            )

    def _order(self) -> Iterator[str]:
        fresh, stopped = deque(self._fresh), deque[int]()
        before: int | None = None  # when the next one is chosen
        for end, number, goes_on in self._ends():
            next_comes = bool(fresh) and before is not None and self._reports[fresh[0]].wanted <= before
            expected = stopped.popleft() if stopped and not next_comes else fresh.popleft() if fresh else None
            if number != expected:
                whose = "nobody's" if expected is None else say("{}'s", self._name(expected))
                yield say(
                    "cycle {cycle}: {} has a turn that is {}",
                    self._name(number),
                    whose,
                    cycle=self._turn.get(number, end),
                )
                return
            if goes_on:
                stopped.append(number)
            before = end

    def _ends(self) -> list[tuple[int, int, bool]]:
        """Turns in their order: the cycle in which it was over for all others, whose it was, and whether it was
        stopped."""
        ends = list[tuple[int, int, bool]]()
        for number, report in enumerate(self._reports):
            stops = [stop.ended for stop in report.stops_on(self._gpu)]
            over = [report.ended] if report.ended is not None and report.gpu == self._gpu else []
            if self._plan.policy == SwitchPolicyName.PIPESWITCH:
                ends += [(at, number, True) for at in stops] + [(at, number, False) for at in over]
                continue
            cleaned = [s.ended for s in self._spans if (s.request, s.phase) == (number, SwitchPhase.CLEAN)]
            ends += [(at, number, n < len(stops)) for n, at in enumerate(cleaned)]
        return sorted(ends)
