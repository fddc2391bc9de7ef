"""What is true of a whole server: its cards, who may speak to the CPU, and who to another card."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ringhil.emulator.judge.oracle.breaks import Break, located
from ringhil.emulator.judge.oracle.elections import RoleTruth
from ringhil.emulator.judge.oracle.faults import CardFaults, Part
from ringhil.emulator.judge.oracle.ring import View
from ringhil.emulator.judge.oracle.shares import weight
from ringhil.emulator.scenario import BoundaryLink, CrossRef, GpuRef, LinkRef, PartKind, Server, TimelineEvent

_CUTS = frozenset({"boundary_link_cut", "link_one_way", "link_one_way reverse"})
_NOISE = "link_bit_errors"


@dataclass(frozen=True)
class _Felt:
    """All that decides who may hold a role."""

    able: tuple[int, ...]
    luck: bool = False  # what is no rule decides too
    willing: tuple[int, ...] = ()  # those able that are surely not reluctant (R7)
    reluctant: frozenset[int] = frozenset()  # those that surely are, and those that may be
    unsure: frozenset[int] = frozenset()


class ServerTruth:
    """`cards`: faults by card, in the order of the file; put them in there, those of links between cards into `cross`,
    and call `update`.

    `entry_time` and `link_time`: how long after an event it takes at most until it is decided who holds the role of
    a card, or of a link between cards (cycles; by number).
    """

    def __init__(
        self,
        server: Server,
        cards: Sequence[CardFaults],
        entry_time: Callable[[int], int],
        link_time: Callable[[int], int],
    ) -> None:
        self.server, self.cards = server, cards
        self.cross: dict[CrossRef, set[str]] = {}
        self._number = {card.name: number for number, card in enumerate(server.cards)}
        self._times = [entry_time(card) for card in range(len(cards))]
        self._link_times = [link_time(group) for group in range(len(server.boundary_links))]
        self.entries = [RoleTruth(card.host_links, time) for card, time in zip(server.cards, self._times, strict=True)]
        self.links = [
            RoleTruth(tuple(gpu.index for gpu in link.from_), time)
            for link, time in zip(server.boundary_links, self._link_times, strict=True)
        ]
        self._felt_entries = [_Felt(self.able(card)) for card in range(len(cards))]
        self._felt_links = [self._feel(group) for group in range(len(self.links))]
        self._fresh = [True] * len(self.links)  # nothing has happened to the group yet

    # --------------------------------------------------------------------------------------------------- places

    def place(self, event: TimelineEvent) -> tuple[frozenset[int], Part | None]:
        """The cards that an event touches, and the part of a card that it strikes; None for a link between cards."""
        target = event.target
        if isinstance(target, CrossRef):
            return frozenset(self._ends(target)), None
        card = frozenset({self._number[target.card]})
        return card, (PartKind.LINK if isinstance(target, LinkRef) else PartKind.GPU, target.index)

    def number(self, card: str) -> int:
        """Number of a card by its name."""
        return self._number[card]

    def counts(self, event: TimelineEvent) -> bool:
        """Whether it surely makes a difference: fewer lost keepalives than the multiplier must make none.

        The rounds of one that grants and of the member that it answers are not in step: there it takes two more.
        """
        return event.count is None or event.count >= self._multiplier + 2 * self._grants(event)

    def may_count(self, event: TimelineEvent) -> bool:
        """Whether it may make a difference: in as many rounds of one that grants it may give one answer more."""
        return event.count is None or event.count >= self._multiplier - self._grants(event)

    @property
    def _multiplier(self) -> int:
        return self.server.settings.keepalive_multiplier

    def _grants(self, event: TimelineEvent) -> bool:
        return any(event.target in link.to for link in self.server.boundary_links)

    def put(self, event: TimelineEvent) -> None:
        """A fault begins or ends; then call `update`."""
        fault, on = event.kind + (" reverse" if event.reverse else ""), event.begins
        if isinstance(event.target, CrossRef):
            faults = self.cross.setdefault(event.target, set())
            (faults.add if on else faults.discard)(fault)
        elif self.counts(event) or not on:
            (card,), part = self.place(event)
            assert part is not None
            self.cards[card].put(part, fault, on)

    def _ends(self, ref: CrossRef) -> tuple[int, int]:
        return self._number[ref.from_.card], self._number[ref.to.card]

    # ---------------------------------------------------------------------------------------------------- roles

    def able(self, card: int) -> tuple[int, ...]:
        """GPUs that can be the card's entry GPU when all has settled, by rank."""
        return tuple(gpu for gpu in self.server.cards[card].host_links if self.cards[card].can_be_entry(gpu))

    def claiming(self, card: int) -> tuple[int, ...]:
        """GPUs that can be the card's entry GPU for a lease at a time, by rank; they matter where nobody is able."""
        return tuple(gpu for gpu in self.server.cards[card].host_links if self.cards[card].can_claim(gpu))

    def able_across(self, group: int) -> tuple[int, ...]:
        """GPUs of the electing side (the file's `from`) whose link and far end work too, by rank."""
        return tuple(ref.from_.index for ref in self.server.boundary_links[group].refs if self._crosses(ref))

    def claiming_across(self, group: int) -> tuple[int, ...]:
        """GPUs of the electing side that can hold the link for a lease at a time, by rank."""
        refs = self.server.boundary_links[group].refs
        return tuple(ref.from_.index for ref in refs if self._crosses(ref, claims=True))

    def _crosses(self, ref: CrossRef, *, claims: bool = False) -> bool:
        if self.cross.get(ref, set()) & _CUTS:
            return False
        return all(
            (self.cards[card].can_claim_across if claims else self.cards[card].can_cross)(gpu.index)
            for card, gpu in zip(self._ends(ref), (ref.from_, ref.to), strict=True)
        )

    def apart(self, group: int, first: int, second: int) -> bool:
        """On both cards one of these members (GPUs of the electing side), or of their far ends, doesn't hear the other:
        the card is cut in two between them, or one uses a number that isn't its own."""
        severed = self._severed(group, first, second)
        deaf = (any(self.cards[card].masked(g) for g in pair) for card, pair in self._sides(group, first, second))
        return all(either or other for either, other in zip(severed, deaf, strict=True))

    def unheard(self, group: int, first: int, second: int) -> bool:
        """On the electing card one of these members doesn't hear the other: nor that it is about to ask."""
        card, pair = self._sides(group, first, second)[0]
        return self._severed(group, first, second)[0] or any(self.cards[card].masked(g) for g in pair)

    def _severed(self, group: int, first: int, second: int) -> tuple[bool, ...]:
        sides = self._sides(group, first, second)
        return tuple(b not in self.cards[card].seen_from(a).members for card, (a, b) in sides)

    def _sides(self, group: int, first: int, second: int) -> tuple[tuple[int, tuple[int, int]], ...]:
        """The two members and their far ends, each with their card."""
        link = self.server.boundary_links[group]
        far = {a.index: b.index for a, b in link.pairs}
        return tuple(zip(self._ends(link.refs[0]), ((first, second), (far[first], far[second])), strict=True))

    def _feel(self, group: int) -> _Felt:
        link = self.server.boundary_links[group]
        able = self.able_across(group)
        ends = self._ends(link.refs[0])
        noisy = any(_NOISE in self.cross.get(ref, ()) for ref in link.refs)
        torn = any(any(self._severed(group, able[0], other)) for other in able[1:])
        may, must = self._reluctant(link)
        return _Felt(
            able=able,
            luck=noisy or torn or any(self.cards[card].disturbed for card in ends),
            willing=tuple(gpu for gpu in able if gpu not in may),
            reluctant=must,
            unsure=may - must,
        )

    def _reluctant(self, link: BoundaryLink) -> tuple[frozenset[int], frozenset[int]]:
        """Members that may be, and that must be, an entry GPU or wired to one (R7)."""
        may, must = set(), set()
        for ref in link.refs:
            for card, gpu in zip(self._ends(ref), (ref.from_, ref.to), strict=True):
                holders = self.entries[card].holders
                if gpu.index in holders:
                    may.add(ref.from_.index)
                if holders == {gpu.index}:
                    must.add(ref.from_.index)
        return frozenset(may), frozenset(must)

    def update(self, now: int, doubtful: GpuRef | None = None) -> None:
        """Something has changed at cycle `now`. `doubtful`: whether this GPU loses its roles can't be said."""
        for card, role in enumerate(self.entries):
            felt = _Felt(self.able(card), luck=doubtful is not None and self._number[doubtful.card] == card)
            if felt != self._felt_entries[card] or felt.luck:
                role.change(felt.able, now, now + self._times[card], luck=felt.luck)
            self._felt_entries[card] = _Felt(felt.able)
        for group, link in enumerate(self.server.boundary_links):
            before, felt = self._felt_links[group], self._feel(group)
            doubt = doubtful in (*link.from_, *link.to)
            if felt != before or doubt:
                self._change_link(group, felt, now, luck=felt.luck or before.luck or doubt)
            self._felt_links[group] = felt

    def _change_link(self, group: int, felt: _Felt, now: int, *, luck: bool) -> None:
        role, until = self.links[group], now + self._link_times[group]
        holders = role.holders
        if not luck and felt.willing and holders <= felt.reluctant and self._fresh[group]:
            role.change(felt.willing, now, until, gave_up=True)
        else:
            may_leave = bool(felt.willing and holders & (felt.reluctant | felt.unsure))
            role.change(felt.able, now, until, luck=luck or may_leave)
        self._fresh[group] = False

    # ---------------------------------------------------------------------------------------------------- views

    def seen(self, card: int, entry: int | None) -> View:
        """What the GPU `entry` must find of its card; nothing without one."""
        return View(frozenset(), frozenset()) if entry is None else self.cards[card].seen_from(entry)

    def broken(self, card: int, entry: int | None) -> Break | None:
        """The break that it must report."""
        if entry is None:
            return None
        found = located(self.seen(card, entry), entry, self.cards[card].size)
        return None if found is None else replace(found, stranded=found.stranded - self.cards[card].lent)

    def weight(self, card: int, entry: int | None) -> int:
        """The weight of the card's working GPUs, in quarters."""
        members = self.seen(card, entry).members
        return weight(members, self.server.cards[card].weights, self.cards[card].degraded)
