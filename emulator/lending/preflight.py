"""Whether GPUs of a machine can be lent to virtual machines (V3): what was found, what is missing, how to get it."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringhil.emulator.lending.pci import PciGpu, gpus

_SOCKETS = ("run/libvirt/virtqemud-sock", "run/libvirt/libvirt-sock")
_VENDORS = {"vmx": "Intel VT-x", "svm": "AMD-V"}
_MOST = 1 << 20  # bytes of a file below /proc
_PATIENT = 2.0  # seconds


@dataclass(frozen=True)
class PreflightCheck:
    """`gpu`: its address, "" where it is about the machine. `missing`: how to get it; "": it is there. `slow`: lending
    works without it, but slowly, or for fewer uses."""

    name: str
    found: str
    missing: str = ""
    gpu: str = ""
    slow: bool = False

    @property
    def ok(self) -> bool:
        """Nothing is missing that is needed."""
        return not self.missing or self.slow

    def to_json(self) -> dict[str, Any]:
        """For the document."""
        return {
            "check": self.name,
            "gpu": self.gpu or None,
            "ok": self.ok,
            "found": self.found,
            "missing": self.missing or None,
        }


def preflight(root: Path, path: str) -> tuple[list[PreflightCheck], list[PciGpu]]:
    """All checks of the machine below `root`, with the programs of `path`; and its GPUs."""
    found = gpus(root)
    checks = [*_guests(root, path), *_virtualisation(root)]
    if not found:
        checks.append(PreflightCheck("gpu", "none on the PCI bus", "put one in; lspci -nn lists what there is"))
    for gpu in found:
        checks += _of_gpu(gpu)
    return checks, found


def _guests(root: Path, path: str) -> Iterator[PreflightCheck]:
    """They can be created, and reached."""
    machine = "x86_64" if "x86" in os.uname().machine else os.uname().machine
    qemu = f"qemu-system-{machine}"
    places = (Path(folder) / qemu for folder in path.split(os.pathsep) if folder)
    where = next((str(each) for each in places if os.access(each, os.X_OK)), None)
    package = "qemu-system-x86" if machine == "x86_64" else "qemu-system"
    yield PreflightCheck("qemu", where or f"no {qemu} on the PATH", "" if where else f"install {package}")
    yield _libvirt(root)
    kvm = root / "dev/kvm"
    if os.access(kvm, os.R_OK | os.W_OK):
        yield PreflightCheck("kvm", f"/{kvm.relative_to(root)}")
    else:
        how = "become a member of the group kvm" if kvm.exists() else "switch virtualisation on in the firmware (BIOS)"
        found = "no access to /dev/kvm" if kvm.exists() else "no /dev/kvm"
        yield PreflightCheck("kvm", f"{found}: guests are emulated", f"{how}, then: modprobe kvm", slow=True)


def _libvirt(root: Path) -> PreflightCheck:
    why = "none of /" + ", /".join(_SOCKETS)
    for name in _SOCKETS:
        if (root / name).exists():
            with socket.socket(socket.AF_UNIX) as line, suppress(ValueError):
                line.settimeout(_PATIENT)
                try:
                    line.connect(str(root / name))
                    return PreflightCheck("libvirt", f"/{name}")
                except OSError as error:
                    why = f"/{name}: {error.strerror or error}"
    how = "install libvirt-daemon-system, then: systemctl start libvirtd; become a member of the group libvirt"
    return PreflightCheck("libvirt", why, how)


def _virtualisation(root: Path) -> Iterator[PreflightCheck]:
    flags = {word for line in _lines(root / "proc/cpuinfo") if line.startswith("flags") for word in line.split()}
    kinds = [name for flag, name in _VENDORS.items() if flag in flags]
    missing = "" if kinds else "switch VT-x or AMD-V on in the firmware (BIOS)"
    yield PreflightCheck("processor", kinds[0] if kinds else "neither vmx nor svm", missing, slow=True)

    given = " ".join(_lines(root / "proc/cmdline")).split()
    wanted = [word for word in given if word.startswith(("intel_iommu=", "amd_iommu=", "iommu="))]
    units = _names(root / "sys/class/iommu")
    groups = _names(root / "sys/kernel/iommu_groups")
    on = bool(units or groups)
    how = "add intel_iommu=on iommu=pt (AMD: iommu=pt) to the kernel's command line and start anew"
    off = next((word for word in wanted if word.endswith(("=off", "=0"))), None)
    yield PreflightCheck(
        "iommu",
        f"{len(units)} units, {len(groups)} groups" if on else f"{off}: switched off" if off else "no unit",
        "" if on else "switch VT-d or AMD-Vi on in the firmware (BIOS); " + how,
    )
    yield PreflightCheck(
        "kernel parameters", " ".join(wanted) or "none about an IOMMU", "" if on or (wanted and not off) else how
    )
    vfio = (root / "sys/bus/pci/drivers/vfio-pci").is_dir()
    yield PreflightCheck("vfio-pci", "loaded" if vfio else "not loaded", "" if vfio else "modprobe vfio-pci")


def _of_gpu(gpu: PciGpu) -> Iterator[PreflightCheck]:
    name, first = str(gpu.address), gpu.functions[0]
    kind = f"{first.vendor.removeprefix('0x')}:{first.model.removeprefix('0x')}"
    yield PreflightCheck("address", f"{name}, {kind}", gpu=name)
    drivers = [f"{each.address.function}: {each.driver or 'no driver'}" for each in gpu.functions]
    yield PreflightCheck("functions", f"{len(gpu.functions)} ({', '.join(drivers)})", gpu=name)
    alone = all(each.group is not None for each in gpu.functions)
    beside = ", ".join(str(each.address) for each in gpu.beside)
    found = f"group {', '.join(gpu.groups)}" if gpu.groups else "in no group"
    if not alone:
        missing = "a function that is in no group can't be lent: see iommu"
    elif beside:
        missing = f"the whole group goes or none of it: lend {beside} as well, or use another slot"
    else:
        missing = ""
    yield PreflightCheck("iommu group", found + (f", with {beside}" if beside else ""), missing, gpu=name)


def _lines(file: Path) -> Sequence[str]:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST).decode("ascii", "replace").splitlines()
    except OSError:
        return []


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
