"""A device that the driver `vfio-pci` has, while no guest does: reset, and its memory (Linux, linux/vfio.h)."""

import fcntl
import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ringhil.emulator.lending.attachment import AttachmentError
from ringhil.emulator.lending.pci import PciAddress, PciGpu

_FOLDER = Path("/dev/vfio")
_SET_IOMMU, _SET_CONTAINER, _GET_DEVICE = 0x3B66, 0x3B68, 0x3B6A
_REGION_INFO, _HOT_RESET = 0x3B6C, 0x3B71
_TYPE1 = 1
_REGION = struct.Struct("=IIIIQQ")  # size of this, flags, number, -, bytes, offset in the device's file
_RESET = struct.Struct("=III")  # size of this, flags, number of groups that follow
_CAN_MMAP = 4
_CONFIG = 7  # number of the region
_COMMAND, _MEMORY_ON = 4, 2


class VfioDevice:
    """All functions of a GPU, and nobody else has them meanwhile."""

    def __init__(self, files: dict[PciAddress, int], groups: Sequence[int]) -> None:
        self._files, self._groups = files, groups

    def reset(self) -> None:
        """All functions together, as at power-up; what the kernel set up is kept. Raises OSError."""
        data = struct.pack(f"={len(self._groups)}i", *self._groups)
        head = _RESET.pack(_RESET.size + len(data), 0, len(self._groups))
        fcntl.ioctl(next(iter(self._files.values())), _HOT_RESET, head + data)

    @contextmanager
    def largest(self) -> Iterator[mmap.mmap]:
        """The largest area that can be reached. Raises OSError; AttachmentError when there is none."""
        areas = [(size, address, at) for address in self._files for size, at in self._areas(address)]
        if not areas:
            raise AttachmentError("it has no memory that this machine can reach")
        size, address, at = max(areas)
        self._switch_on(address)
        with mmap.mmap(self._files[address], size, offset=at) as memory:
            yield memory

    def _areas(self, address: PciAddress) -> Iterator[tuple[int, int]]:
        """Bytes, and offset in the file."""
        for number in range(6):
            flags, size, at = self._region(address, number)
            if size and flags & _CAN_MMAP:
                yield size, at

    def _region(self, address: PciAddress, number: int) -> tuple[int, int, int]:
        answer = fcntl.ioctl(self._files[address], _REGION_INFO, _REGION.pack(_REGION.size, 0, number, 0, 0, 0))
        _, flags, _, _, size, at = _REGION.unpack(answer)
        return flags, size, at

    def _switch_on(self, address: PciAddress) -> None:
        """It answers accesses to its memory; after a reset it doesn't."""
        at = self._region(address, _CONFIG)[2] + _COMMAND
        (command,) = struct.unpack("<H", os.pread(self._files[address], 2, at))
        os.pwrite(self._files[address], struct.pack("<H", command | _MEMORY_ON), at)


@contextmanager
def opened(gpu: PciGpu, folder: Path = _FOLDER) -> Iterator[VfioDevice]:
    """A GPU that `vfio-pci` has. What fails meanwhile is an AttachmentError with its address: somebody else has it
    open, say."""
    with ExitStack() as files:

        def open_file(name: str) -> int:
            number = os.open(folder / name, os.O_RDWR | os.O_CLOEXEC)
            files.callback(os.close, number)
            return number

        def device_of(group: int, address: PciAddress) -> int:
            # With a buffer that can be changed the answer is the number, not the bytes.
            number: int = fcntl.ioctl(group, _GET_DEVICE, bytearray(f"{address}\0".encode()))
            files.callback(os.close, number)
            return number

        try:
            container = open_file("vfio")
            groups = {name: open_file(name) for name in gpu.groups}
            for group in groups.values():
                fcntl.ioctl(group, _SET_CONTAINER, struct.pack("=i", container))
            fcntl.ioctl(container, _SET_IOMMU, _TYPE1)
            found = {each.address: device_of(groups[each.group or ""], each.address) for each in gpu.functions}
            yield VfioDevice(found, list(groups.values()))
        except OSError as error:
            raise AttachmentError(f"{gpu.address}: {error.strerror or error}") from error
