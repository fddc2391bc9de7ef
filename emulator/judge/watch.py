"""Watches a run against the truth: wrong counts, and how long each event of the timeline took to be dealt with.

An event may need several things before it is over: the census of a card to be right again, its entry role or the
boundary role of a link to be with a GPU that can hold it, a slow GPU or link to be reported. Its bound is that of
the slowest.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.bounds import Bounds
from ringhil.emulator.judge.differences import Differences
from ringhil.emulator.judge.oracle import CUT, LIARS, Part, ServerTruth
from ringhil.emulator.judge.outcome import Recovery
from ringhil.emulator.judge.roles import RoleWatch
from ringhil.emulator.judge.truth import CardTruth
from ringhil.emulator.scenario import GpuRef, TimelineEvent
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Counted, Rejected, Suspected
from ringhil.protocol.wire import CensusVerdict

Need = tuple[str, int]  # ("census" | "entry" | "slow GPU" | "slow link" | "named", card) or ("boundary", group)


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
    wrong_counts: list[tuple[str, int]] = field(default_factory=list)  # what, and in which cycle
    counts: list[tuple[int, Counted]] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    met: set[tuple[int, int]] = field(default_factory=set)  # entry GPU, and a neighbour in a count of its


class Watch:
    """Feed it every event of the timeline and every action of the firmware. `views` are the CPU's."""

    def __init__(self, wiring: Wiring, bounds: list[Bounds], views: list[CardView]) -> None:
        self._wiring, self._bounds, self._views = wiring, bounds, views
        truths = [CardTruth(card.gpus, b) for card, b in zip(wiring.cards, bounds, strict=True)]
        self.oracle = ServerTruth(wiring.server, truths, self._entry_time, self._link_time)
        self.cards = [
            CardWatch(card.name, truth, RoleWatch(f"entry of card {card.name}"))
            for card, truth in zip(wiring.cards, truths, strict=True)
        ]
        names = [(wiring.cards[a].name, wiring.cards[b].name) for a, b in map(wiring.ends, wiring.links)]
        self.links = [
            RoleWatch(f"boundary of cards {a} and {b}", apart=partial(self.oracle.apart, group))
            for group, (a, b) in enumerate(names)
        ]
        self.wrong_shares: list[tuple[str, int]] = []
        self._events: list[OpenEvent] = []
        self._last_event = [0] * len(self.cards)
        self.differences = Differences(self.oracle, views, [b.times.records for b in bounds])

    def _entry_time(self, card: int) -> int:
        """An election of the entry GPU is over by then."""
        b = self._bounds[card]
        slowest = max(b.settling(kind) for kind in ("babble", "switch_stuck_through", "link_cut"))
        return b.return_bound(len(self._wiring.cards[card].host_links)) + slowest

    def _link_time(self, group: int) -> int:
        """The same of a boundary GPU; an entry GPU may be elected before."""
        link = self._wiring.links[group]
        ends = self._wiring.ends(link)
        return max(map(self._entry_time, ends)) + max(
            self._bounds[card].return_bound(len(link.from_), across=True) for card in ends
        )

    # -------------------------------------------------------------------------------------------------- events

    def event(self, event: TimelineEvent, now: int) -> OpenEvent:
        """A fault begins or ends: call it when it has been applied to the hardware. What becomes of it."""
        on = event.action == "fault"
        cards, part = self.oracle.place(event)
        gpu = part[1] if part is not None and part[0] == "gpu" else None
        if gpu is not None:
            self._forget(min(cards), gpu)
        for open_ in self._events:
            if open_.reach & cards and not open_.over:
                open_.superseded = now - open_.event.at <= open_.bound or self._excused(open_)
        roles_before = self._roles()
        before: dict[int, object] = {card: self._seen(card) for card in cards}
        others = sum(self.cards[card].truth.faults for card in cards)
        waiting = max(max(0, self.cards[card].truth.unsettled - now) for card in cards)
        if part is None:
            self.oracle.put(event)
        elif self.oracle.counts(event) or not on:
            (card,) = cards
            fault = event.kind + (" reverse" if event.reverse else "")
            self.cards[card].truth.change(part, fault, on, event.kind, now)
        self.oracle.update(now, self._doubtful(event))
        needs = self._needs(event, cards, gpu, part, before, roles_before)
        ends = [self._wiring.ends(self._wiring.links[n]) for what, n in needs if what == "boundary"]
        reach = cards.union(*ends)
        first = not any(o.reach & reach for o in self._events)
        right = self._roles()
        again = {card for card in cards if right["entry", card] and not roles_before["entry", card]}
        bound = self._bound(event, needs, again, others, first) + waiting
        for card in cards:
            self._last_event[card] = now + bound
        opened = OpenEvent(event, cards, reach, gpu, part, needs, before, bound)
        # What can't be seen to be over by its nature: nothing has to happen, or it is a matter of luck.
        opened.superseded = not needs
        self._events.append(opened)
        self.roles_changed(now)
        return opened

    def _doubtful(self, event: TimelineEvent) -> GpuRef | None:
        """A GPU that loses enough keepalives to lose a role, and not enough to be sure of it."""
        if event.count is None or event.count < self._wiring.server.settings.keepalive_multiplier:
            return None
        assert isinstance(event.target, GpuRef)
        return None if self.oracle.counts(event) else event.target

    def _forget(self, card: int, gpu: int) -> None:
        """A GPU may have booted anew, and knows nothing of earlier rounds."""
        met = self.cards[card].met
        met -= {pair for pair in met if pair[0] == gpu}

    def flapped(self, card: int, gpu: int, failed: bool, now: int) -> None:
        """A flapping GPU has failed or recovered."""
        self._forget(card, gpu)
        self.cards[card].truth.change(("gpu", gpu), "flapped", failed, "flap", now)
        self.oracle.update(now)

    def loss_over(self, card: int, gpu: int, now: int) -> None:
        """A counted loss of keepalives has ended by itself."""
        self.cards[card].truth.put(("gpu", gpu), "keepalive_loss", False)
        self.oracle.update(now)
        self.roles_changed(now)

    def _roles(self) -> dict[Need, object]:
        """For every role whether the one who should hold it does."""
        state: dict[Need, object] = {}
        for card, view in enumerate(self._views):
            able = self.oracle.able(card)
            state["entry", card] = (view.entry in able) if able else (view.entry is None)
        for group, role in enumerate(self.links):
            able = self.oracle.able_across(group)
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
            if not self.oracle.able(card) or (self.cards[card].truth.disturbed and kind not in LIARS):
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
        # How long the entry GPU's own first hop takes it knows from earlier rounds only, and not while a cut turns
        # messages round.
        entry = self._views[card].entry
        ends = {link, (link + 1) % size}
        known = entry not in ends or entry is None
        if not known and entry is not None and not self.cards[card].truth.seen_from(entry).cuts:
            known = all((entry, end) in self.cards[card].met for end in ends - {entry})
        return both and known and not late and self.cards[card].truth.state(("link", link)) != CUT

    def _seen(self, card: int) -> object:
        entry = self._views[card].entry
        return None if entry is None else self.cards[card].truth.seen_from(entry)

    def _members(self, card: int, entry: int | None) -> frozenset[int]:
        return frozenset() if entry is None else self.cards[card].truth.seen_from(entry).members

    def _bound(self, event: TimelineEvent, needs: set[Need], again: set[int], others: int, first: bool) -> int:
        """`again`: cards whose entry GPU can hold its role again. It may have lost its lease, or booted anew, which the
        CPU doesn't know yet. `first`: nothing has happened to these cards before, so every member is ready to take a
        role over."""
        bound = 0
        for what, number in needs or {("census", 0)}:
            if what == "boundary":
                ends = self._wiring.ends(self._wiring.links[number])
                members = len(self._wiring.links[number].from_)
                slowest = max((self._bounds[card] for card in ends), key=lambda b: b.times.election.interval)
                moved = slowest.election_bound if first else slowest.return_bound
                bound = max(bound, moved(members, across=True))
                continue
            b = self._bounds[number]
            own = b.recovery(event.action, event.kind, others)
            if what == "entry" or ("entry", number) in needs or self._views[number].entry is None or number in again:
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
        size = watch.truth.size
        watch.met |= {(gpu, near) for near in ((gpu + 1) % size, (gpu - 1) % size) if near in (found or ())}
        if not watch.truth.fits(counted, gpu):
            text = f"wrong count accepted: card {watch.name} at cycle {now}: {counted.count} {sorted(found or ())}"
            watch.wrong_counts.append((text, now))
        view = watch.truth.seen_from(gpu)
        for o in self._open(card):
            before = o.before.get(card)
            differs = before is not None and found is not None and found != getattr(before, "members", found)
            if differs:
                self._detect(o, now)
            begun = counted.sent_at >= o.event.at or (not watch.truth.liars and before != view)
            cut_seen = (counted.verdict is CensusVerdict.ARMS) == bool(view.cuts)
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
                # A liar that has become the entry GPU is the one that nobody names.
                if o.event.kind != "duplicate_id" and any(
                    what == "named" and self._views[number].entry == o.gpu for what, number in o.needs
                ):
                    o.superseded = True

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
        ring_time = max(self._bounds[card].times.ring_time for card in o.cards)
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
        if any(what == "boundary" and self._uncertain(number) for what, number in o.needs):
            return True
        for card in o.cards:
            truth = self.cards[card].truth
            own = {(o.gpu or 0, o.event.kind)} if ("named", card) in o.needs else set()
            if truth.noisy or truth.flapping or truth.liars - own:
                return True
        return False

    def shared_out(self, units: int, now: int) -> None:
        """The CPU has split the work over the cards."""
        text = self.differences.of_shares(units)
        if text is not None:
            self.wrong_shares.append((f"at cycle {now}: {text}", now))

    def differs(self, card: int) -> str | None:
        """What of the CPU's view of the card isn't as the oracle says now; None: count, members, break and stranded
        GPUs are."""
        return self.differences.of_card(card)

    def settled_cards(self, now: int) -> list[int]:
        """Cards on which all must be as it should: nothing has happened to them lately, and nothing comes and goes."""
        cards = enumerate(self.cards)
        return [card for card, watch in cards if now > self._last_event[card] and not watch.truth.disturbed]

    def settled_links(self, now: int) -> list[int]:
        """The same of logical links between cards."""
        return [group for group in range(len(self.links)) if self._is_settled(group, now)]

    def _is_settled(self, group: int, now: int) -> bool:
        lately = any(now <= self._last_event[card] for card in self._ends(group))
        return not self._uncertain(group) and not lately and now > self._elected_by(group)

    def settled_by(self, now: int) -> int:
        """Cycle by which all that is under way must be over: events, and elections between cards."""
        events = [r.at + r.bound for r in self.recoveries(now)]
        return max([0, *events, *map(self._elected_by, range(len(self.links)))])

    def _elected_by(self, group: int) -> int:
        """Cycle by which a vacant link that can be held must have a holder; 0: nobody has to be elected."""
        role, able = self.links[group], self.oracle.able_across(group)
        if role.holder is not None or not able:
            return 0
        members = len(self._wiring.links[group].from_)
        return role.changed_at + max(self._bounds[c].return_bound(members, across=True) for c in self._ends(group))

    def _ends(self, group: int) -> tuple[int, int]:
        return self._wiring.ends(self._wiring.links[group])

    def _uncertain(self, group: int) -> bool:
        """A noisy or flapping part makes it a matter of luck who holds the link."""
        noisy = any("link_bit_errors" in self.oracle.cross.get(ref, ()) for ref in self._wiring.links[group].refs)
        return noisy or any(self.cards[card].truth.disturbed for card in self._ends(group))

    def known(self, role: RoleWatch, group: int, now: int) -> bool:
        """Both cards of a link are as they should be, and have had time to be counted since it changed hands."""
        ends = self._ends(group)
        changes = [role.changed_at, *(self.cards[card].role.changed_at for card in ends)]
        slowest = max(self._bounds[card].recovery("fault", "dead") for card in ends)
        return now > max(changes) + 2 * slowest and not any(self.differs(card) for card in ends)
