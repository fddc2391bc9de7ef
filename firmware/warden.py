"""Warden: grants the lease of a boundary link, from its follower side.

Each warden hears one leader only, over its own link, and is the grantor for that one. Which of the links is used
is settled among the wardens by keepalives round their ring: while one of them grants, the others refuse; and of
two that granted in the same moment, only the higher epoch stands as soon as they hear of each other.
"""

from dataclasses import replace

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import SetTimer, Tell
from ringhil.firmware.election import (
    FOLLOWER,
    GRANTING,
    NO_HOLDER,
    RELUCTANT,
    UPLINK,
    Group,
    GroupConfig,
)
from ringhil.firmware.grantor import Grantor
from ringhil.firmware.liveness import Liveness
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.reasons import LeaseEnd
from ringhil.protocol.wire import MemberState, Port


class Warden(Group):
    """The part of a GPU's firmware that grants the lease of a link between cards.

    The state machine, with the interface of `Member`. `remembered` is what its last `Remember` said.

    `members` are the wardens, wired one to one to the leaders: a warden's rank is that of its leader.
    """

    def __init__(self, config: GroupConfig, remembered: int) -> None:
        super().__init__(config)
        self.grantor = Grantor(
            config.role, config.lease, config.guard, highest=remembered, discriminator=config.discriminator
        )
        self.leader = Liveness(config.detection, config.wait_to_restore)
        self._reluctant = False
        self._granting: dict[int, tuple[int, int]] = {}  # by rank: discriminator and end of the lease last told of

    @property
    def state(self) -> MemberState:
        """Holder while its own leader has the lease, otherwise follower."""
        return MemberState.FOLLOWER if self.grantor.holder is None else MemberState.HOLDER

    @property
    def epoch(self) -> int:
        """Highest granted epoch known."""
        return self.grantor.highest

    @property
    def held_epoch(self) -> int | None:
        """Epoch of the lease that it has granted and that runs."""
        return None if self.grantor.holder is None else self.grantor.epoch

    def start(self, now: int) -> list[Action]:
        """Power-up, or a later boot. Leases that it gave, or heard of, before that are forgotten: it sits them out."""
        c = self.config
        if self.peers:
            self.grantor.quiet_until = now + (c.lease + c.guard if c.boots > 1 else 2 * c.skew)
        return self._tick() + self._review(now)

    def on_timer(self, name: str, now: int) -> list[Action]:
        """A timer that was set has run out."""
        if name == self._timer("tick"):
            return self._spread(self.grantor.on_expire(now)) + self._tick() + self._review(now)
        return self._review(now) if name == self._timer("wake") else []

    def set_reluctant(self, reluctant: bool, now: int) -> list[Action]:
        """This GPU has become, or is no longer, its card's entry GPU: its answers tell the leader (R7)."""
        self._reluctant = reluctant
        return self._review(now)

    def on_keepalive(self, message: Keepalive, port: Port, now: int) -> list[Action]:
        """A keepalive of the leader, over the boundary link, or of another warden."""
        c = self.config
        if port != c.uplink:
            return self._on_gossip(message, now)
        if message.role != c.role.code or message.my_discriminator >> 16 != c.uplink_home:
            return []
        self._uplink_discriminator = message.my_discriminator
        actions = self._went(c.uplink_home, self.leader.heard(now))
        answer, ended = self.grantor.on_keepalive(c.rank, message, now)
        actions += self._spread(ended)
        state = (answer.state & GRANTING) | self._state(now)
        told = self._keepalive(c.uplink, None, state, answer.epoch, answer.echo, answer.holder)
        return [*actions, told, *self._review(now)]

    def on_election(self, message: Election, port: Port, now: int) -> list[Action]:
        """The leader claims or releases."""
        c = self.config
        if port != c.uplink or message.role != c.role.code or message.candidate != c.uplink_home:
            return []
        answer, actions = self.grantor.on_election(c.rank, message, now)
        actions = self._spread(actions)
        if answer is not None:
            actions.append(Tell(c.uplink, replace(answer, card=c.uplink_card, destination=c.uplink_home, ttl=c.ttl)))
        return actions + self._review(now)

    def _on_gossip(self, message: Keepalive, now: int) -> list[Action]:
        rank, actions = self._hear(message, now)
        if rank is None:
            return []
        actions += self.grantor.on_expire(now)
        actions += self.grantor.heard_elsewhere(message.epoch, self._runs_until(rank, now), rank)
        return self._spread(actions) + self._review(now)

    def _runs_until(self, rank: int, now: int) -> int:
        """The cycle until which the lease of another warden may run, by what it says now."""
        peer = self.peers[rank]
        if peer.granting:
            self._granting[rank] = (peer.discriminator, now + self.config.detection + self.config.interval)
        boot, until = self._granting.get(rank, (peer.discriminator, 0))
        # One that has booted anew has forgotten its lease; its leader has not. That leader may have renewed it until
        # an interval after the warden last spoke of it.
        return until if peer.granting or boot != peer.discriminator else 0

    def _tick(self) -> list[Action]:
        gossip = self._gossip()
        return [*gossip, SetTimer(self._timer("tick"), self.config.next_tick(self.sequence))]

    def _gossip(self) -> list[Action]:
        """It tells of its own lease only, never hearsay: a rumour that two wardens tell each other would never end."""
        own = self.grantor.holder is not None
        state = FOLLOWER | (GRANTING if own else 0) | (UPLINK if self.leader.up else 0)
        return self._tell_all(state, self.grantor.highest, self.config.rank if own else NO_HOLDER)

    def _spread(self, actions: list[Action]) -> list[Action]:
        """A lease that begins or ends is told to the others at once; one that is revoked, to the leader too."""
        news = any(isinstance(action, (Granted, Lapsed)) for action in actions)
        told = actions + (self._gossip() if news else [])
        if any(isinstance(action, Lapsed) and action.why is LeaseEnd.FENCED for action in actions):
            # It answers nothing: of it the leader believes only the higher epoch, which is enough to stop.
            told.append(self._keepalive(self.config.uplink, None, FOLLOWER, self.grantor.highest, 0, NO_HOLDER))
        return told

    def _state(self, now: int) -> int:
        return FOLLOWER | (UPLINK if self.leader.fresh(now) else 0) | (RELUCTANT if self._reluctant else 0)

    def _review(self, now: int) -> list[Action]:
        c = self.config
        actions = self._check_peers(now) + self._went(c.uplink_home, self.leader.check(now))
        actions += self._spread(self.grantor.on_expire(now))
        times = self._peer_deadlines()
        times += [at for at in (self.grantor.next_expiry, self.leader.deadline) if at is not None]
        return actions + self._wake(times, now)
