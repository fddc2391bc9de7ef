"""What the kernel tells of the hardware: frames on their way, time, registers, nodes outside. See stream.py."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FrameSeen:
    """A frame on its way between RTL and Python, at the GPU of `cell`.

    `cycle`: when its last flit was there, or from when on it is to be sent. `port`: of the mailbox; with `ToCpu` the
    virtual channel (0 control, 1 data), with `FromCpu` always 0. `bad`: it arrived damaged.
    """

    WAY: ClassVar[str]

    cycle: int
    cell: int
    port: int
    frame: bytes
    bad: bool = False


class ToFirmware(FrameSeen):
    """It has arrived in a GPU's mailbox."""

    __slots__ = ()
    WAY = "to_firmware"


class FromFirmware(FrameSeen):
    """A GPU's firmware writes it into the mailbox."""

    __slots__ = ()
    WAY = "from_firmware"


class ToCpu(FrameSeen):
    """It has arrived at the CPU."""

    __slots__ = ()
    WAY = "to_cpu"


class FromCpu(FrameSeen):
    """The CPU sends it to a GPU."""

    __slots__ = ()
    WAY = "from_cpu"


FRAMES: tuple[type[FrameSeen], ...] = (ToFirmware, FromFirmware, ToCpu, FromCpu)


@dataclass(frozen=True, slots=True)
class Advanced:
    """The engine has run on to `cycle`, the one that is simulated next."""

    cycle: int


@dataclass(frozen=True, slots=True)
class RegisterChanged:
    """A register that is watched reads otherwise from `cycle` on: `value`, of which only the watched bits count."""

    cycle: int
    cell: int
    address: int
    value: int


@dataclass(frozen=True, slots=True)
class NodeDiffered:
    """A node outside did otherwise than its twin in this process: `value`, in 8 bytes of its outputs or in a register
    (`layout.DIFFERENCE`)."""

    cycle: int
    cell: int
    place: int
    value: int
