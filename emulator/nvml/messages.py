"""What the library asks the server, and what it is told: one packet each way. `csrc/asking.h` has the same in C.

Both are on one machine, so numbers are as it writes them.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ringhil.emulator.errors import RinghilError

VERSION = 2
_MAGIC = 0x314D5652  # "RVM1"
_REQUEST = struct.Struct("=4I96s")
_ANSWER = struct.Struct("=IiII")
_GPU = struct.Struct("=96s48s32s4I")
_USE = struct.Struct("=QQII")
REQUEST_SIZE = _REQUEST.size
LONGEST_TEXT = 95  # bytes of a request's


class SocketError(RinghilError):
    """The socket can't be made, or nobody answers there; one line says which, and why."""


class MessageFault(RinghilError, ValueError):
    """Is raised for a packet that is no request or answer."""


class NvmlTopic(IntEnum):
    """What a request is about."""

    HELLO = 1  # number: VERSION; text: the driver's version
    COUNT = 2
    BY_INDEX = 3  # number: index; the answer's number: the GPU
    BY_UUID = 4  # text
    BY_BUS = 5  # text: its bus address
    BY_SERIAL = 6  # text: its name in the server
    GPU = 7
    MEMORY = 8  # bytes: in all, free, used, reserved
    UTILISATION = 9  # percent
    PROCESSES = 10
    PROCESS_NAME = 11  # number: process
    METER = 12  # number: a Meter
    ENTER = 13  # text: an application
    ARCHITECTURE = 14  # as NVML numbers it


class Meter(IntEnum):
    """What a GPU may have a meter for."""

    POWER = 1  # milliwatt, in the last second
    ENERGY = 2  # millijoule since power-up
    TEMPERATURE = 3  # degrees Celsius
    PERFORMANCE = 4  # state: 0, the fastest, to 15
    POWER_NOW = 5  # milliwatt, between the last two samples
    POWER_LIMIT = 6  # milliwatt that it takes at most


class Status(IntEnum):
    """How a request has ended: codes of NVML."""

    SUCCESS = 0
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    GPU_IS_LOST = 15
    LIB_RM_VERSION_MISMATCH = 18


@dataclass(frozen=True, slots=True)
class Question:
    """A request. `gpu`: which, as answers number them."""

    what: NvmlTopic
    gpu: int = 0
    number: int = 0
    text: str = ""

    def packed(self) -> bytes:
        """Returns the packet."""
        return _REQUEST.pack(_MAGIC, self.what, self.gpu, self.number, self.text.encode())

    @classmethod
    def unpacked(cls, packet: bytes) -> "Question":
        """Raises MessageFault."""
        if len(packet) != REQUEST_SIZE:
            raise MessageFault
        magic, what, gpu, number, text = _REQUEST.unpack(packet)
        if magic != _MAGIC:
            raise MessageFault
        try:
            return cls(NvmlTopic(what), gpu, number, text.split(b"\0")[0].decode())
        except ValueError:
            raise MessageFault from None


@dataclass(frozen=True, slots=True)
class NvmlAnswer:
    """An answer. `number` of it depends on what was asked: a GPU, or how many follow."""

    status: Status = Status.SUCCESS
    number: int = 0
    data: bytes = b""

    def packed(self) -> bytes:
        """Returns the packet."""
        return _ANSWER.pack(_MAGIC, self.status, self.number, 0) + self.data

    @classmethod
    def unpacked(cls, packet: bytes) -> "NvmlAnswer":
        """Raises MessageFault."""
        if len(packet) < _ANSWER.size:
            raise MessageFault
        magic, status, number, _ = _ANSWER.unpack_from(packet)
        if magic != _MAGIC:
            raise MessageFault
        try:
            return cls(Status(status), number, packet[_ANSWER.size :])
        except ValueError:
            raise MessageFault from None


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """A process on a GPU: bytes that it holds, percent of the time; `stamp`: microseconds since 1970."""

    pid: int
    memory: int
    share: int
    stamp: int


def text(words: str) -> NvmlAnswer:
    """Returns an answer of words."""
    return NvmlAnswer(data=words.encode() + b"\0")


def values(*numbers: int) -> NvmlAnswer:
    """Returns an answer of numbers."""
    return NvmlAnswer(number=len(numbers), data=struct.pack(f"={len(numbers)}Q", *numbers))


def gpu(name: str, uuid: str, serial: str, address: tuple[int, int, int], index: int) -> NvmlAnswer:
    """What a GPU is; `address`: domain, bus, device."""
    return NvmlAnswer(data=_GPU.pack(name.encode()[:95], uuid.encode(), serial.encode()[:31], *address, index))


def uses(found: Sequence[ProcessUse]) -> NvmlAnswer:
    """Returns an answer of processes."""
    return NvmlAnswer(number=len(found), data=b"".join(_USE.pack(u.memory, u.stamp, u.pid, u.share) for u in found))


# ------------------------------------------------------------------------------------------------- what answers say


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """What a GPU is. `index`: for who has asked."""

    name: str
    uuid: str
    serial: str
    domain: int
    bus: int
    device: int
    index: int


def text_of(told: NvmlAnswer) -> str:
    """Returns the words of an answer."""
    return told.data.split(b"\0")[0].decode(errors="replace")


def values_of(told: NvmlAnswer) -> tuple[int, ...]:
    """Returns the numbers of an answer. Raises MessageFault."""
    if told.status is not Status.SUCCESS or len(told.data) != 8 * told.number:
        raise MessageFault
    return struct.unpack(f"={told.number}Q", told.data)


def facts_of(told: NvmlAnswer) -> GpuFacts:
    """Returns what a GPU is. Raises MessageFault."""
    if told.status is not Status.SUCCESS or len(told.data) != _GPU.size:
        raise MessageFault
    name, uuid, serial, *numbers = _GPU.unpack(told.data)
    return GpuFacts(*(each.split(b"\0")[0].decode(errors="replace") for each in (name, uuid, serial)), *numbers)


def uses_of(told: NvmlAnswer) -> list[ProcessUse]:
    """Returns the processes of an answer. Raises MessageFault."""
    if len(told.data) != told.number * _USE.size:
        raise MessageFault
    return [ProcessUse(pid, memory, share, stamp) for memory, stamp, pid, share in _USE.iter_unpack(told.data)]
