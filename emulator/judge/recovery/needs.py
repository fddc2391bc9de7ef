"""What an event of the timeline needs to be over, and by when.

That may be several things: the census of a card to be right again, its entry role or the boundary role of a link to be
with a GPU that can hold it, a slow GPU or link to be reported, a liar to be named. The bound is that of the slowest.
"""

from collections.abc import Iterable, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.elections.roles import RoleWatch
from ringhil.emulator.judge.oracle import CUT, Part, ServerTruth
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.recovery.card_watch import CardWatch, Need, Needed
from ringhil.emulator.scenario import PartKind, TimelineEvent, Trait, having
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.links import ROUNDS

_LIARS = having(Trait.LIES)


class Needs:
    """`views` are the CPU's, by card; `links`: who holds each link between cards."""

    def __init__(
        self,
        wiring: Wiring,
        bounds: Sequence[Bounds],
        views: Sequence[CardView],
        oracle: ServerTruth,
        cards: Sequence[CardWatch],
        links: Sequence[RoleWatch],
    ) -> None:
        self._wiring, self._bounds, self._views = wiring, bounds, views
        self._oracle, self._cards, self._links = oracle, cards, links

    def seen(self, card: int) -> object:
        """What is to be found by the card's entry GPU; None: it has none."""
        entry = self._views[card].entry
        return None if entry is None else self._cards[card].truth.seen_from(entry)

    def _members(self, card: int, entry: int | None) -> frozenset[int]:
        return frozenset() if entry is None else self._cards[card].truth.seen_from(entry).members

    def roles(self) -> dict[Need, object]:
        """Whether the GPU that should hold a role does, for every role."""
        state: dict[Need, object] = {}
        for card, view in enumerate(self._views):
            able = self._oracle.able(card)
            state[Needed.ENTRY, card] = (view.entry in able) if able else (view.entry is None)
        for group, role in enumerate(self._links):
            able = self._oracle.able_across(group)
            state[Needed.BOUNDARY, group] = (role.holder in able) if able else (role.holder is None)
        return state

    def of(
        self,
        event: TimelineEvent,
        cards: frozenset[int],
        gpu: int | None,
        part: Part | None,
        before: dict[int, object],
        roles: dict[Need, object],
    ) -> set[Need]:
        """What has to come before an event is over. `before`: by card what was to be found before it, `roles`: as they
        were then."""
        # Also a role that an earlier event has left without a holder: this one can't be over before.
        needs = {
            need for need, right in self.roles().items() if not right and (roles[need] or self._concerns(need, cards))
        }
        kind, on = event.kind, event.begins
        if kind == "flap" and on:
            return needs
        for card in cards:
            entry = self._views[card].entry
            if not self._oracle.able(card) or (self._cards[card].truth.disturbed and kind not in _LIARS):
                continue
            members = self._members(card, entry)
            if (Needed.ENTRY, card) in needs or entry is None or before[card] != self.seen(card) or kind == "flap":
                needs.add((Needed.CENSUS, card))
            elif not self._bounds[card].times.records and (on or kind not in _LIARS):
                continue  # only records tell
            elif kind in _LIARS and gpu in members and (gpu != entry or kind == "duplicate_id"):
                # The entry GPU itself is not counted by its own hardware, and so can't lie in its own census. Who uses
                # the number of one that is out can't be told from it.
                if kind == "duplicate_id" and (gpu - 1) % self._cards[card].truth.size not in members:
                    continue
                blind = self._cards[card].truth.liars - {(gpu or 0, kind)}
                if not blind and not self._cards[card].truth.noisy and not self._cards[card].truth.flapping:
                    needs.add((Needed.NAMED if on else Needed.CENSUS, card))
            elif kind == "slow" and gpu in members:
                needs.add((Needed.SLOW_GPU, card))
            elif kind == "link_delay" and part is not None and self._can_be_timed(card, part[1], members):
                needs.add((Needed.SLOW_LINK, card))
        return needs

    def _concerns(self, need: Need, cards: frozenset[int]) -> bool:
        what, number = need
        ends = self._wiring.ends(self._wiring.links[number]) if what is Needed.BOUNDARY else (number,)
        return bool(cards & set(ends))

    def _can_be_timed(self, card: int, link: int, members: Iterable[int]) -> bool:
        """Both GPUs next to the link are counted, and no other delay confuses the matter."""
        size = self._cards[card].truth.size
        late = [n for n, kinds in self._cards[card].truth.links.items() if "link_delay" in kinds and n != link]
        both = {link, (link + 1) % size} <= set(members)
        # How long its own first hop takes the entry GPU knows only from earlier rounds, in which nothing was in
        # the way: of some one may have been quick. And not while a cut turns messages round.
        entry = self._views[card].entry
        ends = {link, (link + 1) % size}
        known = entry not in ends or entry is None
        if not known and entry is not None and not self._cards[card].truth.seen_from(entry).cuts:
            known = all(self._cards[card].met[entry, end] >= ROUNDS for end in ends - {entry})
        return both and known and not late and self._cards[card].truth.state((PartKind.LINK, link)) != CUT

    def bound(self, event: TimelineEvent, needs: set[Need], again: set[int], others: int, first: bool) -> int:
        """`again`: cards whose entry GPU can hold its role again. It may have lost its lease, or booted anew, which the
        CPU doesn't know yet. `first`: nothing has happened to these cards before, so every member is ready to take a
        role over."""
        bound = 0
        for what, number in needs or {(Needed.CENSUS, 0)}:
            if what is Needed.BOUNDARY:
                ends = self._wiring.ends(self._wiring.links[number])
                members = len(self._wiring.links[number].from_)
                slowest = max((self._bounds[card] for card in ends), key=lambda b: b.times.election.interval)
                moved = slowest.election_bound if first else slowest.return_bound
                bound = max(bound, moved(members, across=True))
                continue
            b = self._bounds[number]
            own = b.recovery(event.action, event.kind, others)
            # A holder that has booted anew has lost the role, whatever the CPU still takes it for.
            entry = self._views[number].entry
            vacant = (Needed.ENTRY, number) in needs or entry is None or entry != self._cards[number].role.holder
            if what is Needed.ENTRY or vacant or number in again:
                members = len(self._wiring.cards[number].host_links)
                own += b.election_bound(members) if first else b.return_bound(members)
            bound = max(bound, own)
        return bound
