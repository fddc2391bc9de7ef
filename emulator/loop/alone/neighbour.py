"""A GPU of the same group, as it is heard round the ring."""

from dataclasses import replace

from ringhil.emulator.loop.alone.stage import FrameOut, Stage
from ringhil.firmware.election import GroupConfig
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import NO_HOLDER, Flag, MemberFlag, MemberState, Port

RING = (Port.CW, Port.CCW)


class Neighbour:
    """A co-member, or another warden, of this rank. From `speak` on it says each interval, by both ways, what its
    attributes say by then; `say` does so at once. `sequence`: of its last round."""

    def __init__(self, stage: Stage, group: GroupConfig | None, rank: int) -> None:
        assert group is not None
        self._stage, self._group, self._rank = stage, group, rank
        self.gpu = group.members[rank]
        self.state, self.uplink, self.reluctant, self.granting = MemberState.FOLLOWER, True, False, False
        self.epoch, self.boots, self.silent = 0, 1, False
        self.destination = group.me
        self.sequence = 0
        self.told = list[FrameOut]()
        stage.on_sent.append(self._sent)

    def speak(self) -> None:
        """From now on."""
        if not self.silent:
            self.say()
        self._stage.after(self._group.interval, self.speak)

    def say(self) -> None:
        """A round of keepalives."""
        self.sequence += 1
        self.arrive()

    def arrive(self, *, late: int = 0, boots: int = 0, bad: bool = False) -> None:
        """What it says now arrives: as a round that is so many older than the last, or of another boot."""
        for port in RING:
            message = self.message(port)
            who = self.gpu << 16 | (boots or self.boots)
            self._stage.hear(replace(message, sequence=message.sequence - late, my_discriminator=who), port, bad=bad)

    def boot(self) -> None:
        """It has booted anew, and counts from the beginning."""
        self.boots, self.sequence = self.boots + 1, 0

    def message(self, port: Port) -> Keepalive:
        """As it travels by this way."""
        group, boot = self._group, self._stage.boot
        state = self.state.code | (MemberFlag.UPLINK if self.uplink else 0)
        state |= (MemberFlag.RELUCTANT if self.reluctant else 0) | (MemberFlag.GRANTING if self.granting else 0)
        return Keepalive(
            card=boot.card,
            flags=Flag.CCW if port is Port.CCW else 0,
            ttl=boot.gpus + 1,
            destination=self.destination,
            epoch=self.epoch,
            sequence=self.sequence,
            my_discriminator=self.gpu << 16 | self.boots,
            your_discriminator=0,
            role=group.role.code,
            priority=self._rank,
            multiplier=group.multiplier,
            state=state,
            interval=group.interval,
            members=1 << self._rank,
            echo=0,
            holder=self._rank if self.granting else NO_HOLDER,
        )

    def heard(self, since: int = 0) -> list[tuple[int, Port, Keepalive]]:
        """The keepalives for it that have left since then: when, and by which way."""
        return [
            (sent.at, sent.port, sent.message)
            for sent in self.told
            if sent.at >= since and isinstance(sent.message, Keepalive)
        ]

    def _sent(self, sent: FrameOut) -> None:
        message = sent.message
        if sent.port not in RING or not isinstance(message, Keepalive):
            return
        if (message.destination, message.role) == (self.gpu, self._group.role.code):
            self.told.append(sent)
