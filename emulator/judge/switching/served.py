"""Where requests are served, and whether all of a model was brought there (docs/howto/switching.md): the GPUs in the
order of the file, the next one when those before it are lost; each part is there before it is computed.

Read off commands and answers, but for which request was served where and when a phase of it was: that the CPU says.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ringhil.emulator.events.hardware import FromCpu
from ringhil.emulator.events.server import PassedOn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, SwitchPhase
from ringhil.emulator.judge.contexts.absent_gpus import Away, NoEntry
from ringhil.emulator.judge.contexts.commands_seen import Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent
from ringhil.emulator.judge.contexts.given_back import GivenBack
from ringhil.emulator.judge.findings import Value, numbered, say
from ringhil.emulator.judge.switching.at_once import idle_turns
from ringhil.emulator.judge.switching.stopped import wrongly_stopped
from ringhil.emulator.judge.switching.turns_told import mistold
from ringhil.emulator.judge.work.beginning import TasksBegin
from ringhil.emulator.judge.work.cpu_events import AnswerTaken
from ringhil.emulator.scenario import SwitchPolicyName
from ringhil.protocol.frames import Result, Work
from ringhil.protocol.wire import CONTEXTS, Compute, ResultStatus


class LostGpus:
    """`plan`: None: there are no requests. `begin`: when tasks may begin. `now`: the cycle. The others are asked for
    what was seen."""

    def __init__(
        self,
        plan: SwitchPlan | None,
        begin: TasksBegin,
        now: Callable[[], int],
        *,
        given_back: GivenBack,
        away: Away,
        no_entry: NoEntry,
    ) -> None:
        self._list = () if plan is None else plan.gpus
        self._first = 0 if plan is None else _first(plan)
        self._begin, self._now = begin, now
        self._given_back, self._away, self._no_entry = given_back, away, no_entry

    def is_lost(self, gpu: Gpu) -> bool:
        """Whether anything was seen that may have cost requests this GPU, after they had lost all before it."""
        since: int | None = self._begin.cycle + self._first
        for each in self._list:
            since = None if since is None else self._lost_from(each, since)
            if each == gpu:
                break
        return since is not None

    def _lost_from(self, gpu: Gpu, since: int) -> int | None:
        seen = [self._given_back.lost_from(gpu, since), self._away.first(gpu, since)]
        if self._no_entry.excuses(gpu[0], self._now(), since):
            seen.append(since)
        return min((at for at in seen if at is not None), default=None)


def _first(plan: SwitchPlan) -> int:
    """Cycles after the tasks' begin in which a GPU is asked for something, at the earliest."""
    ahead = plan.policy in (SwitchPolicyName.PIPESWITCH, SwitchPolicyName.RESIDENT)  # before anybody comes
    return 0 if ahead else min((wanted.at for wanted in plan.requests), default=0)


_REFUSED = (ResultStatus.OVER_LIMIT.code, ResultStatus.NO_MEMORY.code)


