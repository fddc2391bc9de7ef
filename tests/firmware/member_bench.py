"""A member of an election and its bench: the grantor and the other members are played by hand."""

from dataclasses import replace
from typing import Any

from ringhil.firmware.actions import Action
from ringhil.firmware.election import CLAIM, GRANT, NO_HOLDER, GroupConfig
from ringhil.firmware.member import Member
from ringhil.firmware.observations import Elected
from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.wire import Port, Role

from .timed import Timed, told

INTERVAL, SLACK, SKEW, GUARD = 100, 40, 20, 10
DETECTION = LEASE = 3 * INTERVAL + SLACK
CONFIG = GroupConfig(
    role=Role.ENTRY,
    card=2,
    me=4,
    rank=0,
    members=(4, 7, 9),
    ring_size=10,
    uplink=Port.CPU,
    uplink_card=2,
    uplink_home=4,
    interval=INTERVAL,
    multiplier=3,
    jitter=0,
    slack=SLACK,
    lease=LEASE,
    skew=SKEW,
    guard=GUARD,
    wait_to_restore=500,
    boots=1,
    seed=0,
)


class Bench(Timed):
    """A member and the time."""

    def __init__(self, **changes: Any) -> None:
        if "rank" in changes:
            changes["me"] = CONFIG.members[changes["rank"]]
        self.config = replace(CONFIG, **changes)
        self.member = Member(self.config)
        super().__init__(self.member)

    def claims(self) -> list[Election]:
        return [m for m in told(self.actions, Election) if m.operation == CLAIM]

    def reply(self, operation: int, epoch: int, lease: int = 0) -> list[Action]:
        """The grantor's answer to the last claim."""
        answer = replace(self.claims()[-1], operation=operation, epoch=epoch, lease=lease, flags=0)
        return self.step(self.member.on_election(answer, self.config.uplink, self.now))

    def elect(self) -> int:
        epoch = self.claims()[-1].epoch
        assert Elected(self.config.role, epoch) in self.reply(GRANT, epoch, LEASE)
        return epoch

    def answer(self, holder: int = NO_HOLDER, epoch: int = 0, state: int = 0, **changes: Any) -> list[Action]:
        """The grantor's answer to the last keepalive."""
        asked = told(self.actions, Keepalive, self.config.uplink)[-1]
        values = {"epoch": epoch, "echo": asked.sequence, "holder": holder, "state": state, "flags": 0}
        values |= {"my_discriminator": 1, "your_discriminator": asked.my_discriminator}
        return self.step(self.member.on_keepalive(replace(asked, **values | changes), self.config.uplink, self.now))

    def peer(self, rank: int, state: int, epoch: int = 0, sequence: int | None = None, boots: int = 1) -> list[Action]:
        message = Keepalive(
            card=2,
            flags=0,
            ttl=11,
            destination=self.config.me,
            epoch=epoch,
            sequence=self.now if sequence is None else sequence,
            my_discriminator=CONFIG.members[rank] << 16 | boots,
            your_discriminator=0,
            role=self.config.role.code,
            priority=rank,
            multiplier=3,
            state=state,
            interval=INTERVAL,
            members=0,
            echo=0,
            holder=NO_HOLDER,
        )
        return self.step(self.member.on_keepalive(message, "cw", self.now))
