"""The search for a smaller scenario: what is tried, and what of it is taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from ringhil.emulator.campaign.minimise.size import size
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.scenario import Scenario, dumps, loads

T = TypeVar("T")


class FailureClass(str):
    """A class of failures; `text`: what was said of this very one."""

    text: str

    def __new__(cls, name: str, text: str) -> Self:
        made = super().__new__(cls, name)
        made.text = text
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.text


Fails = Callable[[Scenario], str | None]  # the class of the failure; None: it passes
Progress = Callable[[int, int], None]  # tries so far, and how many there may be


class Spent(RinghilError):
    """All tries are used up."""


@dataclass
class Search:
    """`best` fails as `failure` says; `take` replaces it by what is smaller and fails in the same way."""

    best: Scenario
    failure: str
    fails: Fails
    budget: int
    progress: Progress
    tries: int = 0
    steps: int = 0
    _seen: set[str] = field(default_factory=set)

    def take(self, candidate: Scenario) -> bool:
        """Whether the candidate is valid, smaller and fails in the same class; then it is the best. Raises Spent."""
        try:
            text = dumps(candidate)
            if text in self._seen:
                return False
            self._seen.add(text)
            checked = loads(text, candidate.name)
        except ValueError:
            return False
        if size(checked) >= size(self.best):
            return False
        if self.tries >= self.budget:
            raise Spent
        self.tries += 1
        self.progress(self.tries, self.budget)
        found = self.fails(checked)
        if found != self.failure:
            return False
        self.best, self.failure = checked, found
        self.steps += 1
        return True

    def thin(
        self, items: Callable[[Scenario], Sequence[T]], without: Callable[[Scenario, Sequence[T]], Scenario]
    ) -> None:
        """Leave items out: all of them, halves, quarters and so on, in the end one by one (delta debugging)."""
        length = len(items(self.best))
        while length:
            start = 0
            while start < len(there := items(self.best)):
                if not self.take(without(self.best, there[start : start + length])):
                    start += length
            length //= 2
