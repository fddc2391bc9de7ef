"""Watches a run against the truth: wrong counts, and how long each event of the timeline took to be dealt with.

An event may need several things before it is over: the census of a card to be right again, its entry role or the
boundary role of a link to be with a GPU that can hold it, a slow GPU or link to be reported. Its bound is that of
the slowest.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.host.card import CardView
from ringhil.emulator.scenario import CrossRef, GpuRef, LinkRef, TimelineEvent
from ringhil.emulator.server.bounds import LIARS, Bounds
from ringhil.emulator.server.outcome import Recovery
from ringhil.emulator.server.roles import RoleWatch
from ringhil.emulator.server.truth import CUT, OK, CardTruth, Part
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.actions import Counted, Rejected, Suspected

Need = tuple[str, int]  # ("census" | "entry" | "slow GPU" | "slow link" | "named", card) or ("boundary", group)
_SILENT = frozenset({"keepalive_loss", "host_link_cut"})  # of a GPU that can't be heard by the CPU any more


@dataclass
class OpenEvent:
    """An event whose end has not been seen."""

    event: TimelineEvent
    cards: frozenset[int]
    reach: frozenset[int]  # these, and the cards that it shares a boundary role with that has to move
    gpu: int | None  # of the first card
    part: Part | None
    needs: set[Need]
    before: dict[int, object]  # by card: what was to be found
    bound: int
    detected: int | None = None
    switched: int | None = None
    recounted: int | None = None
    superseded: bool = False

    @property
    def over(self) -> bool:
        return self.recounted is not None or self.superseded


@dataclass
class CardWatch:
    """What was found on one card."""

    name: str
    truth: CardTruth
    role: RoleWatch
    wrong: list[str] = field(default_factory=list)
    counts: list[tuple[int, Counted]] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)


class Watch:
    """Feed it every event of the timeline and every action of the firmware. `views` are the CPU's."""

    def __init__(self, wiring: Wiring, bounds: list[Bounds], views: list[CardView], multiplier: int) -> None:
        self._wiring, self._bounds, self._views, self._multiplier = wiring, bounds, views, multiplier
        self.cards = [
            CardWatch(card.name, CardTruth(card.gpus, b), RoleWatch(f"entry of card {card.name}"))
            for card, b in zip(wiring.cards, bounds, strict=True)
        ]
        names = [(wiring.cards[a].name, wiring.cards[b].name) for a, b in map(wiring.ends, wiring.links)]
        self.links = [
            RoleWatch(f"boundary of cards {a} and {b}", apart=partial(self._apart, group))
            for group, (a, b) in enumerate(names)
        ]
        self._cross: dict[CrossRef, set[str]] = {}  # active faults of links between cards
        self._events: list[OpenEvent] = []
        self._last_event = [0] * len(self.cards)

    # ------------------------------------------------------------------------------------------- who can do what

    def can_be_entry(self, card: int, gpu: int) -> bool:
        """Whether a GPU with a link to the CPU can hold the role, when all has settled."""
        faults = self.cards[card].truth.gpus.get(gpu, set())
        return self.cards[card].truth.state(("gpu", gpu)) == OK and not faults & (_SILENT | {"flap"})

    def _entry_candidates(self, card: int) -> list[int]:
        return [gpu for gpu in self._wiring.cards[card].host_links if self.can_be_entry(card, gpu)]

    def _boundary_candidates(self, group: int) -> list[int]:
        """GPUs of the electing side whose link and far end work too."""
        link = self._wiring.links[group]
        return [ref.from_.index for ref in link.refs if self._crosses(ref)]

    def _crosses(self, ref: CrossRef) -> bool:
        if self._cross.get(ref, set()) & {"boundary_link_cut", "link_one_way", "link_one_way reverse"}:
            return False
        ends = ((self._wiring.number(gpu.card), gpu.index) for gpu in (ref.from_, ref.to))
        return all(
            self.cards[card].truth.state(("gpu", gpu)) == OK
            and not self.cards[card].truth.gpus.get(gpu, set()) & {"keepalive_loss", "flap"}
            for card, gpu in ends
        )

    def _apart(self, group: int, first: int, second: int) -> bool:
        """Both cards are cut in two between these members (GPUs of the electing side) and their far ends."""
        link = self._wiring.links[group]
        ends = {ref.from_.index: ref.to.index for ref in link.refs}
        pairs = zip(self._wiring.ends(link), ((first, second), (ends[first], ends[second])), strict=True)
        return all(b not in self.cards[card].truth.seen_from(a).members for card, (a, b) in pairs)

    def _uncertain(self, group: int) -> bool:
        """A noisy or flapping part makes it a matter of luck who holds the link."""
        link = self._wiring.links[group]
        noisy = any("link_bit_errors" in self._cross.get(ref, ()) for ref in link.refs)
        return noisy or any(self._disturbed(card) for card in self._wiring.ends(link))

    def _disturbed(self, card: int) -> bool:
        truth = self.cards[card].truth
        return truth.noisy or truth.flapping or bool(truth.liars)

    # -------------------------------------------------------------------------------------------------- events

    def event(self, event: TimelineEvent, now: int) -> OpenEvent:
        """A fault begins or ends: call it when it has been applied to the hardware. What becomes of it."""
        on = event.action == "fault"
        cards, part = self.place(event)
        gpu = part[1] if part is not None and part[0] == "gpu" else None
        for open_ in self._events:
            if open_.reach & cards and not open_.over:
                open_.superseded = now - open_.event.at <= open_.bound or self._excused(open_)
        roles_before = self._roles()
        before: dict[int, object] = {card: self._seen(card) for card in cards}
        others = sum(self.cards[card].truth.faults for card in cards)
        waiting = max(max(0, self.cards[card].truth.unsettled - now) for card in cards)
        fault = event.kind + (" reverse" if event.reverse else "")
        if part is None:
            assert isinstance(event.target, CrossRef)
            faults = self._cross.setdefault(event.target, set())
            (faults.add if on else faults.discard)(fault)
        else:
            (card,) = cards
            if event.count is None or event.count >= self._enough(event):
                self.cards[card].truth.change(part, fault, on, event.kind, now)
        needs = self._needs(event, cards, gpu, part, before, roles_before)
        ends = [self._wiring.ends(self._wiring.links[n]) for what, n in needs if what == "boundary"]
        reach = cards.union(*ends)
        first = not any(o.reach & reach for o in self._events)
        bound = self._bound(event, needs, others, first) + waiting
        for card in cards:
            self._last_event[card] = now + bound
        opened = OpenEvent(event, cards, reach, gpu, part, needs, before, bound)
        # What can't be seen to be over by its nature: nothing has to happen, or it is a matter of luck.
        opened.superseded = not needs
        self._events.append(opened)
        self.roles_changed(now)
        return opened

    def _enough(self, event: TimelineEvent) -> int:
        """Lost rounds of keepalives that surely move a role; fewer than the multiplier must change nothing.

        A warden's rounds and those of the member that it answers are not in step.
        """
        assert isinstance(event.target, GpuRef)
        crossing = self._wiring.crossings.get(self._wiring.cell_of(event.target))
        return self._multiplier + (2 if crossing is not None and not crossing.leads else 0)

    def place(self, event: TimelineEvent) -> tuple[frozenset[int], Part | None]:
        """The cards that an event touches, and the part of a card that it strikes; None for a link between cards."""
        target = event.target
        if isinstance(target, CrossRef):
            ends = (target.from_, target.to)
            return frozenset(self._wiring.number(gpu.card) for gpu in ends), None
        card = frozenset({self._wiring.number(target.card)})
        if isinstance(target, LinkRef):
            return card, ("link", target.index)
        assert isinstance(target, GpuRef)
        return card, ("gpu", target.index)

    def flapped(self, card: int, gpu: int, failed: bool, now: int) -> None:
        """A flapping GPU has failed or recovered."""
        self.cards[card].truth.change(("gpu", gpu), "flapped", failed, "flap", now)

    def loss_over(self, card: int, gpu: int, now: int) -> None:
        """A counted loss of keepalives has ended by itself."""
        self.cards[card].truth.gpus.get(gpu, set()).discard("keepalive_loss")
        self.roles_changed(now)

    def _roles(self) -> dict[Need, object]:
        """For every role whether the one who should hold it does."""
        state: dict[Need, object] = {}
        for card, view in enumerate(self._views):
            able = self._entry_candidates(card)
            state["entry", card] = (view.entry in able) if able else (view.entry is None)
        for group, role in enumerate(self.links):
            able = self._boundary_candidates(group)
            state["boundary", group] = (role.holder in able) if able else (role.holder is None)
        return state

    def _needs(
        self,
        event: TimelineEvent,
        cards: frozenset[int],
        gpu: int | None,
        part: Part | None,
        before: dict[int, object],
        roles: dict[Need, object],
    ) -> set[Need]:
        # Also a role that an earlier event has left without a holder: this one can't be over before.
        needs = {
            need for need, right in self._roles().items() if not right and (roles[need] or self._concerns(need, cards))
        }
        kind, on = event.kind, event.action == "fault"
        if kind == "flap" and on:
            return needs
        for card in cards:
            entry = self._views[card].entry
            if not self._entry_candidates(card) or (self._disturbed(card) and kind not in LIARS):
                continue
            members = self._members(card, entry)
            if ("entry", card) in needs or entry is None or before[card] != self._seen(card) or kind == "flap":
                needs.add(("census", card))
            elif kind in LIARS and gpu in members and (gpu != entry or kind == "duplicate_id"):
                # The entry GPU itself is not counted by its own hardware, and so can't lie in its own census. Who uses
                # the number of one that is out can't be told from it.
                if kind == "duplicate_id" and (gpu - 1) % self.cards[card].truth.size not in members:
                    continue
                blind = self.cards[card].truth.liars - {(gpu or 0, kind)}
                if not blind and not self.cards[card].truth.noisy and not self.cards[card].truth.flapping:
                    needs.add(("named" if on else "census", card))
            elif kind == "slow" and gpu in members:
                needs.add(("slow GPU", card))
            elif kind == "link_delay" and part is not None and self._can_be_timed(card, part[1], members):
                needs.add(("slow link", card))
        return needs

    def _concerns(self, need: Need, cards: frozenset[int]) -> bool:
        what, number = need
        ends = self._wiring.ends(self._wiring.links[number]) if what == "boundary" else (number,)
        return bool(cards & set(ends))

    def _can_be_timed(self, card: int, link: int, members: Iterable[int]) -> bool:
        """Both GPUs next to the link are counted, and no other delay confuses the matter."""
        size = self.cards[card].truth.size
        late = [n for n, kinds in self.cards[card].truth.links.items() if "link_delay" in kinds and n != link]
        both = {link, (link + 1) % size} <= set(members)
        return both and not late and self.cards[card].truth.state(("link", link)) != CUT

    def _seen(self, card: int) -> object:
        entry = self._views[card].entry
        return None if entry is None else self.cards[card].truth.seen_from(entry)

    def _members(self, card: int, entry: int | None) -> frozenset[int]:
        return frozenset() if entry is None else self.cards[card].truth.seen_from(entry).members

    def _bound(self, event: TimelineEvent, needs: set[Need], others: int, first: bool) -> int:
        """`first`: nothing has happened to these cards before, so every member is ready to take a role over."""
        bound = 0
        for what, number in needs or {("census", 0)}:
            if what == "boundary":
                ends = self._wiring.ends(self._wiring.links[number])
                members = len(self._wiring.links[number].from_)
                slowest = max((self._bounds[card] for card in ends), key=lambda b: b.election.interval)
                bound = max(bound, slowest.election_bound(members) if first else slowest.return_bound(members))
                continue
            b = self._bounds[number]
            own = b.recovery(event.action, event.kind, others)
            if what == "entry" or ("entry", number) in needs or self._views[number].entry is None:
                members = len(self._wiring.cards[number].host_links)
                own += b.election_bound(members) if first else b.return_bound(members)
            bound = max(bound, own)
        return bound

    # ------------------------------------------------------------------------------------------- what was found

    def counted(self, card: int, gpu: int, counted: Counted, now: int) -> None:
        """The census of the entry GPU `gpu` has been accepted."""
        watch = self.cards[card]
        watch.counts.append((now, counted))
        found = None if counted.members is None else frozenset(counted.members)
        if not watch.truth.fits(counted, gpu):
            watch.wrong.append(f"card {watch.name} at cycle {now}: {counted.count} {sorted(found or ())}")
        view = watch.truth.seen_from(gpu)
        for o in self._open(card):
            before = o.before.get(card)
            differs = before is not None and found is not None and found != getattr(before, "members", found)
            if differs:
                self._detect(o, now)
            begun = counted.sent_at >= o.event.at or (not watch.truth.liars and before != view)
            cut_seen = (counted.verdict == "arms") == bool(view.cuts)
            if ("census", card) in o.needs and begun and cut_seen and watch.truth.fits(counted, gpu, o.part):
                self._settle(o, ("census", card), now)
            slow_seen = (o.gpu in counted.degraded) == (o.event.action == "fault")
            if ("slow GPU", card) in o.needs and begun and slow_seen:
                self._settle(o, ("slow GPU", card), now)

    def rejected(self, card: int, action: Rejected, now: int) -> None:
        """A message or a round was rejected."""
        watch = self.cards[card]
        watch.rejected[action.reason] = watch.rejected.get(action.reason, 0) + 1
        for o in self._open(card):
            self._detect(o, now)
            if o.event.kind == "duplicate_id":
                # Its message is not believed; there may be nothing in it that says who spoilt it.
                self._settle(o, ("named", card), now)

    def suspected(self, card: int, action: Suspected, now: int) -> None:
        """GPUs were named."""
        for o in self._open(card):
            if o.gpu in action.gpus:
                self._settle(o, ("named", card), now)

    def reported(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card."""
        view = self._views[card]
        for o in self._open(card):
            if o.event.kind != "link_delay" or o.part is None:
                continue
            if view.slow_link == (o.part[1] if o.event.action == "fault" else None):
                self._settle(o, ("slow link", card), now)

    def roles_changed(self, now: int) -> None:
        """Somebody has been granted a role, or lost it."""
        right = self._roles()
        for o in self._events:
            if not o.over:
                for need in [n for n in o.needs if right.get(n)]:
                    self._settle(o, need, now)

    def noticed(self, cards: Iterable[int], now: int) -> None:
        """A role was lost: the first sign of whatever struck it."""
        for card in cards:
            for o in self._open(card):
                self._detect(o, now)

    def _open(self, card: int) -> list[OpenEvent]:
        return [o for o in self._events if card in o.cards and not o.over]

    def _detect(self, o: OpenEvent, now: int) -> None:
        o.detected = now if o.detected is None else o.detected

    def _settle(self, o: OpenEvent, need: Need, now: int) -> None:
        if need in o.needs:
            o.needs.discard(need)
            self._detect(o, now)
            if need[0] in ("entry", "boundary"):
                o.switched = now
            if not o.needs:
                o.recounted = now

    # -------------------------------------------------------------------------------------------------- results

    def recoveries(self, now: int) -> tuple[Recovery, ...]:
        """Every event and what became of it."""
        return tuple(self._recovery(o, now) for o in self._events)

    def _recovery(self, o: OpenEvent, now: int) -> Recovery:
        took = None if o.recounted is None else o.recounted - o.event.at
        ring_time = max(self._bounds[card].ring_time for card in o.cards)
        unseen = o.recounted is None and (now - o.event.at <= o.bound or self._excused(o))
        return Recovery(
            fault=o.event.kind,
            action=o.event.action,
            where=o.event.where,
            at=o.event.at,
            detected=o.detected,
            switched=o.switched,
            recounted=o.recounted,
            bound=o.bound,
            transits=None if took is None else round(took / ring_time, 2),
            superseded=o.superseded or unseen,
        )

    def _excused(self, o: OpenEvent) -> bool:
        """It can't be seen to be over while something else spoils messages or comes and goes."""
        for card in o.cards:
            truth = self.cards[card].truth
            own = {(o.gpu or 0, o.event.kind)} if ("named", card) in o.needs else set()
            if truth.noisy or truth.flapping or truth.liars - own:
                return True
        return False

    def at_the_end(self, now: int, breaks: Callable[[CardView], tuple[str, ...]]) -> tuple[str, ...]:
        """What is not as it should be when all has settled; cards that something happened to lately are left out."""
        found: list[str] = []
        for card, view in enumerate(self._views):
            if now <= self._last_event[card] or self._disturbed(card):
                continue
            able = self._entry_candidates(card)
            if able and (view.entry not in able or not view.reachable):
                found.append(f"card {view.name} has no entry GPU of {able}, but {view.entry}")
            elif not able and view.reachable:
                found.append(f"card {view.name} is reachable, though none of its GPUs can be the entry")
            elif able:
                expected = self._members(card, view.entry)
                if view.count != len(expected) or (view.members and frozenset(view.members) != expected):
                    found.append(f"card {view.name} has GPUs {sorted(expected)}, but {list(view.members)} are counted")
        for group, role in enumerate(self.links):
            ends = self._wiring.ends(self._wiring.links[group])
            if any(now <= self._last_event[card] for card in ends) or self._uncertain(group):
                continue
            able = self._boundary_candidates(group)
            if (role.holder not in able) if able else role.holder is not None:
                found.append(f"{role.name}: held by {role.holder}, can be held by {able}")
        return tuple(found)
