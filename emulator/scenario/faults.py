"""The faults that a timeline can set and clear: one row each, with all that others need to know of them.

Whoever needs a set of faults (injector, bounds, watch, explorer) asks `having` for those with a trait. Only the oracle
has sets of its own: it judges by another reading of the same faults.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from functools import cache
from typing import Literal

from ringhil.protocol.registers import MAX_LINK_DELAY

ParameterName = Literal["period", "rate", "delay"]


@dataclass(frozen=True)
class Parameter:
    """A number that comes with a fault, `low` .. `high`."""

    default: int
    low: int
    high: int
    doc: str


PARAMETERS: dict[ParameterName, Parameter] = {
    "period": Parameter(300, 2, 1_000_000, "cycles: time from one failure to the next"),
    "rate": Parameter(256, 1, 65535, "flits that arrive damaged, of 65,536"),
    "delay": Parameter(16, 1, MAX_LINK_DELAY, "cycles that every flit takes longer"),
}


class EventAction(StrEnum):
    """What an event of the timeline does."""

    FAULT = "fault"  # it begins a fault
    CLEAR = "clear"  # it ends one


class PartKind(StrEnum):
    """What a fault strikes, as a file's key says it."""

    GPU = "gpu"
    LINK = "link"


class FaultTarget(StrEnum):
    """What a fault strikes, in the words of messages."""

    GPU = "GPU"
    HOST_LINKED = "GPU with a host link"
    KEEPING_ALIVE = "GPU with keepalives"
    RING_LINK = "ring link"
    BOUNDARY_LINK = "boundary link"
    LINK = "link"


class Trait(Enum):
    """What faults have in common."""

    STOPS = auto()  # the firmware of the GPU doesn't survive it
    LIES = auto()  # the GPU stays counted, and spoils messages on their way: they are rejected, it is suspected
    BREAKS = auto()  # a link of a ring carries nothing, one way at least: the ring is open
    MUTED = auto()  # the GPU says too much; it is out when the guardian has muted it


_STOPS, _LIES, _BREAKS, _MUTED = ((trait,) for trait in Trait)


@dataclass(frozen=True)
class Fault:
    """`hits`: what kind of GPU or link. `counted`: may be limited by `count`, and then ends by itself."""

    hits: FaultTarget
    effect: str
    traits: tuple[Trait, ...] = ()
    parameter: ParameterName | None = None
    counted: bool = False

    @property
    def target(self) -> PartKind:
        """The key of an event that says what is hit."""
        return PartKind.LINK if self.hits in _LINKS else PartKind.GPU

    @property
    def takes(self) -> tuple[str, ...]:
        """The keys of an event that may stand beside this fault."""
        return (*(("count",) if self.counted else ()), *((self.parameter,) if self.parameter else ()))


_LINKS = (FaultTarget.RING_LINK, FaultTarget.BOUNDARY_LINK, FaultTarget.LINK)

FAULTS: dict[str, Fault] = {
    "dead": Fault(FaultTarget.GPU, "the GPU reports itself not working", _STOPS),
    "hang": Fault(FaultTarget.GPU, "the GPU takes frames in, lets no frame out, and doesn't say so", _STOPS),
    "corrupt": Fault(
        FaultTarget.GPU, "the GPU damages control frames on their way through, and its own results", _LIES
    ),
    "skip_count": Fault(FaultTarget.GPU, "the GPU passes statistics frames on uncounted", _LIES),
    "double_count": Fault(FaultTarget.GPU, "the GPU counts itself in twice", _LIES),
    "duplicate_id": Fault(FaultTarget.GPU, "the GPU uses its predecessor's number", _LIES),
    "babble": Fault(FaultTarget.GPU, "the GPU sends frames without end", _MUTED),
    "slow": Fault(FaultTarget.GPU, "the GPU computes four times as slowly, and says so"),
    "flap": Fault(FaultTarget.GPU, "the GPU fails and recovers every `period` cycles", _MUTED, parameter="period"),
    "switch_stuck_through": Fault(FaultTarget.GPU, "the bypass switch stays in THROUGH whatever it is told"),
    "switch_stuck_bypass": Fault(FaultTarget.GPU, "the bypass switch stays in BYPASS whatever it is told"),
    "keepalive_loss": Fault(FaultTarget.KEEPING_ALIVE, "the GPU's keepalives are lost", counted=True),
    "host_link_cut": Fault(FaultTarget.HOST_LINKED, "the link between the GPU and the CPU carries nothing, either way"),
    "link_cut": Fault(FaultTarget.RING_LINK, "the ring link carries nothing, either way", _BREAKS),
    "boundary_link_cut": Fault(FaultTarget.BOUNDARY_LINK, "the boundary link carries nothing, either way"),
    "link_one_way": Fault(FaultTarget.LINK, "nothing gets from the first GPU named to the second", _BREAKS),
    "link_bit_errors": Fault(FaultTarget.LINK, "of 65,536 flits, `rate` arrive damaged, either way", parameter="rate"),
    "link_delay": Fault(FaultTarget.LINK, "every flit takes `delay` cycles longer, either way", parameter="delay"),
}


@cache
def having(trait: Trait) -> frozenset[str]:
    """The faults with a trait, by name."""
    return frozenset(name for name, fault in FAULTS.items() if trait in fault.traits)
