"""Whether what is told of turns, of first stages and of cleanups is what was seen (docs/howto/switching.md).

A turn begins with its first launch, is over with its last one, and had what its launches had. A process takes as long
to start, and to clean up, as the file says, in each of its turns; so does a worker of PipeSwitch that is recycled, and
none has a turn meanwhile.
"""

from collections.abc import Iterator, Sequence

from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, SwitchPhase
from ringhil.emulator.judge.findings import Value, say
from ringhil.emulator.scenario import SwitchPolicyName
from ringhil.protocol.wire import CONTEXTS


def mistold(plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan]) -> Iterator[str]:
    """What is not as it must be."""
    for number, report in enumerate(reports):
        mine = [span for span in spans if span.request == number and span.gpu == report.gpu and not span.lost]
        name = say("request {} ({})", number, Value(report.task))
        begun = sum(span.request == number and span.phase is SwitchPhase.START for span in spans)
        starts = plan.policy in (SwitchPolicyName.PIPELINED, SwitchPolicyName.STOP_START)
        if starts and not begun <= report.attempts <= begun + (report.ended is None):
            yield say("{} is said to have had {} attempts; it was begun {} times", name, report.attempts, begun)
        if report.ended is not None and not (report.turns and mine):
            yield say("{} is over, and has had no turn", name)
        elif report.turns:
            yield from _turns(name, report, mine)
            until = max(span.ended for span in spans if span.gpu == report.gpu)  # it may have been lost
            yield from _processes(plan, number, report, mine, until)
    if plan.policy == SwitchPolicyName.PIPELINED:
        yield from _late_starts(plan, reports, spans)
    if plan.policy == SwitchPolicyName.PIPESWITCH:
        for report in reports:
            for turn in report.turns:
                busy = [s for s in spans if s.gpu == turn.gpu and s.phase is SwitchPhase.CLEAN]
                if sum(span.began <= turn.began < span.ended for span in busy) >= plan.workers:
                    yield say(
                        "cycle {cycle}: a worker of {} computes, and all are being recycled",
                        report.task,
                        cycle=turn.began,
                    )


def _late_starts(plan: SwitchPlan, reports: Sequence[RequestReport], spans: Sequence[PhaseSpan]) -> Iterator[str]:
    """First stages that don't begin when their request comes, and those before it have, though all have room at once,
    and a context; on a GPU that isn't lost."""
    has_room = sum(wanted.task.most for wanted in plan.requests) <= plan.first and len(plan.requests) < CONTEXTS
    if not has_room or any(span.lost or span.gpu for span in spans):
        return
    for span in spans:
        comes = max(report.wanted for report in reports[: span.request + 1])
        if span.phase is SwitchPhase.START and span.began != comes:
            yield say("request {} starts at cycle {}; it could at cycle {}", span.request, span.began, comes)


def _turns(name: str, report: RequestReport, spans: Sequence[PhaseSpan]) -> Iterator[str]:
    launches = [span for span in spans if span.phase is SwitchPhase.RUN]
    last = max((span.ended for span in launches), default=report.ended)
    if last != report.ended:
        yield say("{} is said to be over at cycle {}; its last launch was at {}", name, report.ended, last)
    since = 0
    if report.first != report.turns[0].began:
        yield say(
            "{} is said to be launched first at cycle {}; it was at {}", name, report.first, report.turns[0].began
        )
    for turn in report.turns:
        its = [span for span in launches if since <= span.began < turn.ended]
        since = turn.ended
        began = min((span.began for span in its), default=turn.began)
        had = sum(span.cycles for span in its)
        if began != turn.began:
            yield say("a turn of {} is said to begin at cycle {}; it did at {}", name, turn.began, began)
        if had != turn.ran:
            yield say(
                "a turn of {} is said to have had {} cycles of the engine; its launches had {}", name, turn.ran, had
            )


def _processes(
    plan: SwitchPlan, number: int, report: RequestReport, spans: Sequence[PhaseSpan], until: int
) -> Iterator[str]:
    task, turns = plan.requests[number].task, len(report.turns)
    wanted = {
        SwitchPolicyName.PIPELINED: {SwitchPhase.START: task.start, SwitchPhase.CLEAN: task.clean},
        SwitchPolicyName.STOP_START: {SwitchPhase.START: task.start, SwitchPhase.CLEAN: task.clean},
        SwitchPolicyName.PIPESWITCH: {SwitchPhase.CLEAN: plan.recycle},
    }.get(SwitchPolicyName(plan.policy), {})
    for phase, cycles in wanted.items():
        found = [span for span in spans if span.phase is phase]
        short = next((span for span in found if span.ended - span.began < cycles), None)
        if short is not None:
            took = short.ended - short.began
            yield say(
                "{} of request {} ({}) took {found} cycles; its file says {expected}",
                phase,
                number,
                Value(task.name),
                found=took,
                expected=cycles,
            )
        due = turns
        if phase is SwitchPhase.CLEAN:  # a context that is destroyed is the hardware's to say
            recycled = plan.policy == SwitchPolicyName.PIPESWITCH
            due = sum(turn.ended + cycles < until for turn in report.turns) if recycled else 0
        if cycles and len(found) < due:
            yield say(
                "{} of request {} ({}) was done {} times in {} turns",
                phase,
                number,
                Value(task.name),
                len(found),
                turns,
            )
