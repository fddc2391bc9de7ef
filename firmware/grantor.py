"""Grantor: the fence at the far end of the members' links. It gives one lease at a time, each epoch once.

It never trusts who a message says it is from: `rank` is the link that it came by. Safety rests on this class
alone; whatever members believe of one another only decides who asks, and when.
"""

from dataclasses import dataclass, field, replace

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import Remember
from ringhil.firmware.election import (
    CLAIM,
    FOLLOWER,
    GRANT,
    GRANTING,
    HOLDER,
    NO_HOLDER,
    REFUSE,
    RELEASE,
    STATE_BITS,
)
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import Role


@dataclass
class Grantor:
    """One lease at a time and each epoch once: the fence of an election.

    Times in cycles. `guard`: how long after a lease has run out another member may have the next one.

    `discriminator` stands in its answers as their sender.
    """

    role: Role
    lease: int
    guard: int
    highest: int = 0  # highest epoch granted, here or, as far as is known, elsewhere
    quiet_until: int = 0  # nothing is granted before
    discriminator: int = 0
    holder: int | None = None  # rank
    epoch: int = 0  # of the lease that runs, or ran last
    until: int = 0
    _last: int | None = None  # rank that held the last lease
    _free_at: int = 0  # others than the last holder must wait until then
    _elsewhere: dict[int, int] = field(default_factory=dict)  # rank -> until: leases that other grantors gave

    @property
    def next_expiry(self) -> int | None:
        """Cycle in which `on_expire` is due; None when no lease runs."""
        return None if self.holder is None else self.until

    def on_expire(self, now: int) -> list[Action]:
        """Time has passed: a lease that was not renewed is over."""
        if self.holder is None or now < self.until:
            return []
        return self._end(LeaseEnd.LEASE, self.until + self.guard)

    def on_keepalive(self, rank: int, message: Keepalive, now: int) -> tuple[Keepalive, list[Action]]:
        """A member's keepalive by link `rank`; returns the answer to send back by it."""
        actions = self.on_expire(now)
        if (message.state & STATE_BITS, rank, message.epoch) == (HOLDER, self.holder, self.epoch):
            self.until = now + self.lease
        answer = Keepalive(  # `replace` would take five times as long, and this is what a CPU does most
            card=message.card,
            flags=0,
            ttl=message.ttl,
            destination=message.my_discriminator >> 16,
            epoch=self.highest,
            sequence=message.sequence,
            my_discriminator=self.discriminator,
            your_discriminator=message.my_discriminator,
            role=message.role,
            priority=message.priority,
            multiplier=message.multiplier,
            state=FOLLOWER | (0 if self.holder is None else GRANTING),
            interval=message.interval,
            members=message.members,
            echo=message.sequence,
            holder=self._running(now),
        )
        return answer, actions

    def on_election(self, rank: int, message: Election, now: int) -> tuple[Election | None, list[Action]]:
        """A claim or a release by link `rank`; returns the answer to send back by it, if any."""
        actions = self.on_expire(now)
        if message.operation == RELEASE:
            if (rank, message.epoch) == (self.holder, self.epoch):
                actions += self._end(LeaseEnd.RELEASE, now)
            return None, actions
        if message.operation != CLAIM:
            return None, actions
        wait = self._objection(rank, message.epoch, now)
        if wait is not None:
            return replace(message, flags=0, operation=REFUSE, epoch=self.highest, lease=wait), actions
        if self.holder is not None:  # its own holder asks anew: it has lost the grant, or its memory
            actions += self._end(LeaseEnd.RELEASE, now)
        self.highest = self.epoch = message.epoch
        self.holder = self._last = rank
        self.until = now + self.lease
        # Kept before anybody can hear of it: the epoch must not be granted a second time after a crash.
        actions += [Remember(self.epoch), Granted(self.role, self.epoch, rank, self.until)]
        return replace(message, flags=0, operation=GRANT, lease=self.lease), actions

    def heard_elsewhere(self, epoch: int, until: int, rank: int) -> list[Action]:
        """Another grantor's news: the highest epoch it knows, and until when (0: no longer) its lease may run."""
        self._elsewhere[rank] = until
        if epoch <= self.highest:
            return []
        self.highest = epoch
        return [] if self.holder is None else self._end(LeaseEnd.FENCED, self.until + self.guard)

    def _objection(self, rank: int, epoch: int, now: int) -> int | None:
        """Why not grant: the cycles to wait (0: only the epoch is too low). None: nothing against it."""
        wait = max(self.quiet_until - now, self._left(rank, now), 0)
        return wait if wait > 0 or epoch <= self.highest else None

    def _left(self, rank: int, now: int) -> int:
        """Cycles that others' leases still run."""
        own = self._free_at if self.holder is None else self.until + self.guard
        ends = [until for other, until in self._elsewhere.items() if other != rank]
        if self._last is not None and self._last != rank:
            ends.append(own)
        return max([0, *(end - now for end in ends)])

    def _running(self, now: int) -> int:
        if self.holder is not None:
            return self.holder
        return min((rank for rank, until in self._elsewhere.items() if until > now), default=NO_HOLDER)

    def _end(self, why: LeaseEnd, free_at: int) -> list[Action]:
        assert self.holder is not None
        rank, self.holder, self._free_at = self.holder, None, free_at
        return [Lapsed(self.role, self.epoch, rank, why)]
