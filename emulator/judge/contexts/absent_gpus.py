"""GPUs and cards that could not be reached for a while: a reason why a task may fail (S3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ringhil.emulator.events.server import CpuSaid
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.context_events import GpuStruck
from ringhil.emulator.judge.work.cpu_events import ReportTaken
from ringhil.emulator.scenario.file.faults import LENT
from ringhil.firmware.observations import Granted


class Away:
    """`views`: what the CPU knows of its cards."""

    def __init__(self, stream: Stream, views: Sequence[CardView]) -> None:
        self._views = views
        self._spans: dict[Gpu, list[tuple[int, int | None]]] = {}  # from one cycle to another; None: it goes on
        stream.listen(ReportTaken, lambda o: self.counted(o.card, o.cycle))
        stream.listen(GpuStruck, self._struck)

    def _struck(self, o: GpuStruck) -> None:
        """It is lent: the CPU needs no count to know that it isn't there."""
        spans = self._spans.setdefault(o.gpu, [])
        if o.kind == LENT and o.begins and not (spans and spans[-1][1] is None):
            spans.append((o.cycle, None))

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


_LONG = 100  # times the CPU's patience: thirty attempts take more than twice as long


@dataclass(slots=True)
class _Card:
    since: int | None = 0  # nobody has been granted it yet
    over: list[tuple[int, int]] = field(default_factory=list)


class NoEntry:
    """`patience`: cycles that an answer may take."""

    def __init__(self, stream: Stream, patience: int) -> None:
        self._long = _LONG * patience
        self._cards: dict[int, _Card] = {}
        stream.listen(CpuSaid, self._said)

    def _said(self, o: CpuSaid) -> None:
        (self.granted if isinstance(o.what, Granted) else self.lapsed)(o.card, o.cycle)

    def lapsed(self, card: int, now: int) -> None:
        """Its entry GPU's lease has run out."""
        known = self._cards.setdefault(card, _Card())
        if known.since is None:
            known.since = now

    def granted(self, card: int, now: int) -> None:
        """It has one again."""
        known = self._cards.setdefault(card, _Card())
        if known.since is not None:
            known.over.append((known.since, now))
            known.since = None

    @property
    def anywhere(self) -> bool:
        """Whether a card has none."""
        return any(card.since is not None for card in self._cards.values())

    def time(self, card: int, since: int, by: int) -> int:
        """Cycles between these in which there was none."""
        return sum(max(0, min(end, by) - max(begin, since)) for begin, end in self._spans(card, by))

    def excuses(self, card: int, by: int, since: int = 0) -> bool:
        """Whether there was none for so long, between these cycles, that commands may have been given up."""
        return any(min(end, by) - max(begin, since) >= self._long for begin, end in self._spans(card, by))

    def lasts(self, card: int, now: int) -> bool:
        """Whether there has been none for so long, and there is none yet."""
        since = self._cards.get(card, _Card()).since
        return since is not None and now - since >= self._long

    def _spans(self, card: int, by: int) -> list[tuple[int, int]]:
        known = self._cards.get(card, _Card())
        return [*known.over, *([] if known.since is None else [(known.since, by)])]
