"""Member: a GPU that can be elected, to speak to the CPU (R10) or to another card (R9).

It holds the lease only as long as it knows that its grantor agrees: counted from when it *sent* what the grantor
answered to, so that it always stops before the grantor's own count, from arrival, runs out. Members tell one
another who they take for the holder, only so that they do not all ask at once. Where each has a grantor of its own
(role "boundary"), a member says that it is a candidate and waits one skew before it claims: so that two grantors are
not asked at the same moment.

Whoever has booted anew, or has lost the lease because its keepalives were not answered, lets the others go first for
wait_to_restore, twice as long at every further loss; after a loss it leaves them time to ask in any case.
"""

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import SetTimer, Tell
from ringhil.firmware.election import (
    CANDIDATE,
    CLAIM,
    GRANT,
    HOLDER,
    NO_HOLDER,
    PORT_FLAGS,
    REFUSE,
    RELEASE,
    RELUCTANT,
    UPLINK,
    Group,
    GroupConfig,
    Peer,
)
from ringhil.firmware.observations import Deposed, Elected
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import MemberState, Port, Role

_SHORT = 0xFFFF
_MOST_LOSSES = 7  # in a row, that make the wait longer: 64 times


class Member(Group):
    """The part of a GPU's firmware that asks for a lease, keeps it and lets it go.

    The state machine. Feed it `start`, `on_timer`, `on_keepalive`, `on_election` and `set_reluctant`; do what
    the returned actions say. Timers: "<role>.tick" and "<role>.wake".
    """

    def __init__(self, config: GroupConfig) -> None:
        super().__init__(config)
        self.epoch = 0  # highest granted epoch known
        self.held_epoch: int | None = None
        self.lease_until = 0
        self._reluctant = False
        self._grantor_reluctant = False
        self._started_at = 0
        self._listen_until = 0
        # The latest keepalives to the grantor, by sequence: when sent, and as the holder of which epoch.
        self._sent: dict[int, tuple[int, int | None]] = {}
        self._answered_at: int | None = None
        self._echo = 0  # highest sequence answered
        self._told_holder: int | None = None  # another member's rank, as the grantor says
        self._told_epoch = 0
        self._wanted_at: int | None = None  # there has been no holder since; may lie ahead after a refusal
        self._asked = False  # since the last tick
        self._claims = 0  # sent since boot
        self._claim_epoch = 0
        self._claims_at: dict[int, int] = {}  # when the claims of this epoch were sent, by sequence
        self._hold_off_until = 0
        self._held_since = 0
        self._losses = 0  # leases lost one after the other
        self._announced_at: int | None = None

    @property
    def state(self) -> MemberState:
        if self.held_epoch is not None:
            return MemberState.HOLDER
        asking = self._announced_at is not None or (self._wanted_at is not None and bool(self._claims_at))
        return MemberState.CANDIDATE if asking else MemberState.FOLLOWER

    @property
    def reluctant(self) -> bool:
        """Whether others go first: this GPU, or the one across its link, is an entry GPU."""
        return self._reluctant or self._grantor_reluctant

    def start(self, now: int) -> list[Action]:
        """Power-up, or a later boot: then it listens first, for it may have missed an election, and lets others go
        first for wait_to_restore: a GPU that flaps must not move the role each time."""
        c = self.config
        self._started_at = self._listen_until = now
        if c.boots > 1:
            self._listen_until += c.detection if c.role is Role.BOUNDARY else c.interval
            self._hold_off_until = now + c.wait_to_restore
        elif c.role is Role.BOUNDARY and self.peers:
            self._listen_until += 3 * c.skew  # grantors settle for two
        return self._tick(now) + self._review(now)

    def on_timer(self, name: str, now: int) -> list[Action]:
        """A timer that was set has run out."""
        if name == self._timer("tick"):
            stale = self._end_stale(now)  # before the keepalives say otherwise
            return stale + self._tick(now) + self._review(now)
        return self._review(now) if name == self._timer("wake") else []

    def set_reluctant(self, reluctant: bool, now: int) -> list[Action]:
        """This GPU has become, or is no longer, the entry GPU (R7)."""
        self._reluctant = reluctant
        return self._review(now)

    def on_keepalive(self, message: Keepalive, port: Port, now: int) -> list[Action]:
        """A co-member's, from the ring, or the grantor's answer, by the uplink."""
        if message.role != self.config.role.code:
            return []
        if port == self.config.uplink:
            return self._on_answer(message, now)
        rank, actions = self._hear(message, now)
        if rank is None:
            return []
        peer = self.peers[rank]
        self.epoch = max(self.epoch, peer.epoch)
        if rank == self._told_holder and peer.state != HOLDER and peer.epoch >= self._told_epoch:
            self._told_holder = None  # it knows better than the grantor's last answer
        return actions + self._review(now)

    def on_election(self, message: Election, port: Port, now: int) -> list[Action]:
        """The grantor's grant or refusal."""
        if port != self.config.uplink or message.role != self.config.role.code:
            return []
        if message.operation not in (GRANT, REFUSE) or message.sequence >> 16 != self.config.boots & _SHORT:
            return []  # also an answer to a claim of before the last boot
        self._answered_at = now
        self.epoch = max(self.epoch, message.epoch)
        sent = self._claims_at.get(message.sequence)
        if sent is None or self.held_epoch is not None:
            return self._review(now)
        if message.operation == REFUSE:
            if message.lease:
                self._wanted_at = now + message.lease + self.config.guard
                self._told_holder = None  # there is a time to try again
                self._asked = False
            return self._review(now)
        until = sent + self.config.lease
        # Keepalives lost at power-up can make two wardens grant at a time: who hears of the other holder leaves it be.
        late = message.epoch < self.epoch or now >= until or self._hears_holder(now)
        if message.epoch != self._claim_epoch or late:
            self._forget_claims()  # of no use any more; the grantor will be told to release it
            return self._review(now)
        self.held_epoch = message.epoch
        self.lease_until = until
        self._held_since = now
        self._wanted_at = self._announced_at = None
        self._forget_claims()
        elected = Elected(self.config.role, message.epoch)
        return [elected, *self._tell(now), *self._review(now)]

    def _on_answer(self, message: Keepalive, now: int) -> list[Action]:
        c = self.config
        sent = self._sent.get(message.echo)
        self.epoch = max(self.epoch, message.epoch)
        if message.your_discriminator != c.discriminator or sent is None:
            return self._review(now)
        self._answered_at = now
        actions: list[Action] = []
        if message.echo > self._echo:
            self._echo = message.echo
            self._uplink_discriminator = message.my_discriminator
            self._grantor_reluctant = bool(message.state & RELUCTANT)
            self._told_holder = message.holder if message.holder in self.peers else None
            self._told_epoch = message.epoch
        if message.holder == c.rank:
            at, as_holder = sent
            if message.epoch == self.held_epoch:
                # An answer to what it said as a candidate names it holder too, but has not renewed anything.
                if as_holder == self.held_epoch:
                    self.lease_until = max(self.lease_until, at + c.lease)
            elif message.epoch != self._claim_epoch and self.held_epoch is None:
                actions.append(self._election(RELEASE, message.epoch))  # not known here: let others have it
        return actions + self._review(now)

    def _tick(self, now: int) -> list[Action]:
        c = self.config
        actions = self._tell(now)
        self._sent[self.sequence] = now, self.held_epoch
        while len(self._sent) > c.multiplier + 1:
            del self._sent[next(iter(self._sent))]
        self._asked = False
        to_grantor = self._keepalive(c.uplink, None, self._state(now), self.epoch, 0, NO_HOLDER)
        return [*actions, to_grantor, SetTimer(self._timer("tick"), c.next_tick(self.sequence))]

    def _review(self, now: int) -> list[Action]:
        """Whatever has happened: what follows from it, and when to look again."""
        actions = self._end_stale(now)
        if self._should_hand_over():
            assert self.held_epoch is not None
            actions.append(self._election(RELEASE, self.held_epoch))
            self._hold_off_until = now + self.config.detection
            actions += self._depose(LeaseEnd.HANDOVER, now)
        times = self._peer_deadlines()
        if self.held_epoch is not None:
            times.append(self.lease_until)
        elif self._wanted(now):
            if self._wanted_at is None:
                self._wanted_at = now
            # Time enough for any other to take the lease; if none does, it is needed after all.
            hold_off = min(self._hold_off_until, self._wanted_at + self._patience(now))
            claim_at = max(self._wanted_at, hold_off) + self.config.skew * self._place(now)
            if claim_at > now:
                times.append(claim_at)
            elif self._announced_at is None and self.config.role is Role.BOUNDARY and self.peers:
                self._announced_at = now
                actions += self._tell(now)
                times.append(now + self.config.skew)
            elif self._announced_at is not None and now < self._announced_at + self.config.skew:
                times.append(self._announced_at + self.config.skew)
            elif not self._asked:
                actions.append(self._claim(now))
        else:
            self._wanted_at = self._announced_at = None
            times.append(self._listen_until)
        return actions + self._wake(times, now)

    def _end_stale(self, now: int) -> list[Action]:
        """What time, or a higher epoch, has put an end to."""
        actions = self._check_peers(now)
        if self._told_holder is not None and not self._may_hold(self.peers[self._told_holder], now):
            self._told_holder = None
        if self.held_epoch is not None and self.epoch > self.held_epoch:
            actions += self._depose(LeaseEnd.FENCED, now)
        elif self.held_epoch is not None and now >= self.lease_until:
            actions += self._depose(LeaseEnd.LEASE, now)
        return actions

    def _may_hold(self, peer: Peer, now: int) -> bool:
        """What the grantor said of it can still be true; the next answer may say so again."""
        return peer.liveness.heard_at is None or peer.liveness.fresh(now)

    def _wanted(self, now: int) -> bool:
        """Somebody must be elected, and this member may be."""
        untried = self._answered_at is None and self._settling(now)
        if now < self._listen_until or self._told_holder is not None or not (untried or self._uplink_up(now)):
            return False
        heard = {rank: peer for rank, peer in self.peers.items() if peer.liveness.fresh(now)}
        if self.config.role is Role.BOUNDARY:
            mine = (self.reluctant, self.config.rank)
            ahead = (p for rank, p in heard.items() if (p.reluctant, rank) < mine)
            if any(p.state == CANDIDATE and p.uplink for p in ahead):
                return False  # its turn
        return not self._hears_holder(now) and not (self.reluctant and self._better())

    def _hears_holder(self, now: int) -> bool:
        peers = self.peers.values()
        return any(p.state == HOLDER and p.uplink and p.liveness.fresh(now) for p in peers)

    def _place(self, now: int) -> int:
        """How many are to try before this member. Just booted it has heard of few yet, and counts them all."""
        mine = (self.reluctant, self.config.rank)
        ahead = 0
        for rank, peer in self.peers.items():
            able = self._settling(now) or (peer.liveness.up and peer.uplink)
            ahead += able and (peer.reluctant, rank) < mine
        return ahead

    def _patience(self, now: int) -> int:
        """Cycles for which the lease is left to others. If this member has failed to hold it, also to those that it
        doesn't hear: cut off from it, they would be refused as long as it asks again at the end of every lease."""
        if any(peer.liveness.fresh(now) and peer.uplink for peer in self.peers.values()):
            return self.config.detection
        return self.config.turn if self._losses and self.peers else 0

    def _better(self) -> bool:
        return any(peer.liveness.up and peer.uplink and not peer.reluctant for peer in self.peers.values())

    def _should_hand_over(self) -> bool:
        return self.held_epoch is not None and self.reluctant and self._better()

    def _settling(self, now: int) -> bool:
        return now - self._started_at <= self.config.detection

    def _uplink_up(self, now: int) -> bool:
        return self._answered_at is not None and now - self._answered_at <= self.config.detection

    def _claim(self, now: int) -> Tell:
        epoch = self.config.next_epoch(self.epoch)
        if epoch != self._claim_epoch:
            self._forget_claims()
        self._claim_epoch = epoch
        self._asked = True
        self._claims = self._claims + 1 & _SHORT
        tell = self._election(CLAIM, epoch)
        self._claims_at[tell.message.sequence] = now
        while len(self._claims_at) > self.config.multiplier + 1:
            del self._claims_at[next(iter(self._claims_at))]
        return tell

    def _forget_claims(self) -> None:
        self._claim_epoch = 0
        self._claims_at = {}

    def _depose(self, why: LeaseEnd, now: int) -> list[Action]:
        assert self.held_epoch is not None
        deposed = Deposed(self.config.role, self.held_epoch, why)
        self.held_epoch = None
        if why is LeaseEnd.LEASE:
            wait = max(self.config.wait_to_restore, self.config.turn)
            self._losses = min(self._losses + 1, _MOST_LOSSES) if now - self._held_since < 8 * wait else 1
            self._hold_off_until = now + (wait << self._losses - 1)
        return [deposed, *self._tell(now)]

    def _tell(self, now: int) -> list[Action]:
        return self._tell_all(self._state(now), self.epoch)

    def _election(self, operation: int, epoch: int) -> Tell:
        """A keepalive to the grantor. The number of the boot in `sequence` keeps answers of an earlier life apart."""
        c = self.config
        return Tell(
            c.uplink,
            Election(
                card=c.uplink_card,
                flags=PORT_FLAGS[c.uplink],
                ttl=c.ttl,
                destination=c.uplink_home,
                epoch=epoch,
                sequence=(c.boots & _SHORT) << 16 | self._claims,
                candidate=c.me,
                operation=operation,
                role=c.role.code,
                lease=c.lease,
                members=self._heard_bits(),
            ),
        )

    def _state(self, now: int) -> int:
        state = self.state.code
        return state | (UPLINK if self._uplink_up(now) else 0) | (RELUCTANT if self.reluctant else 0)