class Served:
    """`is_lost`: whether anything was seen that may have cost a GPU its contexts. `counted`: when the cards were."""

    def __init__(
        self, stream: Stream, plan: SwitchPlan | None, is_lost: Callable[[Gpu], bool], counted: TasksBegin
    ) -> None:
        self._counted = counted
        self._plan, self._is_lost = plan, is_lost
        self._asked: dict[tuple[Gpu, int], int] = {}  # copies by unit: bytes
        self._copied = Counter[Gpu]()
        self._amounts: dict[tuple[Gpu, int], SeenCommand] = {}  # launches and requests for memory, by unit
        self._computed, self._taken = Counter[Gpu](), Counter[Gpu]()  # cycles and pages, of those that were done
        self._least = Counter[Gpu]()  # launches of one cycle: what takes none is launched for one
        self._refused = False  # memory, to anybody
        self._early: dict[Gpu, tuple[Gpu, int]] = {}  # GPUs that are used before one is lost, and since when
        self._odd: dict[Place, str] = {}  # contexts that are given what no request asks for
        self._spoken: set[Place] = set()  # those of drivers outside
        self._wrong: list[str] = []
        if plan is not None:
            stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
            stream.listen(FromCpu, self._frame)
            stream.listen(AnswerTaken, self._answered)
            stream.listen(PassedOn, lambda o: self.passed_on((o.card, o.gpu, o.context)))

    def _frame(self, o: FromCpu) -> None:
        if o.frame[0] == Work.KIND:
            self.look(o.cycle)

    def _answered(self, o: AnswerTaken) -> None:
        if isinstance(o.message, Result):
            self.heard(o.message)

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        if self._plan is None:
            return
        self.look(now)
        gpu = command.gpu
        if command.compute is Compute.COPY:
            self._asked[gpu, command.unit] = command.data_bytes
            if command.data_bytes > self._plan.piece:
                what = say(
                    "context {} of {}, is copied {} bytes",
                    command.context,
                    numbered(gpu),
                    command.data_bytes,
                )
                self._odd.setdefault(
                    command.place, say("cycle {cycle}: {} at once; a piece has {}", what, self._plan.piece, cycle=now)
                )
        elif command.compute in (Compute.LAUNCH, Compute.ALLOCATE):
            self._amounts[gpu, command.unit] = command
        terms = (command.slice, command.priority, command.state)
        if command.compute is Compute.CREATE and any(terms) and gpu in self._plan.gpus:
            what = say("context {} of {}, is created", command.context, numbered(gpu))
            given = Value(", ".join(map(str, terms)))
            text = say(
                "cycle {cycle}: {} with slice, priority and state {}; requests name none", what, given, cycle=now
            )
            self._odd.setdefault(command.place, text)
        gpus = self._plan.gpus
        before = gpus[: gpus.index(gpu)] if gpu in gpus else gpus
        well = next((each for each in before if not self._is_lost(each)), None)
        if well is not None:
            self._early.setdefault(gpu, (well, now))

    def passed_on(self, place: Place) -> None:
        """A driver outside speaks to this context."""
        self._spoken.add(place)

    def look(self, now: int) -> None:
        """That a GPU isn't found any more is told after what the CPU does with it."""
        for gpu, (well, at) in [*self._early.items()]:
            if at < now:
                del self._early[gpu]
                if not self._is_lost(well) and not self._wrong:
                    what = say("{}, is used", numbered(gpu))
                    self._wrong.append(say("cycle {cycle}: {}; {}, is not lost", what, numbered(well), cycle=at))

    def heard(self, result: Result) -> None:
        """The CPU has taken in what a GPU has answered."""
        gpu = (result.source_card, result.source)
        size = self._asked.pop((gpu, result.unit), None)
        done = result.status == ResultStatus.DONE.code
        if size is not None and done:
            self._copied[gpu] += size
        command = self._amounts.pop((gpu, result.unit), None) if done else None
        if command is not None:
            self._least[gpu] += command.compute is Compute.LAUNCH and command.amount == 1
            (self._computed if command.compute is Compute.LAUNCH else self._taken)[gpu] += command.amount
        self._refused |= result.status in _REFUSED

    def wrong(self, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan]) -> Iterator[str]:
        """What is not as it must be."""
        plan = self._plan
        if plan is None:
            return
        yield from self._wrong
        yield from (what for place, what in self._odd.items() if place not in self._spoken)
        yield from self._failed(plan, reports)
        yield from self._brought(plan, reports)
        if not self._spoken and all(r.ended is not None and not r.stops for r in reports):
            yield from self._exactly(plan, spans)
        yield from self._too_early(plan, reports, spans)
        yield from _ready(plan, reports, spans)
        yield from mistold(plan, reports, spans)
        yield from wrongly_stopped(plan, reports, spans)
        yield from idle_turns(plan, reports, spans)

    def _failed(self, plan: SwitchPlan, reports: Sequence[RequestReport]) -> Iterator[str]:
        enough = len({wanted.task.name for wanted in plan.requests}) < CONTEXTS - 1  # 0 is that of plain work
        left = [gpu for gpu in plan.gpus if not self._is_lost(gpu)]
        for number, report in enumerate(reports):
            if report.failed is not None and left and not self._refused and enough:
                why = say("{}, is not lost, and has refused nothing", numbered(left[0]))
                yield say("request {} ({}) has failed ({}); {}", number, Value(report.task), report.failed, why)

    def _too_early(
        self, plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan]
    ) -> Iterator[str]:
        """Nothing is done for a request that hasn't come, but for what a policy does before there are any."""
        before = {
            SwitchPolicyName.PIPESWITCH: (SwitchPhase.START,),
            SwitchPolicyName.RESIDENT: (SwitchPhase.START, SwitchPhase.PREPARE),
        }.get(SwitchPolicyName(plan.policy), ())
        for wanted, report in zip(plan.requests, reports, strict=True):
            comes = self._counted.cycle + wanted.at
            name = say("request {} ({})", wanted.number, Value(report.task))
            mine = [s for s in spans if s.request == wanted.number and s.phase not in before]
            begins = min((span.began for span in mine), default=comes)
            if begins < comes:
                yield say("{} is served from cycle {} on; it comes at {}", name, begins, comes)
            if mine and self._counted.known and report.wanted != comes:
                yield say("{} is said to have come at cycle {}; it came at {}", name, report.wanted, comes)

    def _exactly(self, plan: SwitchPlan, spans: Sequence[PhaseSpan]) -> Iterator[str]:
        """Of what was all done on the first GPU, at one go: what was computed there, and what memory was taken."""
        if any(span.lost or span.gpu for span in spans):
            return
        gpu = plan.gpus[0]
        loaded = [wanted.task for wanted in plan.requests]
        cycles = sum(task.steps * task.whole.cycles for task in loaded)
        if not 0 <= self._computed[gpu] - cycles <= self._least[gpu]:
            yield say(
                "{found} cycles were launched on {}; requests take {expected}",
                numbered(gpu),
                found=self._computed[gpu],
                expected=cycles,
            )
        if plan.policy == SwitchPolicyName.PIPESWITCH:
            return
        if plan.policy == SwitchPolicyName.RESIDENT:
            loaded = list({task.name: task for task in loaded}.values())
        pages = sum(task.environment for task in loaded)
        for task in loaded:
            parts = task.subtasks if plan.policy == SwitchPolicyName.PIPELINED else [task.whole]
            pages += sum(part.pages for part in parts)
        if self._taken[gpu] != pages:
            yield say(
                "{found} pages were taken of {}; requests take {expected}",
                numbered(gpu),
                found=self._taken[gpu],
                expected=pages,
            )

    def _brought(self, plan: SwitchPlan, reports: Sequence[RequestReport]) -> Iterator[str]:
        for number, gpu in enumerate(plan.gpus):
            served = [w.task for w, r in zip(plan.requests, reports, strict=True) if r.gpu == number]
            if plan.policy == SwitchPolicyName.RESIDENT:
                served = list({task.name: task for task in served}.values())
            needed = sum(task.whole.data for task in served)
            if plan.policy == SwitchPolicyName.STOP_START:  # brings all of it before it computes
                stops = ((w.task, len(r.stops_on(number))) for w, r in zip(plan.requests, reports, strict=True))
                needed += sum(task.whole.data * times for task, times in stops)
            if self._copied[gpu] < needed:
                what = say("{} bytes were copied to {}", self._copied[gpu], numbered(gpu))
                yield say("{}; what was served there takes {expected}", what, expected=needed)


def _ready(plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan]) -> Iterator[str]:
    """A part is computed for the first time when it is there; of a request that was stopped, when it is there again."""
    ready: dict[tuple[int, int, int | None], list[PhaseSpan]] = {}
    if plan.policy == SwitchPolicyName.RESIDENT:
        return
    for span in spans:
        if span.phase is SwitchPhase.PREPARE and not span.lost:
            ready.setdefault((span.gpu, span.request, span.part), []).append(span)
    for span in spans:
        key = (span.gpu, span.request, span.part)
        if span.phase is not SwitchPhase.RUN or span.lost:
            continue
        if span.part is None and plan.policy == SwitchPolicyName.PIPESWITCH:
            continue  # a whole step, behind the first one
        stops = [stop.ended for stop in reports[span.request].stops_on(span.gpu) if stop.ended <= span.began]
        since = max(stops, default=0)
        if not any(since <= each.began and each.ended <= span.began for each in ready.get(key, ())):
            what = "" if span.part is None else say("part {} of ", span.part)
            yield say(
                "cycle {cycle}: {}request {} is computed before it is there", what, span.request, cycle=span.began
            )
            return
