"""Watches one card's census against the truth: wrong counts, and how long each event took to be dealt with."""

from dataclasses import dataclass

from ringhil.emulator.oracle import RingTruth, View
from ringhil.emulator.scenario import TimelineEvent
from ringhil.emulator.server.bounds import LIARS, Bounds
from ringhil.emulator.server.outcome import Recovery
from ringhil.firmware.actions import Action, Counted, Rejected, Suspected


@dataclass
class _Open:
    """An event whose end has not been seen."""

    event: TimelineEvent
    before: View
    target: View
    others: int
    gpu: int | None
    detected: int | None = None
    recounted: int | None = None
    superseded: bool = False

    @property
    def over(self) -> bool:
        return self.recounted is not None or self.superseded


class CardWatch:
    """`entry` is the GPU that counts. Feed it every event of the timeline and every action of the firmware."""

    def __init__(self, name: str, size: int, entry: int, bounds: Bounds) -> None:
        self._name, self._entry, self._bounds = name, entry, bounds
        self._truth = RingTruth(size)
        self._failed: dict[int, set[str]] = {}
        self._liars: dict[int, set[str]] = {}
        # What was true: from cycle, to cycle (exclusive; None: still), view. The last is the present.
        self._history: list[list[object]] = [[0, None, self._truth.seen_from(entry)]]
        self._events: list[_Open] = []
        self.wrong: list[str] = []
        self.counts: list[tuple[int, Counted]] = []
        self.rejected: dict[str, int] = {}

    @property
    def view(self) -> View:
        """What is true now."""
        view = self._history[-1][2]
        assert isinstance(view, View)
        return view

    def event(self, event: TimelineEvent, gpu: int | None, link: int | None, now: int) -> None:
        """A fault begins or ends at a GPU or a link of this card."""
        before = self.view
        others = sum(map(len, self._failed.values())) + sum(map(len, self._liars.values())) + len(self._truth.cuts)
        begins = event.action == "fault"
        if link is not None:
            cuts = self._truth.cuts | {link} if begins else self._truth.cuts - {link}
            self._truth = RingTruth(self._truth.size, self._truth.failed, cuts)
        elif gpu is not None:
            group = self._liars if event.kind in LIARS else self._failed
            kinds = group.setdefault(gpu, set())
            (kinds.add if begins else kinds.discard)(event.kind)
            failed = frozenset(g for g, k in self._failed.items() if k)
            self._truth = RingTruth(self._truth.size, failed, self._truth.cuts)
        target = self._truth.seen_from(self._entry)
        # Until the hardware has settled, what was true before may still be found.
        self._history[-1][1] = now + self._bounds.settling(event.kind)
        self._history.append([now, None, target])
        for open_ in self._events:
            open_.superseded = open_.superseded or not open_.over
        self._events.append(_Open(event, before, target, others, gpu))

    def action(self, action: Action, now: int) -> None:
        """The entry GPU's firmware has done something."""
        if isinstance(action, Counted):
            self._counted(action, now)
        elif isinstance(action, Rejected):
            self.rejected[action.reason] = self.rejected.get(action.reason, 0) + 1
            self._detect(now)
        elif isinstance(action, Suspected):
            for o in self._events:
                if not o.over and o.event.kind in LIARS and o.gpu in action.gpus:
                    o.recounted = now

    def _detect(self, now: int) -> None:
        for o in self._events:
            if not o.over and o.detected is None:
                o.detected = now

    def _counted(self, counted: Counted, now: int) -> None:
        self.counts.append((now, counted))
        found = None if counted.members is None else frozenset(counted.members)
        if not any(_fits(found, counted.count, view) for view in self._true_since(counted.sent_at)):
            self.wrong.append(f"card {self._name} at cycle {now}: {counted.count} {sorted(found or ())}")
        for o in self._events:
            if o.over:
                continue
            if counted.count != o.before.count or found not in (None, o.before.members):
                self._detect(now)
            begun = counted.sent_at >= o.event.at or (not self._liars_now() and o.before != o.target)
            liar_begins = o.event.kind in LIARS and o.event.action == "fault"
            cut_seen = (counted.verdict == "arms") == bool(o.target.cuts)
            if begun and not liar_begins and cut_seen and _fits(found, counted.count, o.target):
                o.recounted = now
                o.detected = o.detected or now

    def _liars_now(self) -> bool:
        return any(self._liars.values())

    def _true_since(self, cycle: int) -> list[View]:
        views = []
        for _, end, view in self._history:
            assert isinstance(view, View)
            if end is None or (isinstance(end, int) and end >= cycle):
                views.append(view)
        return views

    def recoveries(self) -> tuple[Recovery, ...]:
        """Every event and what became of it."""
        return tuple(self._recovery(o) for o in self._events)

    def _recovery(self, o: _Open) -> Recovery:
        bound = self._bounds.recovery(o.event.action, o.event.kind, o.others)
        took = None if o.recounted is None else o.recounted - o.event.at
        # With its own entry GPU gone, or lied to by somebody else, a card can't count: nothing to be judged.
        judged = self._entry_works(o) and not (o.recounted is None and self._blinded(o))
        return Recovery(
            fault=o.event.kind,
            action=o.event.action,
            where=str(o.event.target),
            at=o.event.at,
            detected=o.detected,
            recounted=o.recounted,
            bound=bound,
            transits=None if took is None else round(took / self._bounds.ring_time, 2),
            superseded=o.superseded or not judged,
        )

    def _entry_works(self, o: _Open) -> bool:
        return bool(o.target.members)

    def _blinded(self, o: _Open) -> bool:
        return any(k for g, k in self._liars.items() if g != o.gpu)


def _fits(found: frozenset[int] | None, count: int, view: View) -> bool:
    return count == view.count and (found is None or found == view.members)
