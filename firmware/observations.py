"""What firmware wants known: counts, roles, whom it hears. Nothing has to be done for them."""

from typing import Annotated

from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.values import value
from ringhil.protocol.wire import CensusVerdict, Role

_Role = Annotated[Role, "entry or boundary"]
_Epoch = Annotated[int, "of the lease; each lease of a role has a higher one"]
_Rank = Annotated[int, "of the member in its group, from 0"]
_Gpu = Annotated[int, "number of the other GPU in its card"]


@value(frozen=True, slots=True)
class Counted:
    """A census has been accepted (R4)."""

    count: Annotated[int, "GPUs that were counted"]
    members: Annotated[tuple[int, ...] | None, "GPUs in ring order; None: the message carried no records"]
    verdict: Annotated[CensusVerdict, "ring: both directions came home; single: one; arms: both, turned round at a cut"]
    break_after: Annotated[int | None, "GPU after which the cut lies; None: there is none"]
    break_before: Annotated[int | None, "GPU before which the cut lies; None: there is none"]
    sequence: Annotated[int, "number of the round"]
    sent_at: Annotated[int, "cycle in which the round began"]
    degraded: Annotated[tuple[int, ...], "members that compute slowly, from the records"] = ()
    boundaries: Annotated[tuple[tuple[int, int], ...], "boundary GPUs, each with the card that it speaks to (R8)"] = ()
    weight: Annotated[int, "of all members, in quarters; a degraded one counts a quarter; 0: never any records"] = 0


@value(frozen=True, slots=True)
class Rejected:
    """A statistics frame, or a round, was rejected."""

    reason: Annotated[Rejection, "why; it says whether the round is over"]
    sequence: Annotated[int, "number of the newest round, also of a message of another one"]


@value(frozen=True, slots=True)
class Suspected:
    """GPUs may have spoiled the messages that were rejected."""

    gpus: Annotated[tuple[int, ...], "numbers of the GPUs; one only when it is certain"]


@value(frozen=True, slots=True)
class Elected:
    """This member holds the lease of its group from now on, under this epoch (R9, R10)."""

    role: _Role
    epoch: _Epoch


@value(frozen=True, slots=True)
class Deposed:
    """This member holds the lease no longer: it ran out, was fenced off, or handed over."""

    role: _Role
    epoch: _Epoch
    why: Annotated[LeaseEnd, "why it ended"]


@value(frozen=True, slots=True)
class Granted:
    """The grantor, a warden or the CPU, has given the lease to a member."""

    role: _Role
    epoch: _Epoch
    rank: _Rank
    until: Annotated[int, "cycle in which it ends unless it is renewed"]


@value(frozen=True, slots=True)
class Lapsed:
    """A granted lease has ended for the grantor: it was not renewed, was released, or was fenced off."""

    role: _Role
    epoch: _Epoch
    rank: _Rank
    why: Annotated[LeaseEnd, "why it ended"]


@value(frozen=True, slots=True)
class PeerDown:
    """A GPU of the group has been silent for a whole detection time."""

    role: _Role
    gpu: _Gpu


@value(frozen=True, slots=True)
class PeerUp:
    """A GPU of the group is heard: for the first time, or again, at the first keepalive after long enough."""

    role: _Role
    gpu: _Gpu


Observation = Counted | Rejected | Suspected | Elected | Deposed | Granted | Lapsed | PeerDown | PeerUp
