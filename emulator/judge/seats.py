"""Every GPU's place in a group that elects, by what the file says: role, rank, times."""

from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.judge.bounds import Bounds
from ringhil.emulator.judge.findings import Name
from ringhil.emulator.server.times import ElectionTimes
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.wire import Port, Role


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
