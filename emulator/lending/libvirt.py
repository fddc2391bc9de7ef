"""GPUs of this machine that libvirt lends to its guests through VFIO (V4, V5, V7).

Guests are libvirt's domains, by name. Functions are bound and unbound below /sys (the kernel's sysfs-pci), and plugged
in and out of running guests by `virsh`. Nothing of that outlives a restart of the machine, on purpose: the journal of
loans says what is bound and plugged in again.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ringhil.emulator.build.environment import child_environment
from ringhil.emulator.children import Child, temporary_folder
from ringhil.emulator.errors import printable
from ringhil.emulator.lending.attachment import AttachedMeters, AttachmentError, GuestState, LendableGpu
from ringhil.emulator.lending.pci import PciAddress, PciGpu, gpus, hostdevs
from ringhil.emulator.lending.vfio import VfioDevice, opened

LOCAL = "qemu:///system"
_DRIVER = "vfio-pci"
_PATIENT = 60.0  # seconds for a command of libvirt's
_DOWN = ("shut off", "crashed")
_PIECE = 1 << 20  # bytes that are scrubbed at once
_MOST = 1000  # answers that are kept
_MEMORY = 0x200  # of the third word in `resource`: IORESOURCE_MEM
_FRESH = 1.0  # seconds for which an answer about guests is good: loans ask all the while
_SHOWN = 300  # characters of virsh's reason


class LibvirtAttachment:
    """`places`: by name as in the census, the address of a GPU; `models`: their types. `uri`: of libvirt, as virsh
    takes it. `root`: of the folder /sys. Raises AttachmentError for a GPU that isn't there or doesn't have its IOMMU
    group for itself, and when libvirt doesn't answer."""

    def __init__(
        self,
        places: Mapping[str, PciAddress],
        uri: str = LOCAL,
        root: Path = Path("/"),
        *,
        models: Mapping[str, str] | None = None,
    ) -> None:
        self._models = dict(models or {})
        self._answers: dict[str, tuple[float, Any]] = {}
        program = shutil.which("virsh")
        if program is None:
            raise AttachmentError("no virsh on the PATH; install libvirt-clients")
        self._virsh = (program, "--quiet", "--connect", uri)
        self._bus = root / "sys/bus/pci"
        there = {gpu.address.device: gpu for gpu in gpus(root)}
        self._gpus = dict[str, PciGpu]()
        for name, address in places.items():
            found = there.get(address.device)
            if found is None:
                others = ", ".join(str(gpu.address) for gpu in there.values())
                raise AttachmentError(f"{name}: no GPU at {address}; there {f'are {others}' if others else 'is none'}")
            self._gpus[name] = found
        ours = {each.address for gpu in self._gpus.values() for each in gpu.functions}
        for name, gpu in self._gpus.items():
            others = ", ".join(str(each.address) for each in gpu.beside if each.address not in ours)
            if others:
                raise AttachmentError(f"{name}: the IOMMU group of {gpu.address} has {others}, too; lend all or none")
            if any(each.group is None for each in gpu.functions):
                raise AttachmentError(f"{name}: {gpu.address} is in no IOMMU group; see ringhil lend preflight")
        self._told("version")

    def gpus(self) -> Sequence[LendableGpu]:
        """As of Attachment; `memory`: bytes that the machine can reach."""
        return [
            LendableGpu(
                name,
                tuple(each.address for each in gpu.functions),
                ",".join(gpu.groups),
                self._models.get(name, ""),
                max(self._memories(gpu), default=0),
                f"{gpu.functions[0].vendor[2:]}:{gpu.functions[0].model[2:]}",
            )
            for name, gpu in self._gpus.items()
        ]

    def guest(self, node: str) -> GuestState:
        """As of Attachment, some time ago, a second at most."""
        state: GuestState = self._lately(node, lambda: self._state(node))
        return state

    def held(self) -> Mapping[str, str]:
        """As of Attachment, some time ago, a second at most, but for what was plugged in or out since."""
        held: Mapping[str, str] = self._lately("", lambda: {name: node for name, (node, _) in self._holders().items()})
        return held

    def bound(self) -> frozenset[str]:
        """As of Attachment."""
        return frozenset(name for name, gpu in self._gpus.items() if self._has_driver(gpu))

    def bind(self, gpu: str) -> bool:
        """As of Attachment. Raises AttachmentError also where the driver for guests isn't loaded."""
        if not (self._bus / "drivers" / _DRIVER).is_dir():
            raise AttachmentError(f"{gpu}: the driver {_DRIVER} isn't loaded; modprobe {_DRIVER}")
        for each in self._gpus[gpu].functions:
            if self._driver(each.address) != _DRIVER:
                self._write(each.address, "driver_override", _DRIVER)
                self._let_go(each.address)
                self._probe(each.address)
        return self._has_driver(self._gpus[gpu])

    def attach(self, gpu: str, node: str) -> bool:
        """As of Attachment."""
        holder, has = self._holders().get(gpu, (node, frozenset()))
        if holder != node:
            raise AttachmentError(f"{gpu}: {holder} has it")
        if not self._has_driver(self._gpus[gpu]):
            raise AttachmentError(f"{gpu}: {_DRIVER} doesn't have all of its functions; bind it first")
        if self.guest(node) is not GuestState.UP:
            return False
        for each in self._gpus[gpu].functions:
            if each.address not in has:
                self._plug("attach-device", node, each.address)
        return True

    def detach(self, gpu: str) -> bool:
        """As of Attachment. False until the guest has let go of all functions."""
        if gpu not in self._holders():
            return True
        node, has = self._holders()[gpu]
        for address in sorted(has):
            with suppress(_InTheProcessError):
                self._plug("detach-device", node, address)
        return gpu not in self._holders()

    def reset(self, gpu: str) -> bool:
        """As of Attachment."""
        with self._open(gpu) as device:
            device.reset()
        return True

    def scrub(self, gpu: str) -> bool:
        """As of Attachment, of the memory that the machine can reach: the largest area of the GPU's functions. Raises
        AttachmentError also when it reads back otherwise."""
        with self._open(gpu) as device, device.largest() as memory:
            zeros = bytes(min(len(memory), _PIECE))
            for start in range(0, len(memory), len(zeros)):
                memory[start : start + len(zeros)] = zeros
            for start in range(0, len(memory), len(zeros)):
                if memory[start : start + len(zeros)] != zeros:
                    raise AttachmentError(f"{gpu}: its memory from byte {start:,} on isn't zero")
        return True

    def unbind(self, gpu: str) -> bool:
        """As of Attachment; where the machine has no driver for it, none has it."""
        self._must_be_free(gpu)
        for each in self._gpus[gpu].functions:
            if self._driver(each.address) == _DRIVER:
                self._write(each.address, "driver_override", "\n")
                self._let_go(each.address)
                self._probe(each.address)
        return gpu not in self.bound()

    def meters(self, gpu: str) -> AttachedMeters:
        """As of Attachment; hardware in a guest's hands tells the machine nothing."""
        return AttachedMeters(known=False)

    def attend(self) -> None:
        """As of Attachment: guests ask by the network."""

    def close(self) -> None:
        """As of Attachment."""

    def _open(self, gpu: str) -> AbstractContextManager[VfioDevice]:
        self._must_be_free(gpu)
        return opened(self._gpus[gpu])

    def _lately(self, what: str, ask: Callable[[], Any]) -> Any:
        at, found = self._answers.get(what, (float("-inf"), None))
        if time.monotonic() - at >= _FRESH:
            found = ask()
            self._answers = {**self._answers, what: (time.monotonic(), found)} if len(self._answers) < _MOST else {}
        return found

    def _state(self, node: str) -> GuestState:
        if node not in self._told("list", "--all", "--name").split("\n"):
            return GuestState.UNKNOWN
        return GuestState.DOWN if self._told("domstate", node).strip() in _DOWN else GuestState.UP

    def _must_be_free(self, gpu: str) -> None:
        if gpu in self._holders():
            raise AttachmentError(f"{gpu}: {self._holders()[gpu][0]} has it; detach it first")

    def _holders(self) -> dict[str, tuple[str, frozenset[PciAddress]]]:
        """By GPU: who has any function of it, and which ones."""
        found = dict[str, tuple[str, frozenset[PciAddress]]]()
        for node in self._told("list", "--name").split():
            has = _hostdevs_of(self._told("dumpxml", node))
            for name, gpu in self._gpus.items():
                mine = has & {each.address for each in gpu.functions}
                if mine:
                    found[name] = node, frozenset(mine)
        return found

    def _plug(self, how: str, node: str, address: PciAddress) -> None:
        with temporary_folder("ringhil-plug-") as folder:
            file = folder / "devices.xml"
            file.write_text(hostdevs([address]))
            self._answers = {}
            self._told(how, node, str(file), "--live")

    def _told(self, *words: str) -> str:
        """What virsh prints. Raises AttachmentError, with its reason."""
        with Child(
            [*self._virsh, *words],
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as child:
            try:
                out, why = child.communicate(timeout=_PATIENT)
            except subprocess.TimeoutExpired as error:
                raise AttachmentError(f"virsh {words[0]}: no answer in {_PATIENT:.0f} s") from error
            finally:
                child.end()
        if child.returncode:
            text = printable(" ".join(why.split()))[:_SHOWN].removeprefix("error: ")
            kind = _InTheProcessError if "in the process of unplug" in text else AttachmentError
            raise kind(f"virsh {words[0]}: {text}")
        return str(out)

    def _file(self, address: PciAddress, name: str) -> Path:
        return self._bus / "devices" / str(address) / name

    def _driver(self, address: PciAddress) -> str:
        try:
            return self._file(address, "driver").readlink().name
        except OSError:
            return ""

    def _has_driver(self, gpu: PciGpu) -> bool:
        return all(self._driver(each.address) == _DRIVER for each in gpu.functions)

    def _let_go(self, address: PciAddress) -> None:
        if self._driver(address):
            self._write(address, "driver/unbind", str(address))

    def _probe(self, address: PciAddress) -> None:
        self._put(self._bus / "drivers_probe", str(address), address)

    def _write(self, address: PciAddress, name: str, text: str) -> None:
        self._put(self._file(address, name), text, address)

    def _put(self, file: Path, text: str, address: PciAddress) -> None:
        try:
            number = os.open(file, os.O_WRONLY)
            try:
                os.write(number, text.encode())
            finally:
                os.close(number)
        except OSError as error:
            raise self._failed(address, file.name, error) from error

    def _failed(self, address: PciAddress, what: str, error: OSError) -> AttachmentError:
        return AttachmentError(f"{address}: {what}: {error.strerror or error}")

    def _memories(self, gpu: PciGpu) -> Iterator[int]:
        """Bytes of each area of memory."""
        for each in gpu.functions:
            with suppress(OSError):
                for line in self._file(each.address, "resource").read_text().splitlines()[:6]:
                    start, end, flags = (int(word, 16) for word in line.split())
                    if flags & _MEMORY and end > start:
                        yield end - start + 1


class _InTheProcessError(AttachmentError):
    """The guest has been asked already, and has not let go yet."""


def _hostdevs_of(domain: str) -> frozenset[PciAddress]:
    """Of this machine's functions those that a domain has. Raises AttachmentError for what is no domain."""
    try:
        found = ElementTree.fromstring(domain).iterfind("./devices/hostdev[@type='pci']/source/address")
        return frozenset(
            PciAddress(*(int(each.get(part, "0"), 0) for part in ("domain", "bus", "slot", "function")))
            for each in found
        )
    except (ElementTree.ParseError, ValueError) as error:
        raise AttachmentError(f"virsh dumpxml: found what is no domain: {error}") from error
