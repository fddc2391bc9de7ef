"""Whether tasks are prepared and computed beside one another only as the preset values allow (docs/howto/switching.md,
W2 to W5), from what was seen to be done when.

The next task's first subtask is prepared when few enough of the current task's are left, and none of them asks for more
than the second preset value. It runs as soon as it is ready where both together stay within that value, else as soon as
the current task is over; nothing else of it runs before that. Each further subtask is prepared as soon as the one
before it is ready and runs for the first time. A phase that ends and one that begins in the same cycle are not beside
one another. Where memory may be waited for, nobody can be too late.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ringhil.emulator.host.switching.plan import SwitchPlan
from ringhil.emulator.host.switching.report import PhaseSpan, SwitchPhase
from ringhil.emulator.judge.findings import say


def off_presets(plan: SwitchPlan, spans: Sequence[PhaseSpan], second: int, left: int) -> Iterator[str]:
    """What is not as the preset values want it. `second`: pages; `left`: subtasks."""
    has_room = sum(wanted.task.most for wanted in plan.requests) <= plan.first  # for all at once
    for gpu in sorted({span.gpu for span in spans}):
        mine = [span for span in spans if span.gpu == gpu and not span.lost]
        numbers = sorted({span.request for span in mine})
        for before, after in pairwise(numbers):
            pair = _Pair(plan, mine, before, after, second, left)
            yield from pair.wrong()
            if has_room:
                yield from pair.late(mine)
        for number in numbers if has_room else ():
            yield from _late_parts([span for span in mine if span.request == number])


def _late_parts(spans: Sequence[PhaseSpan]) -> Iterator[str]:
    """Of one request: subtasks that could have been prepared earlier."""
    prepared = {span.part: span for span in spans if span.phase is SwitchPhase.PREPARE}
    runs = sorted((span.began, span.ended, span.part) for span in spans if span.phase is SwitchPhase.RUN)
    for part, span in prepared.items():
        if part and part - 1 in prepared:
            first = next((began for began, _, which in runs if which == part - 1), span.began)
            allowed = max(first, prepared[part - 1].ended)
            if span.began > allowed:
                what = say("subtask {} of request {} was prepared at cycle {}", part, span.request, span.began)
                yield say("{}; it could at cycle {}", what, allowed)


class _Pair:
    """Two requests that follow one another on a GPU."""

    def __init__(
        self, plan: SwitchPlan, spans: Sequence[PhaseSpan], before: int, after: int, second: int, left: int
    ) -> None:
        self._tasks = {wanted.number: wanted.task for wanted in plan.requests}
        self._before, self._after, self._second, self._left = before, after, second, left
        self._current = sorted(
            (s for s in spans if s.request == before and s.phase is SwitchPhase.RUN), key=lambda s: (s.began, s.ended)
        )
        task = self._tasks[before]
        self._whole = len(self._current) == task.steps * len(task.subtasks)
        earlier = (s.ended for s in spans if s.request < before and s.phase is SwitchPhase.RUN)
        self._earlier = max(earlier, default=0)  # when those before the current one were over
        mine = [s for s in spans if s.request == after]
        prepared = (s for s in mine if s.phase is SwitchPhase.PREPARE and s.part == 0)
        self._prepared = min(prepared, key=lambda s: s.began, default=None)
        self._runs = sorted((s for s in mine if s.phase is SwitchPhase.RUN), key=lambda s: (s.began, s.ended))

    def _pages(self, span: PhaseSpan) -> int:
        return self._tasks[span.request].subtasks[span.part or 0].pages

    def wrong(self) -> Iterator[str]:
        """What a run shows of the current task is needed whole: it may have been cut short, or have lost its GPU."""
        ready = self._prepared
        if not self._whole or ready is None:
            return
        over = self._current[-1].ended
        there = [span for span in self._current if span.ended > ready.began]
        name = say("the first subtask of request {} was prepared at cycle {}", self._after, ready.began)
        if there and len(there) >= self._left:
            yield say(
                "{}, when {} of request {} were left; it is to be fewer than {}",
                name,
                len(there),
                self._before,
                self._left,
            )
        large = next((span for span in there if self._pages(span) > self._second), None)
        if large is not None:
            pages = self._pages(large)
            yield say("{}, before one of {} pages was over; the second preset value is {}", name, pages, self._second)
        if ready.began < self._earlier:
            yield say("{}, and those before request {} were not over before {}", name, self._before, self._earlier)
        if self._runs:
            yield from self._run(self._runs[0], ready, over)
        for span in self._runs[1:]:
            if span.began < over:
                what = say("subtask {} of request {} ran at cycle {}", span.part, self._after, span.began)
                yield say("{}; request {} was not over before {}", what, self._before, over)

    def late(self, spans: Sequence[PhaseSpan]) -> Iterator[str]:
        """Whether the first subtask could have been prepared earlier, if there was room for it."""
        ready = self._prepared
        started = [s for s in spans if s.request == self._after and s.phase is SwitchPhase.START]
        if not self._whole or ready is None or not started:
            return
        ends = [span.ended for span in self._current]
        near = ends[-self._left] if 0 < self._left <= len(ends) else 0 if self._left else ends[-1]
        large = [span.ended for span in self._current if self._pages(span) > self._second]
        allowed = max([near, *large, self._earlier, started[-1].ended])
        if ready.began > allowed:
            what = say("the first subtask of request {} was prepared at cycle {}", self._after, ready.began)
            yield say("{}; it could at cycle {}", what, allowed)

    def _run(self, first: PhaseSpan, ready: PhaseSpan, over: int) -> Iterator[str]:
        beside = [span for span in self._current if span.began <= ready.ended <= span.ended]
        beside = beside or [span for span in self._current if span.began > ready.ended][:1]
        sums = [self._pages(first) + self._pages(span) for span in beside]
        allowed = set[int]()
        if ready.ended >= over or any(each <= self._second for each in sums):
            allowed.add(ready.ended)
        if ready.ended < over and any(each > self._second for each in sums):
            allowed.add(over)
        if first.began in allowed:
            return
        what = say("request {} was ready at cycle {}, and ran from cycle {} on", self._after, ready.ended, first.began)
        if first.began < over:
            with_it = say("beside one with which it asks for {} pages", max(sums))
            yield say("{}, {}; the second preset value is {}", what, with_it, self._second)
        else:
            yield say("{}; it could at cycle {}", what, min(allowed))
