"""The seam between loans and a bus: the steps by which a GPU gets from the server to a guest, and back.

| step | before | after |
|---|---|---|
| `bind` | the server's driver has it | the driver for guests has it: the server sees it no more |
| `attach` | | the guest sees it, and nobody else |
| `detach` | | the guest sees it no more |
| `reset` | | as after power-up, but for its memory |
| `scrub` | | its memory is zero, and was read back |
| `unbind` | the driver for guests has it | the server's driver has it |

Every step takes all functions of the GPU. It does not wait: it says True when what stands under *after* is so, and
False when that takes longer, and is then asked again, some milliseconds later. It may be asked again at any time, after
a crash too: what is done already is not done twice. What can't be done raises AttachmentError, and changes nothing.

The server's own side of it (draining a GPU of work, the register `lent`, the census) isn't part of this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.lending.pci import PciAddress, hostdevs


class AttachmentError(RinghilError, OSError):
    """A step that failed. The loan stays in the state of its journal, and the step is tried again."""


class GuestState(Enum):
    """Of a virtual machine, as its host knows it."""

    UNKNOWN = "unknown"
    """There is no such guest."""
    DOWN = "down"
    """It is defined, and doesn't run: it restarts, or has crashed."""
    UP = "up"


@dataclass(frozen=True)
class LendableGpu:
    """`name`: as the census has it, such as `a.3`. `group`: its IOMMU group; GPUs of one are lent together or not at
    all. `model`: type of GPU, such as `T4`. `memory`: bytes. `pci_id`: vendor and device, such as `10de:1eb8`."""

    name: str
    functions: tuple[PciAddress, ...]
    group: str
    model: str = ""
    memory: int = 0
    pci_id: str = ""

    @property
    def hostdevs(self) -> str:
        """What libvirt loads for it (V4)."""
        return hostdevs(self.functions)


@dataclass(frozen=True)
class AttachedMeters:
    """Of a GPU since it was made; they only rise. `busy`: cycles in which it computed. `energy`: joules. `known`:
    whether anybody can tell; a GPU of which nobody can is never taken for idle."""

    busy: int = 0
    energy: float = 0.0
    known: bool = True


class Attachment(Protocol):
    """How GPUs get to guests. GPUs are given by name, guests by node address, such as `i-0000002d`. All is called from
    the thread that plays the run, between two steps of it; nothing here may wait for a guest that waits for the run."""

    def gpus(self) -> Sequence[LendableGpu]:
        """All that can be lent; the same as long as the server runs."""
        ...

    def guest(self, node: str) -> GuestState:
        """How that guest is."""
        ...

    def held(self) -> Mapping[str, str]:
        """By GPU, the guest that sees it now, found out from the guests and not from memory: a host that has restarted
        asks this. A guest that has restarted holds nothing until `attach` is asked again."""
        ...

    def bound(self) -> frozenset[str]:
        """GPUs that the driver for guests has, found out from the bus."""
        ...

    def bind(self, gpu: str) -> bool:
        """From the server's driver to the driver for guests."""
        ...

    def attach(self, gpu: str, node: str) -> bool:
        """Plug it into a guest; it is bound. Raises AttachmentError when another guest has it."""
        ...

    def detach(self, gpu: str) -> bool:
        """Unplug it from whoever has it; a guest that is down or gone has nothing."""
        ...

    def reset(self, gpu: str) -> bool:
        """Stop what it computes, and forget all but its memory; it is detached."""
        ...

    def scrub(self, gpu: str) -> bool:
        """Write zeros over its memory, and read them back; it is detached."""
        ...

    def unbind(self, gpu: str) -> bool:
        """Back to the server's driver."""
        ...

    def meters(self, gpu: str) -> AttachedMeters:
        """What it has done so far, whoever has it."""
        ...

    def attend(self) -> None:
        """Called between any two slices of the run: answers guests that ask for something, without waiting."""
        ...

    def close(self) -> None:
        """Lets go of what it opened; guests keep what they hold."""
        ...
