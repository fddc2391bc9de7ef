"""What a server tells of its CPU and of its timeline."""

from typing import Annotated, ClassVar

from ringhil.emulator.events.fields import Card, Cell, Cycle, Why
from ringhil.emulator.scenario import TimelineEvent
from ringhil.firmware.observations import Granted, Lapsed
from ringhil.protocol.values import value


@value(frozen=True, slots=True)
class CpuSaid:
    """The CPU has granted the entry role of a card, or a lease of its has ended."""

    TOLD_BY: ClassVar[str] = "CPU"

    cycle: Cycle
    card: Card
    what: Annotated[Granted | Lapsed, "which of the two"]


@value(frozen=True, slots=True)
class TakenIn:
    """The CPU has read a frame that came from a GPU, and done what follows from it."""

    TOLD_BY: ClassVar[str] = "CPU"

    cycle: Cycle
    cell: Cell
    frame: Annotated[bytes, "as it arrived (`ToCpu`)"]
    bad: Annotated[bool, "it arrived damaged"]


@value(frozen=True, slots=True)
class SharedOut:
    """The CPU splits the units that nobody has begun over the cards."""

    TOLD_BY: ClassVar[str] = "CPU"

    cycle: Cycle
    units: Annotated[int, "units of work that are split"]
    shares: Annotated[tuple[int, ...], "units of each card, in the order of the cards"]


@value(frozen=True, slots=True)
class Struck:
    """An event of the timeline has just been put into the hardware; a loan when its register was written."""

    TOLD_BY: ClassVar[str] = "timeline"

    cycle: Cycle
    event: Annotated[TimelineEvent, "fault, clear, lend or take_back, as the file or a client has it"]


@value(frozen=True, slots=True)
class LoanAsked:
    """A GPU is to be lent, or taken back."""

    TOLD_BY: ClassVar[str] = "timeline"

    cycle: Cycle
    cell: Cell
    lend: Annotated[bool, "it is to be lent; taken back otherwise"]


@value(frozen=True, slots=True)
class Draining:
    """A GPU gets no new work: it is lent when it has none left."""

    TOLD_BY: ClassVar[str] = "CPU"

    cycle: Cycle
    cell: Cell


@value(frozen=True, slots=True)
class NotLent:
    """A GPU stays with the server, though it was to be lent."""

    TOLD_BY: ClassVar[str] = "CPU"

    cycle: Cycle
    cell: Cell
    why: Why


@value(frozen=True, slots=True)
class NodeLost:
    """The hardware of a GPU, outside, is gone: from now on it is one that has failed."""

    TOLD_BY: ClassVar[str] = "server"

    cycle: Cycle
    cell: Cell
    why: Why


@value(frozen=True, slots=True)
class FirmwareLost:
    """The firmware of a GPU has crashed or never answers, or its board is gone: from the next cycle on it is a GPU that
    hangs."""

    TOLD_BY: ClassVar[str] = "server"

    cycle: Cycle
    cell: Cell
    why: Why


@value(frozen=True, slots=True)
class CountAsked:
    """Somebody outside has asked the entry GPU of a card to count now."""

    TOLD_BY: ClassVar[str] = "management port"

    cycle: Cycle
    card: Card


@value(frozen=True, slots=True)
class PassedOn:
    """A driver outside sends a frame to a context of a GPU; the CPU sends it next."""

    TOLD_BY: ClassVar[str] = "management port"

    cycle: Cycle
    card: Card
    gpu: Annotated[int, "number of the GPU in its card"]
    context: Annotated[int, "number of the context"]


@value(frozen=True, slots=True)
class FirmwareStopped:
    """A GPU has failed, and its firmware with it. Of a GPU without firmware nothing is told."""

    TOLD_BY: ClassVar[str] = "server"

    cycle: Cycle
    cell: Cell


@value(frozen=True, slots=True)
class Flapped:
    """A flapping GPU has failed, or recovered."""

    TOLD_BY: ClassVar[str] = "timeline"

    cycle: Cycle
    card: Card
    gpu: Annotated[int, "number of the GPU in its card"]
    failed: Annotated[bool, "it has failed; it has recovered otherwise"]


@value(frozen=True, slots=True)
class LossOver:
    """A counted loss of keepalives has ended by itself."""

    TOLD_BY: ClassVar[str] = "timeline"

    cycle: Cycle
    cell: Cell
