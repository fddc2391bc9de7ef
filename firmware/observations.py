"""What firmware wants known: counts, roles, whom it hears. Nothing has to be done for them."""

from dataclasses import dataclass

from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.wire import CensusVerdict, Role


@dataclass(frozen=True, slots=True)
class Counted:
    """A census has been accepted (R4).

    `members` are GPU numbers in ring order, None where the message carried no records; `verdict` is ring
    (both directions came home), single (one did) or arms (both were turned round at a cut, which lies between
    `break_after` and `break_before`). `sent_at` is the cycle in which the round began.

    From the records: `degraded` members compute slowly; `boundaries` are pairs of a boundary GPU and the card
    that it speaks to (R8); `weight` is that of all members, in quarters, a degraded one counting a quarter.
    """

    count: int
    members: tuple[int, ...] | None
    verdict: CensusVerdict
    break_after: int | None
    break_before: int | None
    sequence: int
    sent_at: int
    degraded: tuple[int, ...] = ()
    boundaries: tuple[tuple[int, int], ...] = ()
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Rejected:
    """A statistics frame, or a round, was rejected, and why."""

    reason: Rejection
    sequence: int


@dataclass(frozen=True, slots=True)
class Suspected:
    """These GPUs may have spoiled the rejected messages; one only when it is certain."""

    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Elected:
    """This member holds the lease of its group from now on, under this epoch (R9, R10)."""

    role: Role
    epoch: int


@dataclass(frozen=True, slots=True)
class Deposed:
    """This member holds the lease no longer: it ran out, was fenced off, or handed over."""

    role: Role
    epoch: int
    why: LeaseEnd


@dataclass(frozen=True, slots=True)
class Granted:
    """The grantor has given the lease to the member of this rank, `until` this cycle unless it is renewed."""

    role: Role
    epoch: int
    rank: int
    until: int


@dataclass(frozen=True, slots=True)
class Lapsed:
    """A granted lease has ended for the grantor: it was not renewed, was released, or was fenced off."""

    role: Role
    epoch: int
    rank: int
    why: LeaseEnd


@dataclass(frozen=True, slots=True)
class PeerDown:
    """A GPU has been silent for a whole detection time."""

    role: Role
    gpu: int


@dataclass(frozen=True, slots=True)
class PeerUp:
    """This GPU is heard: for the first time, or again for long enough."""

    role: Role
    gpu: int


Observation = Counted | Rejected | Suspected | Elected | Deposed | Granted | Lapsed | PeerDown | PeerUp
