"""What the CPU believes of its cards beside what the oracle says."""

from collections.abc import Mapping, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.elections.roles import RoleWatch
from ringhil.emulator.judge.findings import Name, Value, joined, say
from ringhil.emulator.judge.oracle import ServerTruth, shares


class Differences:
    """`views` are the CPU's, by card; `named`: by card, whether its censuses carry records, so that GPUs are named."""

    def __init__(self, oracle: ServerTruth, views: Sequence[CardView], named: Sequence[bool]) -> None:
        self._oracle, self._views, self._named = oracle, views, named

    def of_card(self, card: int) -> str | None:
        """What differs in count, members, break and stranded GPUs, as its entry GPU sees them; None: all is right.

        A card without an entry GPU counts nobody, and that is wrong if it can have one.
        """
        view, able = self._views[card], self._oracle.able(card)
        if able and view.entry not in able:
            return say("no entry GPU of {}, but {}", list(able), view.entry)
        if able and not view.reachable:
            return say("no report of entry GPU {} has come in time", view.entry)
        if not able and view.reachable and view.entry not in self._oracle.claiming(card):
            return "reachable, though none of its GPUs can be the entry"
        entry = view.entry if able or view.reachable else None
        seen, broken = self._oracle.seen(card, entry), self._oracle.broken(card, entry)
        pairs: list[tuple[str, object, object]] = [("count", view.count, seen.count)]
        if self._named[card]:
            found = None if view.break_after is None else (view.break_after, view.break_before)
            pairs += [
                ("members", sorted(view.members), sorted(seen.members)),
                ("break", found, None if broken is None else (broken.after, broken.before)),
                ("stranded", list(view.stranded), sorted(broken.stranded) if broken else []),
            ]
        return joined(
            say("{} {found}, not {expected}", what, found=found, expected=true)
            for what, found, true in pairs
            if found != true
        )

    def of_weight(self, card: int) -> str | None:
        """What differs in the weight that the CPU gives to the card, and in whom it takes for slow (R5)."""
        view = self._views[card]
        if not self._named[card] or not view.reachable:
            return None
        slow, weight = self._slow(card, view.entry), self._oracle.weight(card, view.entry)
        if view.degraded != slow:
            return say("slow GPUs {found}, not {expected}", found=sorted(view.degraded), expected=sorted(slow))
        if view.weight != weight:
            return say("weight {found}, not {expected}", found=view.weight, expected=weight)
        return None

    def of_shares(self, units: int, found: tuple[int, ...]) -> str | None:
        """What differs in how the CPU splits `units` (R5); None also when it can't know the truth yet."""
        weights = []
        for card, view in enumerate(self._views):
            # A card that the CPU can't reach is out before its entry GPU's lease is.
            entry = view.entry if view.known and (view.reachable or self._oracle.able(card)) else None
            if view.known and (self.of_card(card) or view.degraded != self._slow(card, entry)):
                return None
            seen = self._oracle.seen(card, entry)
            # Without records nobody's weight is known: all weigh the same; and who they are is known of a whole card.
            nameless = 4 * seen.count if view.members else 0
            weights.append(self._oracle.weight(card, entry) if self._named[card] else nameless)
        true = shares(units, weights)
        if found == true:
            return None
        return say("shares of the work {found}, not {expected}", found=list(found), expected=list(true))

    def _slow(self, card: int, entry: int | None) -> frozenset[int]:
        slow = self._oracle.cards[card].degraded if self._named[card] else frozenset[int]()
        return slow & self._oracle.seen(card, entry).members

    def of_entry(self, card: int) -> str | None:
        """What differs in who may be the card's entry GPU."""
        role, view = self._oracle.entries[card], self._views[card]
        if not self._oracle.able(card) and view.entry in self._oracle.claiming(card):
            return None
        if view.entry in role.holders:
            return None
        return say("entry GPU {found}, not {expected}", found=view.entry, expected=_either(role.holders))

    def of_epoch(self, card: int, now: int) -> str | None:
        """What differs in the epoch of its entry GPU: each election must have raised it."""
        role, view = self._oracle.entries[card], self._views[card]
        if view.entry in role.holders and view.entry is not None and view.epoch < role.lowest(now):
            lowest = role.lowest(now)
            return say(
                "epoch {found} of entry GPU {}, not {expected} at least", view.entry, found=view.epoch, expected=lowest
            )
        return None

    def of_link(self, group: int, role: RoleWatch) -> str | None:
        """What differs in who may hold a link between cards."""
        truth, able = self._oracle.links[group], self._oracle.able_across(group)
        if not able and role.holder in self._oracle.claiming_across(group):
            return None
        if (role.holder not in able) if able else role.holder is not None:
            return say("held by {}, can be held by {}", role.holder, list(able))
        if role.holder not in truth.holders:
            return say("held by {found}, not {expected}", found=role.holder, expected=_either(truth.holders))
        return None

    def of_link_epoch(self, group: int, role: RoleWatch, now: int) -> str | None:
        """What differs in the epoch under which a link is held."""
        truth = self._oracle.links[group]
        if role.holder is not None and role.holder in truth.holders and role.epoch < truth.lowest(now):
            return say(
                "held under epoch {found}, not {expected} at least", found=role.epoch, expected=truth.lowest(now)
            )
        return None

    def of_pair(self, group: int, holder: int | None, known: Mapping[int, frozenset[int]]) -> str | None:
        """What differs in the boundary GPUs that the CPU knows of (`known`, by card), at both ends of a link (R9).

        Who is cut off from its entry GPU is not known, and where records aren't carried nobody is.
        """
        link = self._oracle.server.boundary_links[group]
        for side, card in ((0, self._oracle.number(link.from_[0].card)), (1, self._oracle.number(link.to[0].card))):
            ends = {pair[0].index: pair[side].index for pair in link.pairs}
            seen = self._oracle.seen(card, self._views[card].entry).members
            true = sorted({ends[holder]} & seen) if holder is not None else []
            if self._named[card] and sorted(known.get(card, frozenset())) != true:
                found = sorted(known.get(card, frozenset()))
                return say(
                    "boundary GPU of card {} is {found}, not {expected}",
                    Name(self._views[card].name),
                    found=found,
                    expected=true,
                )
        return None


def _either(holders: frozenset[int | None]) -> str:
    gpus = sorted(gpu for gpu in holders if gpu is not None)
    return Value(" or ".join([*map(str, gpus), *(["nobody"] if None in holders else [])]))
