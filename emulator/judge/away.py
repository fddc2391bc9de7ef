"""When GPUs were not among those that their card is counted with: all that they had was lost to the CPU (S3)."""

from collections.abc import Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.commands_seen import Gpu


class Away:
    """`views`: what the CPU knows of its cards."""

    def __init__(self, views: Sequence[CardView]) -> None:
        self._views = views
        self._spans: dict[Gpu, list[tuple[int, int | None]]] = {}  # from one cycle to another; None: it goes on

    def counted(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        view = self._views[card]
        for number in range(view.size) if view.members else ():
            spans = self._spans.setdefault((card, number), [])
            goes_on = bool(spans) and spans[-1][1] is None
            if number not in view.members and not goes_on:
                spans.append((now, None))
            elif number in view.members and goes_on:
                spans[-1] = (spans[-1][0], now)

    def within(self, gpu: Gpu, since: int, by: int) -> bool:
        """Whether this GPU was away in any of these cycles, the last one among them."""
        begins = self.first(gpu, since)
        return begins is not None and begins <= by

    def first(self, gpu: Gpu, since: int) -> int | None:
        """The first cycle from then on in which this GPU was away; None: it never was."""
        spans = self._spans.get(gpu, ())
        return next((max(begin, since) for begin, end in spans if end is None or end >= since), None)
