"""What a server tells of its CPU and of its timeline, beside what the kernel tells. See stream.py."""

from dataclasses import dataclass

from ringhil.emulator.scenario import TimelineEvent
from ringhil.firmware.observations import Granted, Lapsed


@dataclass(frozen=True, slots=True)
class CpuSaid:
    """The CPU has granted the entry role of a card, or a lease of its has ended."""

    cycle: int
    card: int
    what: Granted | Lapsed


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The CPU has read a frame that came from the GPU of `cell`, and done what follows from it. `bad`: it arrived
    damaged."""

    cycle: int
    cell: int
    frame: bytes
    bad: bool


@dataclass(frozen=True, slots=True)
class SharedOut:
    """The CPU splits `units`, those that nobody has begun, over the cards: `shares`, in the order of the cards."""

    cycle: int
    units: int
    shares: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Struck:
    """An event of the timeline has just been put into the hardware."""

    cycle: int
    event: TimelineEvent


@dataclass(frozen=True, slots=True)
class NodeLost:
    """The hardware of the GPU of `cell`, outside, is gone: from now on it is one that has failed."""

    cycle: int
    cell: int
    why: str


@dataclass(frozen=True, slots=True)
class FirmwareLost:
    """The board that runs the firmware of the GPU of `cell` is gone: from the next cycle on it is one that hangs."""

    cycle: int
    cell: int
    why: str


@dataclass(frozen=True, slots=True)
class CountAsked:
    """Somebody outside has asked the entry GPU of a card to count now."""

    cycle: int
    card: int


@dataclass(frozen=True, slots=True)
class PassedOn:
    """A driver outside sends a frame to a context of this GPU, by way of the CPU."""

    cycle: int
    card: int
    gpu: int
    context: int


@dataclass(frozen=True, slots=True)
class FirmwareStopped:
    """The GPU of `cell` has failed, and its firmware with it."""

    cycle: int
    cell: int


@dataclass(frozen=True, slots=True)
class Flapped:
    """A flapping GPU has failed, or recovered."""

    cycle: int
    card: int
    gpu: int
    failed: bool


@dataclass(frozen=True, slots=True)
class LossOver:
    """A counted loss of keepalives has ended by itself, at the GPU of `cell`."""

    cycle: int
    cell: int
