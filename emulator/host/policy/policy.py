"""The seam between handing out and the choice of a GPU (R5)."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from ringhil.emulator.host.card import CardView


class Backlog:
    """Ranges of unit numbers, taken from the front."""

    def __init__(self) -> None:
        self._ranges: deque[tuple[int, int]] = deque()  # first, one past the last

    def __len__(self) -> int:
        return sum(end - start for start, end in self._ranges)

    def add(self, start: int, end: int) -> None:
        """Put units start..end-1 at the end."""
        if start < end:
            self._ranges.append((start, end))

    def pop(self) -> int | None:
        """The next unit, None when there is none."""
        if not self._ranges:
            return None
        start, end = self._ranges[0]
        if start + 1 == end:
            self._ranges.popleft()
        else:
            self._ranges[0] = (start + 1, end)
        return start

    def take(self, units: int) -> list[tuple[int, int]]:
        """Ranges with the next `units` units (fewer when there are fewer)."""
        taken = []
        while units and self._ranges:
            start, end = self._ranges.popleft()
            cut = min(end, start + units)
            taken.append((start, cut))
            units -= cut - start
            if cut < end:
                self._ranges.appendleft((cut, end))
        return taken


class Policy(ABC):
    """Which unit goes to which GPU. It keeps the units that nobody has begun; what comes after that (attempts, time
    limits, sending again) is not its business.

    It reads the CPU's views of the cards: `workers`, `weight`, `degraded`, `load` (units outstanding, by GPU). Its
    answers follow from them alone.
    """

    def __init__(self, cards: Sequence[CardView]) -> None:
        self.cards = cards
        # Called by a policy that gives each card a share, whenever it has: units split, and how many of them by card.
        self.on_split: Callable[[int, tuple[int, ...]], None] = lambda units, shares: None

    @abstractmethod
    def begin(self, units: int) -> None:
        """All cards have reported, or have had the time to: units 0 .. `units` - 1 are to be done. Called once; sets
        the `share` of each card, which add up to `units`, or are all 0 while no card has a member."""

    @abstractmethod
    def recount(self) -> None:
        """The weight of a card has changed, or it was lost. Called after `begin` only."""

    @abstractmethod
    def turns(self, window: int) -> Iterator[tuple[CardView, int]]:
        """GPUs with room, in the order in which they get a unit each, up to `window` outstanding for each.

        The caller sends before it asks for the next one, so `load` is up to date; it sends nothing where there is
        nothing for that GPU. The sequence must end.
        """

    @abstractmethod
    def take(self, card: CardView, gpu: int) -> int | None:
        """The unit that this GPU begins next; None: there is none for it."""
