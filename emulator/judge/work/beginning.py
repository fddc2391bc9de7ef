"""When work begins: as soon as every card has reported its count, or when `silence` has passed since power-up."""

from collections.abc import Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.findings import FindingList, Value, say


class TasksBegin:
    """When tasks may begin: in `cycle`, when the silence has passed unless it is `known` that all were counted."""

    def __init__(self, views: Sequence[CardView], silence: int) -> None:
        self._views, self.cycle, self.known = views, silence, False

    def look(self, now: int) -> None:
        """The CPU has done what follows from a message."""
        if not self.known and all(view.known for view in self._views):
            self.known = now <= self.cycle
            self.cycle = min(self.cycle, now)


class Beginning:
    """`views`: by card; `silence`: cycles; `splits`: whether the CPU's policy splits units at all."""

    def __init__(self, views: Sequence[CardView], silence: int, *, splits: bool) -> None:
        self._views, self._silence = views, silence
        self._awaited = splits
        self.wrong = FindingList()

    def split(self, now: int) -> None:
        """The CPU splits the work."""
        missing = [view.name for view in self._views if not view.known]
        if self._awaited and missing and now < self._silence:
            why = say(
                "card {} has not reported, and {} cycles have not passed", Value(", ".join(missing)), self._silence
            )
            self.wrong.tell(now, "work is split at cycle {}: {}", now, why)
        self._awaited = False

    def look(self, now: int) -> None:
        """The CPU has done what follows from a message."""
        if self._awaited and (now > self._silence or all(view.known for view in self._views)):
            self.wrong.tell(now, "at cycle {} no work is split yet, though all cards have reported or had time to", now)
            self._awaited = False
