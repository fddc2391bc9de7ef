"""Watches a run against the truth: wrong counts, and how long each event of the timeline took to be dealt with.

What each event needs before it is over: needs.py.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.elections.roles import RoleWatch
from ringhil.emulator.judge.findings import Finding, FindingKind, FindingList, Name, say
from ringhil.emulator.judge.oracle import ServerTruth
from ringhil.emulator.judge.outcome import Recovery
from ringhil.emulator.judge.recovery.bounds import Bounds, entry_time, link_time
from ringhil.emulator.judge.recovery.card_watch import CardWatch, Needed, OpenEvent
from ringhil.emulator.judge.recovery.differences import Differences
from ringhil.emulator.judge.recovery.needs import Needs
from ringhil.emulator.judge.recovery.truth import CardTruth
from ringhil.emulator.scenario import EventAction, GpuRef, PartKind, TimelineEvent
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.observations import Counted, Rejected, Suspected
from ringhil.protocol.wire import CensusVerdict


class Watch:
    """Feed it every event of the timeline and every action of the firmware. `views` are the CPU's."""

    def __init__(self, wiring: Wiring, bounds: list[Bounds], views: list[CardView]) -> None:
        self._wiring, self._bounds, self._views = wiring, bounds, views
        truths = [CardTruth(card.gpus, b) for card, b in zip(wiring.cards, bounds, strict=True)]
        self.oracle = ServerTruth(
            wiring.server, truths, partial(entry_time, wiring, bounds), partial(link_time, wiring, bounds)
        )
        self.cards = [
            CardWatch(Name(card.name), truth, RoleWatch(say("entry of card {}", Name(card.name))))
            for card, truth in zip(wiring.cards, truths, strict=True)
        ]
        names = [(wiring.cards[a].name, wiring.cards[b].name) for a, b in map(wiring.ends, wiring.links)]
        self.links = [
            RoleWatch(
                say("boundary of cards {} and {}", Name(a), Name(b)),
                apart=partial(self.oracle.apart, group),
                unheard=partial(self.oracle.unheard, group),
                news=max(bounds[card].times.election.skew for card in wiring.ends(link)),
            )
            for group, (link, (a, b)) in enumerate(zip(wiring.links, names, strict=True))
        ]
        self.wrong_shares = FindingList()
        self._split_by: tuple[int, ...] | None = None  # weights by which the CPU has split the work last
        self._events: list[OpenEvent] = []
        self.busy_until = 0  # work was on the rings: messages of a census wait for it
        self._last_event = [b.power_up + b.times.refreshed for b in bounds]  # by then it has been dealt with
        self._needs = Needs(wiring, bounds, views, self.oracle, self.cards, self.links)
        self.differences = Differences(self.oracle, views, [b.times.records for b in bounds])

    # -------------------------------------------------------------------------------------------------- events

    def event(self, event: TimelineEvent, now: int) -> OpenEvent:
        """A fault begins or ends: call it when it has been applied to the hardware. What becomes of it."""
        on = event.begins
        cards, part = self.oracle.place(event)
        gpu = part[1] if part is not None and part[0] == PartKind.GPU else None
        if gpu is not None:
            self._forget(min(cards), gpu)
        for open_ in self._events:
            if open_.reach & cards and open_.late:
                open_.superseded = now - open_.event.at <= open_.bound or self._excused(open_)
        roles_before = self._needs.roles()
        before: dict[int, object] = {card: self._needs.seen(card) for card in cards}
        others = sum(self.cards[card].truth.faults for card in cards)
        waiting = max(max(0, self.cards[card].truth.unsettled - now) for card in cards)
        if part is None:
            self.oracle.put(event)
        elif self.oracle.counts(event) or not on:
            (card,) = cards
            fault = event.kind + (" reverse" if event.reverse else "")
            self.cards[card].truth.change(part, fault, on, event.kind, now)
        self.oracle.update(now, self._doubtful(event))
        needs = self._needs.of(event, cards, gpu, part, before, roles_before)
        ends = [self._wiring.ends(self._wiring.links[n]) for what, n in needs if what is Needed.BOUNDARY]
        reach = cards.union(*ends)
        first = not any(o.reach & reach for o in self._events)
        right = self._needs.roles()
        again = {card for card in cards if right[Needed.ENTRY, card] and not roles_before[Needed.ENTRY, card]}
        bound = self._needs.bound(event, needs, again, others, first) + waiting
        for card in cards:
            later = now + bound + self._bounds[card].times.refreshed
            self._last_event[card] = max(self._last_event[card], later)
        opened = OpenEvent(event, cards, reach, gpu, part, needs, before, bound)
        # What can't be seen to be over by its nature: nothing has to happen, or it is a matter of luck.
        opened.superseded = not needs
        self._events.append(opened)
        self.roles_changed(now)
        return opened

    def _doubtful(self, event: TimelineEvent) -> GpuRef | None:
        """A GPU that loses enough keepalives to lose a role, and not enough to be sure of it."""
        if self.oracle.counts(event) or not self.oracle.may_count(event):
            return None
        assert isinstance(event.target, GpuRef)
        return event.target

    def _forget(self, card: int, gpu: int) -> None:
        """A GPU may have booted anew, or lose its role: it knows nothing of earlier rounds then."""
        met = self.cards[card].met
        for pair in [pair for pair in met if pair[0] == gpu]:
            del met[pair]

    def flapped(self, card: int, gpu: int, failed: bool, now: int) -> None:
        """A flapping GPU has failed or recovered."""
        self._forget(card, gpu)
        self.cards[card].truth.change((PartKind.GPU, gpu), "flapped", failed, "flap", now)
        self.oracle.update(now)

    def loss_over(self, card: int, gpu: int, now: int) -> None:
        """A counted loss of keepalives has ended by itself."""
        self.cards[card].truth.put((PartKind.GPU, gpu), "keepalive_loss", False)
        self.oracle.update(now)
        self.roles_changed(now)

    # ------------------------------------------------------------------------------------------- what was found

    def counted(self, card: int, gpu: int, counted: Counted, now: int) -> None:
        """The census of the entry GPU `gpu` has been accepted."""
        watch = self.cards[card]
        watch.counts.append((now, counted))
        found = None if counted.members is None else frozenset(counted.members)
        size = watch.truth.size
        if counted.verdict is CensusVerdict.RING and counted.sent_at > self.busy_until:
            watch.met.update({(gpu, near) for near in ((gpu + 1) % size, (gpu - 1) % size) if near in (found or ())})
        if not watch.truth.fits(counted, gpu):
            text = say(
                "wrong count accepted: card {} at cycle {}: {} {}", watch.name, now, counted.count, sorted(found or ())
            )
            watch.wrong_counts.tell(now, text)
        view = watch.truth.seen_from(gpu)
        for o in self._open(card):
            before = o.before.get(card)
            differs = before is not None and found is not None and found != getattr(before, "members", found)
            if differs:
                o.detect(now)
            begun = counted.sent_at >= o.event.at or (not watch.truth.liars and before != view)
            cut_seen = (counted.verdict is CensusVerdict.ARMS) == bool(view.cuts)
            if (Needed.CENSUS, card) in o.needs and begun and cut_seen and watch.truth.fits(counted, gpu, o.part):
                o.settle((Needed.CENSUS, card), now)
            slow_seen = (o.gpu in counted.degraded) == (o.event.begins)
            if (Needed.SLOW_GPU, card) in o.needs and begun and slow_seen:
                o.settle((Needed.SLOW_GPU, card), now)

    def rejected(self, card: int, action: Rejected, now: int) -> None:
        """A message or a round was rejected."""
        watch = self.cards[card]
        watch.rejected[action.reason] = watch.rejected.get(action.reason, 0) + 1
        for o in self._open(card):
            o.detect(now)
            if o.event.kind == "duplicate_id":
                # Its message is not believed; there may be nothing in it that says who spoilt it.
                o.settle((Needed.NAMED, card), now)

    def suspected(self, card: int, action: Suspected, now: int) -> None:
        """GPUs were named."""
        for o in self._open(card):
            if o.gpu in action.gpus:
                o.settle((Needed.NAMED, card), now)

    def reported(self, card: int, now: int) -> None:
        """The CPU has taken in a report of this card."""
        view = self._views[card]
        for o in self._open(card):
            if o.event.kind != "link_delay" or o.part is None:
                continue
            if view.slow_link == (o.part[1] if o.event.begins else None):
                o.settle((Needed.SLOW_LINK, card), now)

    def roles_changed(self, now: int) -> None:
        """Somebody has been granted a role, or lost it."""
        right = self._needs.roles()
        for o in self._events:
            if not o.over:
                for need in [n for n in o.needs if right.get(n)]:
                    o.settle(need, now)
                # A liar that has become the entry GPU is the one that nobody names.
                if o.event.kind != "duplicate_id" and any(
                    what is Needed.NAMED and self._views[number].entry == o.gpu for what, number in o.needs
                ):
                    o.superseded = True

    def noticed(self, cards: Iterable[int], now: int) -> None:
        """A role was lost: the first sign of whatever struck it."""
        for card in cards:
            for o in self._open(card):
                o.detect(now)

    def _open(self, card: int) -> list[OpenEvent]:
        return [o for o in self._events if card in o.cards and not o.over]

    # -------------------------------------------------------------------------------------------------- results

    def recoveries(self, now: int) -> tuple[Recovery, ...]:
        """Every event and what became of it."""
        return tuple(self._recovery(o, now) for o in self._events)

    def _recovery(self, o: OpenEvent, now: int) -> Recovery:
        took = None if o.recounted is None else o.recounted - o.event.at
        ring_time = max(self._bounds[card].times.ring_time for card in o.cards)
        unseen = o.late and (now - o.event.at <= o.bound or self._excused(o))
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
        """It can't be seen to be over, or not in time, while something else spoils messages or comes and goes."""
        if any(map(self.uncertain, o.links if o.recounted is None else o.across)):
            return True
        if o.recounted is not None:
            return False
        for card in o.cards:
            truth = self.cards[card].truth
            own = {(o.gpu or 0, o.event.kind)} if (Needed.NAMED, card) in o.needs else set()
            if truth.noisy or truth.flapping or truth.liars - own:
                return True
        return False

    def shared_out(self, units: int, shares: tuple[int, ...], now: int) -> None:
        """The CPU splits work over the cards; R5 says how."""
        self._split_by = self._weights()
        text = self.differences.of_shares(units, shares)
        if text is not None:
            self.wrong_shares.tell(now, "at cycle {}: {}", now, text)

    def look_at_shares(self, begun: bool, now: int) -> None:
        """Whether the work is split as the weights are that the CPU knows; `begun`: some of it has been done."""
        weights = self._weights()
        if self._wiring.server.settings.policy != "proportional" or not any(weights):
            return
        if (begun or self._split_by is not None) and self._split_by != weights:
            self.wrong_shares.tell(now, "at cycle {}: the work is not split anew by weights {}", now, list(weights))
            self._split_by = weights

    def _weights(self) -> tuple[int, ...]:
        return tuple(view.weight for view in self._views)

    # ------------------------------------------------------------------------------------------------- who is blamed

    def blameless(self, card: int, now: int) -> bool:
        """Nothing is wrong with the card, and has not been for as long as dealing with it may take."""
        return not self.cards[card].truth.faults and now > self._last_event[card]

    def untouched(self, card: int) -> bool:
        """No event has ever struck the card."""
        return not any(card in o.cards for o in self._events)

    def steady(self, cards: Iterable[int], now: int) -> bool:
        """Nothing has happened to these cards lately, and nothing comes and goes."""
        return all(now > self._last_event[card] and not self.cards[card].truth.disturbed for card in cards)

    def alone(self, card: int, now: int) -> OpenEvent | None:
        """The one event that the card still suffers from, when its bound is over and all before it was dealt with."""
        mine = [o for o in self._events if card in o.cards]
        if not mine or self.cards[card].truth.faults != 1 or now <= self._last_event[card]:
            return None
        *before, last = mine
        dealt_with = all(o.event.at + o.bound < last.event.at for o in before)
        return last if dealt_with and last.event.begins and not last.superseded else None

    def late_link(self, card: int, now: int) -> int | None:
        """The one link that must be called slow; None: there is none, or it can't be timed."""
        alone = self.alone(card, now)
        if alone is None or alone.event.kind != "link_delay" or alone.part is None or alone.recounted is None:
            return None
        return alone.part[1] if alone.timed else None

    def differs(self, card: int) -> str | None:
        """What of the CPU's view of the card isn't as the oracle says now; None: count, members, break and stranded
        GPUs are."""
        return self.differences.of_card(card)

    def settled_cards(self, now: int) -> list[int]:
        """Cards on which all must be as it should: nothing has happened to them lately, and nothing comes and goes."""
        cards = enumerate(self.cards)
        return [card for card, watch in cards if now > self._last_event[card] and not watch.truth.disturbed]

    def not_judged(self, now: int) -> Iterator[Finding]:
        """What of the end of the run can't be judged, and why."""
        settled = self.settled_cards(now)
        for card, watch in enumerate(self.cards):
            if card not in settled:
                text = say("card {} at the end: {}", watch.name, self._why_not(card, now))
                kind = FindingKind.TOO_EARLY if now <= self._last_event[card] else FindingKind.NOT_JUDGED
                yield Finding(text, None, "bounded_recovery", kind=kind)

    def undoable(self) -> str | None:
        """Why the CPU knows of no GPU that could work, where that is right; None: it knows of one, or should."""
        named = [card for card, view in enumerate(self._views) if view.members]
        if named:
            deaf = all(self._deaf(card) for card in named)
            if deaf:
                return "the entry GPU uses another's number: what comes back doesn't reach it"
            return "no GPU that is known gives right results" if self._all_wrong(named) else None
        cards = list(enumerate(self.cards))
        lost = [watch.truth.disturbed or not self.oracle.able(card) for card, watch in cards]
        if all(lost):
            return "no card can be counted"
        # Without records a card's GPUs are known only while all of them are counted.
        nameless = [not self._bounds[card].times.records and not self._whole(card) for card, _ in cards]
        if all(lost[card] or nameless[card] for card, _ in cards):
            return "no GPU is named: records are never carried, and a GPU is missing"
        return None

    def uncountable(self, card: int) -> bool:
        """Whether the CPU rightly knows of no GPU of this card."""
        known = self._views[card].members
        return not known and (self.cards[card].truth.disturbed or not self.oracle.able(card))

    def _all_wrong(self, cards: list[int]) -> bool:
        """A GPU corrupts results, and nobody among the members of the cards is there to do better."""
        corrupt = any(kind == "corrupt" for card in cards for _, kind in self.cards[card].truth.liars)
        known = [(card, gpu) for card in cards for gpu in self._views[card].members]
        return corrupt and not any(self.cards[card].truth.computes(gpu) for card, gpu in known)

    def _deaf(self, card: int) -> bool:
        entry = self._views[card].entry
        return entry is not None and self.cards[card].truth.masked(entry)

    def _whole(self, card: int) -> bool:
        """All GPUs of the card must be counted by its entry GPU."""
        return self.oracle.seen(card, self._views[card].entry).count == self.cards[card].truth.size

    def _why_not(self, card: int, now: int) -> str:
        if now <= self._last_event[card]:
            return say("cycle {} is too early; by cycle {} all has been dealt with", now, self._last_event[card])
        return "a GPU lies or flaps, or a link is noisy"

    def settled_links(self, now: int) -> list[int]:
        """The same of logical links between cards."""
        return [group for group in range(len(self.links)) if self._is_settled(group, now)]

    def _is_settled(self, group: int, now: int) -> bool:
        lately = any(now <= self._last_event[card] for card in self.ends(group))
        return not self.uncertain(group) and not lately and now > self._elected_by(group)

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
        return role.changed_at + max(self._bounds[c].return_bound(members, across=True) for c in self.ends(group))

    def ends(self, group: int) -> tuple[int, int]:
        """The two cards of a link."""
        return self._wiring.ends(self._wiring.links[group])

    def uncertain(self, group: int) -> bool:
        """A noisy or flapping part makes it a matter of luck who holds the link."""
        noisy = any("link_bit_errors" in self.oracle.cross.get(ref, ()) for ref in self._wiring.links[group].refs)
        return noisy or any(self.cards[card].truth.disturbed for card in self.ends(group))

    def known(self, role: RoleWatch, group: int, now: int) -> bool:
        """Both cards of a link are as they should be, and have had time to be counted since it changed hands."""
        ends = self.ends(group)
        changes = [role.changed_at, *(self.cards[card].role.changed_at for card in ends)]
        each = [self._bounds[card] for card in ends]
        slowest = max(b.recovery(EventAction.FAULT, "dead") + b.times.refreshed for b in each)
        if role.holder is None:  # its grantor takes it for held until its lease is over
            slowest += max(b.times.election.lease for b in each) + self._bounds[ends[0]].times.election.guard
        return now > max(changes) + 2 * slowest and not any(self.differs(card) for card in ends)
