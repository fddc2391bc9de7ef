"""Who may hold a role when all has settled: the rules of elections, without their messages.

The first member listed holds it from power-up. Who holds it keeps it as long as it can (no preemption); then one of
those who can takes over, and nobody if there is none. While one election may still be under way, the next event may
change its result, so all who can are possible.
"""

from collections.abc import Iterable


class RoleTruth:
    """What is true of a group with these `members`, by rank. `holders`: who may hold it; with None it may be vacant.

    `least`: no lower epoch can be the present one. Member i of m claims epochs e with (e - 1) mod m = i only.
    """

    def __init__(self, members: tuple[int, ...], settles: int) -> None:
        """`settles`: the cycle by which the first election after power-up is over."""
        self.members = members
        self.holders: frozenset[int | None] = frozenset(members[:1])
        self.least = 0
        self._open_until = settles  # until then an election may be under way
        self._due = True  # when it is over, somebody else than `_before` has been elected
        self._before: frozenset[int | None] = frozenset({None})

    def change(self, able: Iterable[int], now: int, settles: int, *, luck: bool = False, gave_up: bool = False) -> None:
        """From cycle `now` on those `able` can hold the role; by cycle `settles` it is decided who of them does.

        `luck`: it may have changed hands for reasons that are no rule. `gave_up`: whoever holds it leaves it to those
        `able`, without having failed.
        """
        candidates = frozenset[int | None](able) or frozenset({None})
        under_way = now < self._open_until
        self._close(now)
        if self.holders <= candidates and not (under_way or luck or gave_up):
            return
        if not under_way:
            self._due, self._before = True, self.holders
        self._due = self._due and not self._before & candidates
        self.holders = candidates
        self._open_until = max(self._open_until, settles)

    def settled(self, now: int) -> bool:
        """No election can be under way."""
        return now >= self._open_until

    def lowest(self, now: int) -> int:
        """The lowest epoch that the present holder can have."""
        self._close(now)
        return self.least

    def _close(self, now: int) -> None:
        """What was under way is over."""
        ranks = [self.members.index(gpu) for gpu in self.holders if gpu is not None]
        if now < self._open_until or not self._due or not ranks:
            return
        self._due = False
        self.least = min(self.least + 1 + (rank - self.least) % len(self.members) for rank in ranks)
