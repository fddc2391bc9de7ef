"""What members and grantors of an election have in common: configuration, epochs, and keepalives of a group.

One mechanism elects the GPU that speaks to the CPU (role "entry", R10) and the one that speaks to another card
(role "boundary", R9). Members may only ask; a grantor at the far end of their own link gives a lease, each
under an epoch that was never used before. Keepalives over that link renew the lease.
"""

import zlib
from dataclasses import dataclass, replace

from ringhil.firmware.actions import Action
from ringhil.firmware.commands import SetTimer, Tell
from ringhil.firmware.liveness import Liveness, Went
from ringhil.firmware.observations import PeerDown, PeerUp
from ringhil.protocol import wire
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import MemberFlag, MemberState, Operation, Port, Role

STATE_BITS = 0x0F  # of `state`: MemberState; the others are MemberFlag
FOLLOWER, CANDIDATE, HOLDER = (state.code for state in MemberState)
UPLINK, RELUCTANT, GRANTING = MemberFlag
NO_HOLDER = wire.NO_HOLDER
CLAIM, GRANT, REFUSE, RELEASE = (operation.code for operation in Operation)
PORT_FLAGS = {Port.CW: 0, Port.CCW: wire.Flag.CCW, Port.CPU: wire.Flag.TO_HOST, Port.BOUNDARY: 0}
_RING_PORTS = (Port.CW, Port.CCW)
_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class GroupConfig:
    """What one member (or warden) is told at boot. Times in cycles.

    `members` are GPU numbers, the one to be elected first foremost; `rank` is the place of `me` among them.
    `slack` allows for latencies: it must exceed two round trips over the uplink (a new holder's first keepalive as
    such may leave only one interval after its grant), and the most by which two keepalives' times on the ring
    differ. `skew` should exceed the time that news takes to go round.
    """

    role: Role
    card: int
    me: int
    rank: int
    members: tuple[int, ...]
    ring_size: int
    uplink: Port  # CPU or BOUNDARY
    uplink_card: int
    uplink_home: int
    interval: int
    multiplier: int
    jitter: int
    slack: int
    lease: int
    skew: int
    guard: int
    wait_to_restore: int
    boots: int
    seed: int

    def __post_init__(self) -> None:
        if self.uplink not in (Port.CPU, Port.BOUNDARY):
            raise ValueError(f"no such uplink: {self.uplink!s}")
        if not 0 <= self.rank < len(self.members) or self.members[self.rank] != self.me:
            raise ValueError(f"GPU {self.me} is not the member of rank {self.rank} in {self.members}")
        if len(set(self.members)) != len(self.members) or len(self.members) > 64:
            raise ValueError(f"members must be different, and 64 at most: {self.members}")
        if not 0 <= self.jitter <= self.interval // 4:
            raise ValueError(f"jitter must be 0 to a quarter of the interval: {self.jitter}")
        if self.multiplier < 1 or min(self.slack, self.skew, self.guard, self.wait_to_restore) < 0:
            raise ValueError("multiplier must be at least 1, and no time negative")
        # As many losses as `multiplier` must always be noticed, even at the fastest that keepalives come ...
        if (self.multiplier + 1) * (self.interval - self.jitter) <= self.detection:
            raise ValueError("slack or jitter is too long: `multiplier` lost keepalives in a row could pass unnoticed")
        # ... and one less must not end a lease, at the slowest: the answer to the last of them renews it in time.
        if self.lease < self.detection:
            raise ValueError(f"lease must last one detection time, {self.detection} cycles, at least: {self.lease}")

    @property
    def detection(self) -> int:
        """Cycles of silence after which a peer is down."""
        return self.multiplier * self.interval + self.slack

    @property
    def turn(self) -> int:
        """Cycles from a lost lease until every other member, refused before, can have asked again, one by one."""
        return 2 * self.guard + (len(self.members) + 1) * self.skew

    @property
    def discriminator(self) -> int:
        """Who is speaking, and since which boot."""
        return self.me << 16 | self.boots & 0xFFFF

    @property
    def ttl(self) -> int:
        """Hops that a message may make: once round the ring, and one into it."""
        return self.ring_size + 1

    def next_tick(self, sequence: int) -> int:
        """Cycles from one keepalive to the next: jitter keeps the members from falling into step."""
        if not self.jitter:
            return self.interval
        mixed = zlib.crc32(b"%d %d %d" % (self.seed, self.me, sequence))
        return self.interval - mixed % (self.jitter + 1)

    def next_epoch(self, highest: int) -> int:
        """The lowest epoch above `highest` that only this member may claim: no two ever claim the same. Where 32 bits
        have none (somebody has told of one that nobody can have come to), it is one that every grantor refuses."""
        return (highest + 1 + (self.rank - highest) % len(self.members)) % (1 << 32)


