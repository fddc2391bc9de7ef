"""What the kernel tells of the hardware: frames on their way, time, registers, nodes outside."""

from typing import Annotated, ClassVar

from ringhil.emulator.events.fields import Cell, Cycle
from ringhil.protocol.values import value


@value(frozen=True, slots=True)
class FrameSeen:
    """A frame on its way between RTL and Python, at a GPU. Listen to the four ways, or `Stream.listen_to_frames`."""

    TOLD_BY: ClassVar[str] = "kernel"
    WAY: ClassVar[str]

    cycle: Annotated[int, "when its last flit was there, or from when on it is to be sent"]
    cell: Cell
    port: Annotated[int, "of the mailbox (`Port`); of `ToCpu` the virtual channel (0 control, 1 data), of `FromCpu` 0"]
    frame: Annotated[bytes, "its bytes; the link puts its CRC in later, or has checked it"]
    bad: Annotated[bool, "it arrived damaged"] = False


class ToFirmware(FrameSeen):
    """A frame has arrived in a GPU's mailbox; the firmware reads it `firmware_latency` later."""

    __slots__ = ()
    WAY = "to_firmware"


class FromFirmware(FrameSeen):
    """A GPU's firmware writes a frame into the mailbox."""

    __slots__ = ()
    WAY = "from_firmware"


class ToCpu(FrameSeen):
    """A frame has arrived at the CPU, which reads it `host_latency` later (then: `TakenIn`)."""

    __slots__ = ()
    WAY = "to_cpu"


class FromCpu(FrameSeen):
    """The CPU sends a frame to a GPU."""

    __slots__ = ()
    WAY = "from_cpu"


FRAMES: tuple[type[FrameSeen], ...] = (ToFirmware, FromFirmware, ToCpu, FromCpu)


@value(frozen=True, slots=True)
class Advanced:
    """The engine has run on; told before anything else of that run."""

    TOLD_BY: ClassVar[str] = "kernel"

    cycle: Annotated[int, "the one that is simulated next"]


@value(frozen=True, slots=True)
class RegisterChanged:
    """A register that somebody has the engine watch (`Engine.watch_register`) reads otherwise."""

    TOLD_BY: ClassVar[str] = "kernel"

    cycle: Annotated[int, "from which on it does"]
    cell: Cell
    address: Annotated[int, "of the register (`registers.ADDRESS`)"]
    value: Annotated[int, "of all its bits; only those that are watched count"]


@value(frozen=True, slots=True)
class NodeDiffered:
    """A node outside did otherwise than its twin in this process; told when the engine has run on."""

    TOLD_BY: ClassVar[str] = "kernel"

    cycle: Cycle
    cell: Cell
    place: Annotated[int, "which 8 bytes of its outputs, or which register (`layout.DIFFERENCE`)"]
    value: Annotated[int, "of the node outside"]
