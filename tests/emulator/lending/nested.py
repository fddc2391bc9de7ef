"""A machine with an IOMMU, inside of this one: QEMU emulates it, its files are ours, and what it writes is lost.

Its PCI bus has a lent card: registers behind `x-pci-proxy-dev`, memory in `ivshmem`. It needs a kernel with
modules, the distribution's; its package need not be installed, only unpacked.
"""

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.children import Child
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.lending.card_server import CardServer
from ringhil.emulator.lending.lent_card import LentCard

ROOT = Path(__file__).resolve().parents[3]
PLACES = (ROOT / "build/kernel", Path("/"))
PROGRAMS = ("qemu-system-x86_64", "libvirtd", "virtlogd", "virsh", "busybox", "cpio", "depmod", "modprobe")
GET = (
    "apt-get install qemu-system-x86 libvirt-daemon-system libvirt-clients busybox-static cpio kmod; "
    "apt-get download linux-image-...-amd64 and dpkg-deb -x it to build/kernel"
)
MEMORY = 1 << 20  # bytes of the GPU
SECONDS = 600.0
_SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay")  # that find the files
_INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in {modules}; do modprobe $m; done
mkdir -p /lower /rw /new
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /lower
mount -t tmpfs tmpfs /rw; mkdir /rw/up /rw/work
mount -t overlay -o lowerdir=/lower,upperdir=/rw/up,workdir=/rw/work o /new
for f in dev proc sys; do mount --move /$f /new/$f; done
mount -t tmpfs tmpfs /new/run
chroot /new /bin/sh {inside}
echo o > /new/proc/sysrq-trigger; sleep 60
"""
_INSIDE = """export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mkdir -p /lib/modules /run/libvirt /var/log/libvirt
ln -sfn {modules} /lib/modules/{version}
for m in vfio-pci vfio_iommu_type1 uio_pci_generic; do modprobe $m; done
cat >> /etc/libvirt/qemu.conf <<end
user = "root"
group = "root"
namespaces = []
cgroup_controllers = []
security_driver = "none"
remember_owner = 0
end
printf 'auth_unix_ro = "none"\\nauth_unix_rw = "none"\\nunix_sock_group = "root"\\n' > /tmp/libvirtd.conf
virtlogd -d; libvirtd -d -f /tmp/libvirtd.conf
exec {command}
"""


@dataclass(frozen=True)
class LabKernel:
    """An image and its modules."""

    image: Path
    modules: Path

    @property
    def version(self) -> str:
        return self.modules.name


def kernel() -> LabKernel | None:
    """The newest one that there is."""
    for place in PLACES:
        for modules in sorted((place / "lib/modules").glob("*"), reverse=True):
            image = place / f"boot/vmlinuz-{modules.name}"
            if image.is_file() and any(modules.rglob("vfio-pci.ko*")):
                return LabKernel(image, modules)
    return None


def missing() -> list[str]:
    """What isn't there that it needs."""
    return [name for name in PROGRAMS if shutil.which(name, path=_SBIN) is None] + ["a kernel"] * (kernel() is None)


@dataclass(frozen=True)
class Told:
    """What was printed inside, line by line, each a JSON document; the GPU's memory at the end; accesses to its
    registers."""

    documents: list[dict[str, object]]
    memory: bytes
    accesses: int
    console: str


def played(folder: Path, command: Sequence[str | Path]) -> Told:
    """Run a command inside, as root; what is in `folder` it finds there."""
    chosen = kernel()
    assert chosen is not None
    image = _first_files(folder, chosen, command)
    with _card() as (card, line):
        words = _machine(chosen, image, card, line)
        with Child(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=[line.fileno(), card.memory_file]
        ) as child:
            line.close()
            try:
                out, _ = child.communicate(timeout=SECONDS)
            finally:
                child.end()
        console = out.decode(errors="replace").replace("\r", "")
        lines = [each for each in console.splitlines() if each.startswith("{")]
        return Told([json.loads(each) for each in lines], bytes(card.bytes), card.accesses, console)


@contextmanager
def _card() -> Iterator[tuple[LentCard, socket.socket]]:
    card = LentCard(cells_library(), MEMORY)
    card.bytes[:] = b"\xa5" * MEMORY
    ours, theirs = socket.socketpair()
    server = CardServer(card, ours)
    try:
        yield card, theirs
    finally:
        theirs.close()
        server.close()
        card.close()


def _first_files(folder: Path, chosen: LabKernel, command: Sequence[str | Path]) -> Path:
    """What the kernel starts with: it mounts our files, and goes on there."""
    env = {"PATH": _SBIN}
    base = chosen.modules.parents[2]
    if not (chosen.modules / "modules.dep").exists():
        subprocess.run(["depmod", "-b", base, chosen.version], check=True, env=env)
    files = folder / "first"
    inside = folder / "inside.sh"
    words = " ".join(map(str, command))
    inside.write_text(_INSIDE.format(modules=chosen.modules, version=chosen.version, command=words))
    (files / "bin").mkdir(parents=True)
    for name in ("proc", "sys", "dev"):
        (files / name).mkdir()
    busybox = shutil.which("busybox", path=_SBIN)
    assert busybox is not None
    shutil.copy(busybox, files / "bin")
    (files / "init").write_text(_INIT.format(modules=" ".join(_MODULES), inside=inside))
    (files / "init").chmod(0o755)
    needed = set[str]()
    for module in _MODULES:
        asked = ["modprobe", "-d", base, "-S", chosen.version, "--show-depends", module]
        found = subprocess.run(asked, check=True, env=env, capture_output=True, text=True).stdout
        needed |= {line.split()[1] for line in found.splitlines() if line.startswith("insmod")}
    for each in [*map(Path, needed), *chosen.modules.glob("modules.*")]:
        to = files / "lib/modules" / chosen.version / each.relative_to(chosen.modules)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(each, to)
    names = "\n".join(str(each.relative_to(files)) for each in sorted(files.rglob("*")))
    made = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet"],
        cwd=files,
        input=names.encode(),
        check=True,
        env=env,
        capture_output=True,
    )
    image = folder / "first.gz"
    image.write_bytes(gzip.compress(made.stdout, 1, mtime=0))
    return image


def _machine(chosen: LabKernel, image: Path, card: LentCard, line: socket.socket) -> list[str]:
    memory = f"/proc/self/fd/{card.memory_file}"
    return [
        *(
            "qemu-system-x86_64",
            "-machine",
            "q35,kernel-irqchip=off,memory-backend=ram",
            "-accel",
            "tcg",
            "-cpu",
            "max",
        ),
        *("-smp", "2", "-m", "1024", "-object", "memory-backend-memfd,id=ram,size=1G,share=on"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-device", "intel-iommu,intremap=on", "-kernel", str(chosen.image), "-initrd", str(image)),
        *("-append", "console=ttyS0 intel_iommu=on iommu=nopt quiet panic=-1"),
        *("-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"),
        *("-device", "pcie-root-port,id=root,chassis=1,slot=1"),
        *("-object", f"memory-backend-file,id=gpu,size={MEMORY},share=on,mem-path={memory}"),
        *("-device", "ivshmem-plain,memdev=gpu,bus=root,addr=0.1"),
        *("-device", f"x-pci-proxy-dev,id=card,fd={line.fileno()},bus=root,addr=0.0,multifunction=on"),
    ]


def python() -> list[str | Path]:
    """This one, with its packages, for `played`."""
    return ["env", f"PYTHONPATH={ROOT / 'src'}:{ROOT}", sys.executable]