@dataclass
class Peer:
    """What is known of another member of the group, from its newest keepalive."""

    liveness: Liveness
    discriminator: int = 0
    sequence: int = -1
    state: int = FOLLOWER
    uplink: bool = False
    reluctant: bool = False
    granting: bool = False
    epoch: int = 0

    def take(self, message: Keepalive) -> bool:
        """Keep what the message says, unless it is old news: a copy, or overtaken on the way."""
        if self.sequence >= 0:
            behind = (self.discriminator - message.my_discriminator) & 0xFFFF
            if 0 < behind < 0x8000 or (behind == 0 and message.sequence <= self.sequence):
                return False
        self.discriminator = message.my_discriminator
        self.sequence = message.sequence
        self.state = message.state & STATE_BITS
        self.uplink = bool(message.state & UPLINK)
        self.reluctant = bool(message.state & RELUCTANT)
        self.granting = bool(message.state & GRANTING)
        self.epoch = message.epoch
        return True


class Group:
    """Keepalives among the members of a group, and who of them is heard. Base of `Member` and `Warden`."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.sequence = 0  # of the last round of keepalives
        self.peers = {
            rank: Peer(Liveness(config.detection, config.wait_to_restore))
            for rank in range(len(config.members))
            if rank != config.rank
        }
        self._uplink_discriminator = 0

    def draw_jitter(self, seed: int) -> None:
        """From the next round on intervals are shorter by the jitter of another seed."""
        self.config = replace(self.config, seed=seed)

    def _timer(self, kind: str) -> str:
        return f"{self.config.role}.{kind}"

    def _hear(self, message: Keepalive, now: int) -> tuple[int | None, list[Action]]:
        """The rank of the co-member that sent this, None when it is to be ignored."""
        gpu = message.my_discriminator >> 16
        c = self.config
        if gpu == c.me or gpu not in c.members or message.role != c.role.code:
            return None, []
        rank = c.members.index(gpu)
        peer = self.peers[rank]
        if not peer.take(message):
            return None, []
        return rank, self._went(gpu, peer.liveness.heard(now))

    def _went(self, gpu: int, what: Went | None) -> list[Action]:
        if what is None:
            return []
        return [PeerUp(self.config.role, gpu) if what is Went.UP else PeerDown(self.config.role, gpu)]

    def _check_peers(self, now: int) -> list[Action]:
        actions: list[Action] = []
        for rank, peer in self.peers.items():
            actions += self._went(self.config.members[rank], peer.liveness.check(now))
        return actions

    def _peer_deadlines(self) -> list[int]:
        return [at for peer in self.peers.values() if (at := peer.liveness.deadline) is not None]

    def _wake(self, times: list[int], now: int) -> list[Action]:
        """One timer for whatever comes first of `times`; those that are over have had their effect."""
        ahead = [at for at in times if at > now]
        return [SetTimer(self._timer("wake"), min(ahead) - now)] if ahead else []

    def _heard_bits(self) -> int:
        bits = 1 << self.config.rank
        for rank, peer in self.peers.items():
            bits |= peer.liveness.up << rank
        return bits

    def _keepalive(self, port: Port, rank: int | None, state: int, epoch: int, echo: int, holder: int) -> Tell:
        """A message to the co-member of this rank; to the other end of the uplink when it is None."""
        c = self.config
        return Tell(
            port,
            Keepalive(
                card=c.uplink_card if rank is None else c.card,
                flags=PORT_FLAGS[port],
                ttl=c.ttl,
                destination=c.uplink_home if rank is None else c.members[rank],
                epoch=epoch,
                sequence=self.sequence,
                my_discriminator=c.discriminator,
                your_discriminator=self._uplink_discriminator if rank is None else self.peers[rank].discriminator,
                role=c.role.code,
                priority=c.rank,
                multiplier=c.multiplier,
                state=state,
                interval=c.interval,
                members=self._heard_bits(),
                echo=echo,
                holder=holder,
            ),
        )

    def _tell_all(self, state: int, epoch: int, holder: int = NO_HOLDER) -> list[Action]:
        """A new round of keepalives, to every co-member by both ways: one cut of the ring does not silence it."""
        self.sequence = self.sequence + 1 & _WORD
        return [
            self._keepalive(port, rank, state, epoch, 0, holder)
            for rank in range(len(self.config.members))
            if rank != self.config.rank
            for port in _RING_PORTS
        ]
