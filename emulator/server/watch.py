"""Watches one card's census against the truth: wrong counts, and how long each event took to be dealt with."""

from dataclasses import dataclass
from itertools import product

from ringhil.emulator.oracle import RingTruth, View
from ringhil.emulator.scenario import TimelineEvent
from ringhil.emulator.server.bounds import LIARS, Bounds
from ringhil.emulator.server.outcome import Recovery
from ringhil.firmware.actions import Action, Counted, Rejected, Suspected

Part = tuple[str, int]  # ("gpu", number) or ("link", number)


@dataclass
class _Open:
    """An event whose end has not been seen."""

    event: TimelineEvent
    before: View
    target: View
    others: int
    gpu: int | None
    part: Part | None  # what it changes; a liar stays a member
    waiting: int  # cycles until what was before it has settled
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
        # What each part was, and until when it may still be found so: the hardware takes time to settle.
        self._past: dict[Part, list[tuple[int, bool]]] = {}
        self._events: list[_Open] = []
        self.wrong: list[str] = []
        self.counts: list[tuple[int, Counted]] = []
        self.rejected: dict[str, int] = {}

    @property
    def view(self) -> View:
        """What is true now."""
        return self._truth.seen_from(self._entry)

    def event(self, event: TimelineEvent, gpu: int | None, link: int | None, now: int) -> None:
        """A fault begins or ends at a GPU or a link of this card."""
        for open_ in self._events:
            # One whose time was up before is late, whatever happens now; unless lies have kept it from being seen.
            excused = now - open_.event.at <= self._bound(open_) or self._blinded(open_) or self._mute_liar(open_)
            open_.superseded = open_.superseded or (not open_.over and excused)
        before = self.view
        others = sum(map(len, self._failed.values())) + sum(map(len, self._liars.values())) + len(self._truth.cuts)
        begins = event.action == "fault"
        part: Part | None = None
        # What earlier events have left unsettled has to settle first.
        unsettled = max((at for past in self._past.values() for at, _ in past), default=now)
        waiting = max(0, unsettled - now)
        until = now + self._bounds.settling(event.kind)
        if link is not None:
            part = ("link", link)
            self._past.setdefault(part, []).append((until, link in self._truth.cuts))
            cuts = self._truth.cuts | {link} if begins else self._truth.cuts - {link}
            self._truth = RingTruth(self._truth.size, self._truth.failed, cuts)
        elif gpu is not None:
            group = self._liars if event.kind in LIARS else self._failed
            if group is self._failed:
                part = ("gpu", gpu)
                self._past.setdefault(part, []).append((until, gpu in self._truth.failed))
            kinds = group.setdefault(gpu, set())
            (kinds.add if begins else kinds.discard)(event.kind)
            if part is not None and not begins and "babble" in kinds:
                # Only now is it heard babbling: until it is muted it takes part.
                self._past[part].append((now + self._bounds.settling("babble"), False))
            failed = frozenset(g for g, k in self._failed.items() if k)
            self._truth = RingTruth(self._truth.size, failed, self._truth.cuts)
        target = self._truth.seen_from(self._entry)
        self._events.append(_Open(event, before, target, others, gpu, part, waiting))

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
        if not self._fits(counted, None):
            self.wrong.append(f"card {self._name} at cycle {now}: {counted.count} {sorted(found or ())}")
        for o in self._events:
            if o.over:
                continue
            if counted.count != o.before.count or found not in (None, o.before.members):
                self._detect(now)
            begun = counted.sent_at >= o.event.at or (not self._liars_now() and o.before != o.target)
            liar_begins = o.event.kind in LIARS and o.event.action == "fault"
            cut_seen = (counted.verdict == "arms") == bool(o.target.cuts)
            if begun and not liar_begins and cut_seen and self._fits(counted, o.part):
                o.recounted = now
                o.detected = o.detected or now

    def _liars_now(self) -> bool:
        return any(self._liars.values())

    def _fits(self, counted: Counted, settled: Part | None) -> bool:
        """Whether this may have been found since its round began; the part `settled` has its present state."""
        parts = {("link", i) for i in self._truth.cuts} | {p for p in self._past if p[0] == "link"}
        links = sorted(parts)
        for states in product(*(self._possible(p, counted.sent_at, settled) for p in links)):
            cuts = frozenset(i for (_, i), cut in zip(links, states, strict=True) if cut)
            reached = RingTruth(self._truth.size, cuts=cuts).seen_from(self._entry).members
            failed = {g: self._possible(("gpu", g), counted.sent_at, settled) for g in reached}
            must = {g for g in reached if True not in failed[g]}
            may = {g for g in reached if False in failed[g]}
            if counted.members is None:
                if len(must) <= counted.count <= len(may):
                    return True
            elif len(counted.members) == counted.count and must <= set(counted.members) <= may:
                return True
        return False

    def _possible(self, part: Part, since: int, settled: Part | None) -> set[bool]:
        """Failed or not, cut or not, as far as it may have been found so since then."""
        kind, number = part
        present = number in (self._truth.failed if kind == "gpu" else self._truth.cuts)
        past = self._past.get(part, []) if part != settled else []
        return {present, *(was for until, was in past if until >= since)}

    def recoveries(self) -> tuple[Recovery, ...]:
        """Every event and what became of it."""
        return tuple(self._recovery(o) for o in self._events)

    def _recovery(self, o: _Open) -> Recovery:
        bound = self._bound(o)
        took = None if o.recounted is None else o.recounted - o.event.at
        # With its own entry GPU gone, or lied to by somebody else, a card can't count: nothing to be judged.
        judged = self._entry_works(o) and not (o.recounted is None and (self._blinded(o) or self._mute_liar(o)))
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

    def _bound(self, o: _Open) -> int:
        return self._bounds.recovery(o.event.action, o.event.kind, o.others) + o.waiting

    def _entry_works(self, o: _Open) -> bool:
        return bool(o.target.members)

    def _mute_liar(self, o: _Open) -> bool:
        """It would lie, but its messages pass it by, or it isn't reached."""
        return o.event.kind in LIARS and o.gpu not in o.target.members

    def _blinded(self, o: _Open) -> bool:
        lies = {(g, kind) for g, kinds in self._liars.items() for kind in kinds}
        return bool(lies - {(o.gpu, o.event.kind)})
