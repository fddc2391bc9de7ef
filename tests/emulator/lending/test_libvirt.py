"""GPUs lent by libvirt: a whole cycle on a machine with an IOMMU, and what is refused at the start (V4, V5, V7)."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.command import refusal

from ringhil.emulator.judge.oracle.work import digest
from ringhil.emulator.lending.attachment import AttachmentError
from ringhil.emulator.lending.libvirt import LibvirtAttachment
from ringhil.emulator.lending.pci import PciAddress

from . import nested
from .test_preflight import DISK, GPU, device, machine

GUEST = nested.ROOT / "examples/guest"
BYTES, SEED = 3000, 7
needs_virsh = pytest.mark.skipif(shutil.which("virsh") is None, reason="virsh isn't installed: libvirt-clients")


def data() -> bytes:
    """What the guest computes on, by its page."""
    state, made = SEED, bytearray()
    for _ in range(BYTES):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        made.append(state >> 24)
    return bytes(made)


@pytest.mark.slow(part="outside")
@pytest.mark.skipif(bool(nested.missing()), reason=f"no {', '.join(nested.missing())}: {nested.GET}")
def test_a_guest_of_libvirt_gets_the_gpu_through_vfio_and_gives_it_back(tmp_path: Path) -> None:
    """It computes on the GPU's RTL. Bound, attached or detached twice is once; another guest doesn't get it, and one
    that has started anew gets it again. In the end its memory is zero."""
    subprocess.run(["make", "-s", "-C", GUEST, f"BUILD={tmp_path}"], check=True)
    (tmp_path / "settings").write_text(f"bytes={BYTES}\nseed={SEED}\nstay=1\n")
    script = Path(__file__).with_name("inside.py")
    told = nested.played(tmp_path, [*nested.python(), script, tmp_path / "guest.elf", tmp_path / "settings"])
    gpu, one, two = "a.3", "i-0000002d", "i-0000002e"
    found = [{name: value for name, value in each.items() if name != "said"} for each in told.documents]
    assert [each for each in found if each] == [
        {"guest": one, "before": "unknown"},
        {"guest": one, "defined": "down"},
        {"guest": two, "before": "unknown"},
        {"guest": two, "defined": "down"},
        {"functions": ["0000:01:00.0", "0000:01:00.1"], "memory": nested.MEMORY},
        {"down": False},
        {"bound": [True, True], "drivers": [gpu]},
        {"attached": [True, True], "held": {gpu: one}},
        {"held": {gpu: one}, "drivers": [gpu]},
        {"refused": [f"{gpu}: {one} has it", *[f"{gpu}: {one} has it; detach it first"] * 2]},
        {"restarted": {}, "attached": True},
        {"detached": [True, True], "held": {}},
        {"free": [True, True, True, True], "drivers": []},
        {"guest": one, "after": "up"},
    ], told.console[-2000:]
    for said in (str(each["said"]) for each in told.documents if "said" in each):
        assert f"digest 0000 {digest(data()):016x} " in said
    assert told.memory == bytes(nested.MEMORY)


@needs_virsh
def test_gpus_that_cannot_be_lent_are_refused_at_the_start(tmp_path: Path) -> None:
    machine(tmp_path)
    device(tmp_path, "0000:04:00.0", GPU, 3)
    device(tmp_path, "0000:05:00.0", DISK, 3)
    device(tmp_path, "0000:06:00.0", GPU, None)
    for address, why in {
        "0000:07:00.0": "no GPU at 0000:07:00.0; there are 0000:02:00.0, ",
        "0000:05:00.0": "no GPU at 0000:05:00.0",
        "0000:04:00.0": "the IOMMU group of 0000:04:00.0 has 0000:05:00.0, too; lend all or none",
        "0000:06:00.0": "0000:06:00.0 is in no IOMMU group",
    }.items():
        with pytest.raises(AttachmentError, match=f"^a.3: {why}"):
            LibvirtAttachment({"a.3": PciAddress.of(address)}, "test:///default", tmp_path)
    with pytest.raises(AttachmentError, match=r"^virsh version: .*libvirt"):
        LibvirtAttachment({"a.3": PciAddress.of("0000:02:00.0")}, "no-such:///system", tmp_path)


@pytest.mark.rest(but_one_in=4)
@needs_virsh
@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "--gpu: wanted with --attachment libvirt, GPU=ADDRESS for each GPU that may be lent"),
        (
            ["--gpu", "a.9=0000:02:00.0"],
            "--gpu: found 'a.9=0000:02:00.0'; allowed is GPU=ADDRESS, once for each of a.0, ",
        ),
        (["--gpu", "a.1"], "--gpu: a.1: found ''; allowed is a PCI address such as 0000:02:00.0"),
        (["--gpu", "a.1=ffff:ff:1f.0", "--gpu", "a.2=ffff:ff:1f.1"], "--gpu: a.2: ffff:ff:1f.1 is that of another GPU"),
        (["--gpu", "a.1=ffff:ff:1f.0", "--gpu", "a.1=ffff:ff:1e.0"], "--gpu: found 'a.1=ffff:ff:1e.0'; allowed is "),
        (["--gpu", "a.1=ffff:ff:1f.0"], "a.1: no GPU at ffff:ff:1f.0; there "),
        (["--attachment", "sim", "--gpu", "a.1=ffff:ff:1f.0"], "--gpu: wanted with --attachment libvirt"),
    ],
)
def test_which_gpus_of_the_machine_is_said_right_or_refused(tmp_path: Path, words: list[str], why: str) -> None:
    (tmp_path / "s.yaml").write_text("server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\n")
    line = refusal("lend", "serve", "s.yaml", "--attachment", "libvirt", *words, cwd=tmp_path)
    assert why in line
    assert [file.name for file in tmp_path.iterdir()] == ["s.yaml"]
