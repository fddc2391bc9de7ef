"""Keepalives and claims as the judge reads them off the wire, without the codec that is on trial; and the seats of
those who send them: which GPU takes part in which election, as what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ringhil.emulator.judge.findings import Name
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.server.times import ElectionTimes
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.frames import Election, Keepalive, Report, Statistics
from ringhil.protocol.wire import MemberState, Operation, Port, Role

_STATE = 0x0F
_HOLDER = MemberState.HOLDER.code
_ROLES = {role.code: role for role in Role}
_OPERATIONS = {operation.code: operation for operation in Operation}
_LEAST = {kind.KIND: kind.HEAD.size for kind in (Keepalive, Election, Statistics, Report)}  # bytes


class Alive(NamedTuple):
    """A keepalive. `holding`: its sender holds the role; `rank`: of who holds it, by a grantor's answer; `sender`: its
    discriminator."""

    role: Role
    epoch: int
    sequence: int
    echo: int
    holding: bool
    rank: int
    sender: int


class Ask(NamedTuple):
    """A claim or release, or the answer to one. `lease`: cycles."""

    role: Role
    epoch: int
    sequence: int
    operation: Operation
    lease: int


def cut_short(frame: bytes) -> bool:
    """Whether it has fewer bytes than its kind has fields. Firmware may write what it likes."""
    return len(frame) < _LEAST.get(frame[0], 0)


def read(frame: bytes) -> Alive | Ask | None:
    """What a frame of an election says; None: it is none."""
    kind, length = frame[0], len(frame)
    if kind == Keepalive.KIND and length >= Keepalive.HEAD.size:
        f = Keepalive.HEAD.unpack_from(frame)
        role = _ROLES.get(f[9])
        return None if role is None else Alive(role, f[5], f[6], f[15], f[12] & _STATE == _HOLDER, f[16], f[7])
    if kind == Election.KIND and length >= Election.HEAD.size:
        e = Election.HEAD.unpack_from(frame)
        role, operation = _ROLES.get(e[9]), _OPERATIONS.get(e[8])
        return None if role is None or operation is None else Ask(role, e[5], e[6], operation, e[10])
    return None


@dataclass(frozen=True)
class Seat:
    """`number`: of the card, or of the link between cards. `grants`: it is a warden, not a member. `members`: GPUs of
    the group; `far`: the GPU at the far end of a link between cards, None for the entry role. Times in cycles."""

    name: str
    role: Role
    number: int
    gpu: int
    rank: int
    members: tuple[int, ...]
    grants: bool
    far: int | None
    times: ElectionTimes

    @property
    def uplink(self) -> Port:
        """The mailbox port of its link to the grantor, or of a warden's to its leader."""
        return Port.CPU if self.role is Role.ENTRY else Port.BOUNDARY

    @property
    def turn(self) -> int:
        """The least that a member waits whose lease ran out: 2 guards, and a skew for each member and one more; where
        others are heard, one detection time."""
        return min(self.times.lease, self.all_turns)

    @property
    def all_turns(self) -> int:
        """2 guards, and a skew for each member and one more."""
        return 2 * self.times.guard + (len(self.members) + 1) * self.times.skew


def seats_of(wiring: Wiring, bounds: Sequence[Bounds]) -> dict[tuple[int, Role], Seat]:
    """By cell and role."""
    found = {}
    for number, card in enumerate(wiring.cards):
        times = bounds[number].times.election
        for rank, gpu in enumerate(card.host_links):
            cell = wiring.cell(number, gpu)
            name = Name(f"{card.name}.{gpu}")
            seat = Seat(name, Role.ENTRY, number, gpu, rank, card.host_links, False, None, times)
            found[cell, Role.ENTRY] = seat
    for cell, crossing in wiring.crossings.items():
        card_number, gpu = wiring.place(cell)
        # Both ends use the times of the card with the longer interval.
        ends = (bounds[card_number].times.election, bounds[crossing.peer_card].times.election)
        times = max(ends, key=lambda t: t.interval)
        name = Name(f"{wiring.cards[card_number].name}.{gpu}")
        found[cell, Role.BOUNDARY] = Seat(
            name,
            Role.BOUNDARY,
            crossing.group,
            gpu,
            crossing.rank,
            crossing.members,
            not crossing.leads,
            crossing.peer_gpu,
            times,
        )
    return found
