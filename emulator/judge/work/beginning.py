"""When work begins: as soon as every card has reported its count, or when `silence` has passed since power-up; and that
the run doesn't go on when all of it is done."""

from collections.abc import Sequence

from ringhil.emulator.events.server import SharedOut, TakenIn
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.work.accepting import WorkCount
from ringhil.emulator.judge.findings import FindingList, Value, say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken
from ringhil.protocol.frames import Result


class TasksBegin:
    """When tasks may begin: in `cycle`, when the silence has passed unless it is `known` that all were counted. Make it
    before whoever asks it, and before `CpuEvents`, which tells of the answer in the frame that makes it known."""

    def __init__(self, stream: Stream, views: Sequence[CardView], silence: int) -> None:
        self._views, self.cycle, self.known = views, silence, False
        stream.listen(TakenIn, self._look)

    def _look(self, o: TakenIn) -> None:
        if not self.known and all(view.known for view in self._views):
            self.known = o.cycle <= self.cycle
            self.cycle = min(self.cycle, o.cycle)


class Beginning:
    """Of work that the CPU's policy splits over the cards. `views`: by card; `silence`: cycles."""

    def __init__(self, stream: Stream, views: Sequence[CardView], silence: int) -> None:
        self._views, self._silence = views, silence
        self._awaited = True
        self.wrong = FindingList()
        stream.listen(SharedOut, self._split)
        stream.listen(TakenIn, self._look)

    def _split(self, o: SharedOut) -> None:
        now = o.cycle
        missing = [view.name for view in self._views if not view.known]
        if self._awaited and missing and now < self._silence:
            why = say(
                "card {} has not reported, and {} cycles have not passed", Value(", ".join(missing)), self._silence
            )
            self.wrong.tell(now, "work is split at cycle {}: {}", now, why)
        self._awaited = False

    def _look(self, o: TakenIn) -> None:
        """The CPU has done what follows from a message."""
        now = o.cycle
        if self._awaited and (now > self._silence or all(view.known for view in self._views)):
            self.wrong.tell(now, "at cycle {} no work is split yet, though all cards have reported or had time to", now)
            self._awaited = False


class Lingering:
    """Of a run that ends when all work is done. `work`: the CPU's books."""

    def __init__(self, stream: Stream, work: WorkCount) -> None:
        self._work = work
        self._done_at: int | None = None  # when all work was done
        self.wrong = FindingList()
        stream.listen(AnswerTaken, self._taken)

    def _taken(self, o: AnswerTaken) -> None:
        if o.booked and o.of_work and isinstance(o.message, Result):
            self._done_at = o.cycle if self._work.completed == self._work.units else None

    def finish(self, horizon: int, now: int) -> None:
        """The run is over. `horizon`: the cycle up to which it is played even if all work is done."""
        if self._done_at is not None and now > max(horizon, self._done_at):
            self.wrong.tell(now, "the run went on to cycle {}; all work was done at {}", now, self._done_at)
