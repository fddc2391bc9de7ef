"""Whether a GPU stands still without need while requests are there (docs/howto/switching.md).

What a task does next it does in the very cycle in which all is there that it needs: a launch when the one before it is
over and its part has come; a turn when the one before it is over, the request has come, and its process is there (of
PipeSwitch: the next worker is recycled); a stop when the launch is over, or when whoever it is for has come meanwhile.
Judged from what was seen to be done when; nothing is said of the first turn on a GPU.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, Service, SwitchPhase
from ringhil.emulator.judge.findings import Value, say
from ringhil.emulator.scenario import SwitchPolicyName


def idle_turns(plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan]) -> Iterator[str]:
    """What could have been done earlier."""
    for gpu in sorted({span.gpu for span in spans}):
        yield from _OnGpu(plan, reports, [s for s in spans if s.gpu == gpu and not s.lost], gpu).late()


@dataclass(frozen=True)
class _Turn:
    request: int
    since: int  # end of the turn before it of the same request
    of: Service
    stopped: bool


class _OnGpu:
    """What was done on one GPU and came to something."""

    def __init__(
        self, plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan], gpu: int
    ) -> None:
        self._plan, self._reports, self._policy = plan, reports, SwitchPolicyName(plan.policy)
        self._spans = sorted(spans, key=lambda span: (span.began, span.ended))
        self._turns = list[_Turn]()
        for number, report in enumerate(reports):
            since = 0
            for turn in report.turns_over:
                if turn.gpu == gpu:
                    self._turns.append(_Turn(number, since, turn, turn in report.stops))
                    since = turn.ended
        self._turns.sort(key=lambda turn: turn.of.ended)

    def _done(self, turn: _Turn, phase: SwitchPhase) -> list[PhaseSpan]:
        return [
            span
            for span in self._spans
            if (span.request, span.phase) == (turn.request, phase) and turn.since <= span.began < turn.of.ended
        ]

    def _name(self, turn: _Turn) -> str:
        return say("request {} ({})", turn.request, Value(self._reports[turn.request].task))

    def late(self) -> Iterator[str]:
        """What could have been done earlier."""
        for before, turn in pairwise([None, *self._turns]):
            assert turn is not None
            launches = self._done(turn, SwitchPhase.RUN)
            if not launches:
                continue  # told elsewhere
            yield from self._launches(turn, before, launches)
            yield from self._stop(turn, launches)
        match self._policy:
            case SwitchPolicyName.PIPESWITCH:
                yield from self._workers()
            case SwitchPolicyName.STOP_START:
                yield from self._processes()
            case SwitchPolicyName.RESIDENT:
                yield from self._loaded()
            case SwitchPolicyName.PIPELINED:
                pass  # see presets

    def _launches(self, turn: _Turn, before: _Turn | None, launches: list[PhaseSpan]) -> Iterator[str]:
        """One after the other. The first one of `pipelined` is judged with the preset values."""
        came = dict[int | None, int]()
        for span in self._done(turn, SwitchPhase.PREPARE):
            came.setdefault(span.part, span.ended)
        followed = before.of.ended if before is not None and self._policy is SwitchPolicyName.PIPELINED else 0
        first = self._policy not in (SwitchPolicyName.PIPELINED, SwitchPolicyName.RESIDENT)
        last = 0
        for number, launch in enumerate(launches):
            allowed = max(last, came.get(launch.part, 0), followed if number else 0)
            if (number or first) and launch.began > allowed:
                yield say(
                    "cycle {cycle}: {} is launched; it could be at cycle {}",
                    self._name(turn),
                    allowed,
                    cycle=launch.began,
                )
                return
            last = launch.ended

    def _stop(self, turn: _Turn, launches: list[PhaseSpan]) -> Iterator[str]:
        if not turn.stopped:
            return
        others = [report.wanted for n, report in enumerate(self._reports) if n != turn.request]
        came = [wanted for wanted in others if launches[-1].ended < wanted <= turn.of.ended]
        allowed = max([launches[-1].ended, *came])
        if turn.of.ended > allowed:
            yield say(
                "cycle {cycle}: {} is stopped; it could be at cycle {}", self._name(turn), allowed, cycle=turn.of.ended
            )

    def _late(self, turn: _Turn, what: str, at: int, allowed: int) -> Iterator[str]:
        if at > allowed:
            yield say("cycle {cycle}: {} {}; it could at cycle {}", self._name(turn), what, allowed, cycle=at)

    def _workers(self) -> Iterator[str]:
        for number, (before, turn) in enumerate(pairwise(self._turns), 1):
            allowed = max(before.of.ended, self._reports[turn.request].wanted)
            if number >= self._plan.workers:
                had_it = self._turns[number - self._plan.workers]
                recycled = [
                    span.ended
                    for span in self._spans
                    if (span.request, span.phase) == (had_it.request, SwitchPhase.CLEAN)
                    and span.began == had_it.of.ended
                ]
                allowed = max([allowed, *recycled])
            groups = self._done(turn, SwitchPhase.PREPARE)
            if groups:
                yield from self._late(turn, "has its turn", groups[0].began, allowed)
            for one, group in pairwise(groups):
                yield from self._late(turn, say("has group {} copied", group.part), group.began, one.ended)

    def _processes(self) -> Iterator[str]:
        """Also those of requests that were refused."""
        began = [span for span in self._spans if span.phase is SwitchPhase.START]
        over = [span.ended for span in self._spans if span.phase is SwitchPhase.CLEAN]
        for before, start in pairwise(began):
            cleaned = [end for end in over if before.ended <= end <= start.began]
            if cleaned and start.began > (allowed := max(cleaned[0], self._reports[start.request].wanted)):
                yield say(
                    "cycle {cycle}: request {} starts; it could at cycle {}", start.request, allowed, cycle=start.began
                )
        for turn in self._turns:
            starts, loads = self._done(turn, SwitchPhase.START), self._done(turn, SwitchPhase.PREPARE)
            if starts and loads:
                yield from self._late(turn, "is loaded", loads[0].began, starts[0].ended)
            cleanups = [
                span.began
                for span in self._spans
                if (span.request, span.phase) == (turn.request, SwitchPhase.CLEAN) and span.began >= turn.of.ended
            ]
            if cleanups:
                yield from self._late(turn, "is cleaned up", cleanups[0], turn.of.ended)

    def _loaded(self) -> Iterator[str]:
        """Requests are waited for in their order, also those that are refused then."""
        for before, turn in pairwise(self._turns):
            came = max(report.wanted for report in self._reports[: turn.request + 1])
            yield from self._late(turn, "has its turn", turn.of.began, max(before.of.ended, came))
