"""PCI devices of a machine as Linux shows them below /sys (its sysfs-pci), and the XML by which libvirt lends them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ringhil.emulator.errors import RinghilError

_ADDRESS = re.compile(r"([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)
_DEVICES = Path("sys/bus/pci/devices")
_GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")  # VGA, 3D, other display controllers; accelerators
_BRIDGE = "0x0604"
_MOST = 1 << 12  # bytes of a file below /sys
_SLOTS = 32


class PciError(RinghilError, ValueError):
    """An address that is none, or a device that isn't there."""


@dataclass(frozen=True, order=True)
class PciAddress:
    """Where a function of a device is on the bus."""

    domain: int
    bus: int
    slot: int
    function: int

    @classmethod
    def of(cls, text: str) -> Self:
        """From `0000:02:00.0`. Raises PciError."""
        found = _ADDRESS.fullmatch(text)
        numbers = [int(digits, 16) for digits in found.groups()] if found else []
        if not numbers or numbers[2] >= _SLOTS:
            raise PciError(f"found {text[:40]!r}; allowed is a PCI address such as 0000:02:00.0")
        return cls(*numbers)

    @property
    def device(self) -> tuple[int, int, int]:
        """All functions of a device have this in common."""
        return self.domain, self.bus, self.slot

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.slot:02x}.{self.function}"


@dataclass(frozen=True)
class PciFunction:
    """`kind`: class code, such as `0x0302`; `driver`: "" where none is bound; `group`: of the IOMMU, None: in none."""

    address: PciAddress
    kind: str
    vendor: str
    model: str
    driver: str
    group: str | None


@dataclass(frozen=True)
class PciGpu:
    """A GPU with all of its functions; `beside`: other devices of its IOMMU groups, bridges left out."""

    functions: tuple[PciFunction, ...]
    beside: tuple[PciFunction, ...]

    @property
    def address(self) -> PciAddress:
        """That of its first function."""
        return self.functions[0].address

    @property
    def groups(self) -> tuple[str, ...]:
        """IOMMU groups of its functions, each once."""
        return tuple(dict.fromkeys(each.group for each in self.functions if each.group is not None))

    @property
    def hostdevs(self) -> str:
        """What libvirt loads to give it to a guest (V4): a `<hostdev>` for each function."""
        return hostdevs([each.address for each in self.functions])


def hostdevs(functions: Sequence[PciAddress]) -> str:
    """A `<hostdev>` for each: domain in 4, bus and slot in 2, function in 1 hexadecimal digits (V4). `managed='no'`:
    whoever lends binds and unbinds, so that a crash in between leaves nothing that nobody knows of."""
    return "\n".join(
        "<hostdev mode='subsystem' type='pci' managed='no'>\n"
        "  <source>\n"
        f"    <address domain='0x{each.domain:04x}' bus='0x{each.bus:02x}' slot='0x{each.slot:02x}'"
        f" function='0x{each.function:x}'/>\n"
        "  </source>\n"
        "</hostdev>"
        for each in functions
    )


def gpus(root: Path) -> list[PciGpu]:
    """All that are below `root`, which has a `sys` as this machine has; by address."""
    found = _functions(root)
    firsts = [each for each in found if each.address.function == 0 and each.kind in _GPU_CLASSES]
    return [_gpu(first, found) for first in firsts]


def _gpu(first: PciFunction, found: Sequence[PciFunction]) -> PciGpu:
    mine = tuple(each for each in found if each.address.device == first.address.device)
    groups = {each.group for each in mine} - {None}
    beside = tuple(each for each in found if each.group in groups and each not in mine and each.kind != _BRIDGE)
    return PciGpu(mine, beside)


def _functions(root: Path) -> list[PciFunction]:
    try:
        names = sorted(path.name for path in (root / _DEVICES).iterdir())
    except OSError:  # a machine without that bus
        return []
    return [_function(root / _DEVICES / name, PciAddress.of(name)) for name in names if _ADDRESS.fullmatch(name)]


def _function(folder: Path, address: PciAddress) -> PciFunction:
    group = _link(folder / "iommu_group")
    return PciFunction(
        address,
        _text(folder / "class")[:6],
        _text(folder / "vendor"),
        _text(folder / "device"),
        _link(folder / "driver"),
        group or None,
    )


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _link(file: Path) -> str:
    """The last part of what a link names."""
    try:
        return file.readlink().name
    except OSError:
        return ""
