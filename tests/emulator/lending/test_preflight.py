"""Whether a machine can lend its GPUs, and the XML that libvirt loads for them (V3, V4)."""

import json
import socket
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import refusal, ringhil

from ringhil.emulator.lending.pci import PciAddress, gpus

GPU, SOUND, BRIDGE, DISK = "0x030200", "0x040300", "0x060400", "0x010802"


def device(root: Path, address: str, kind: str, group: int | None, driver: str = "") -> None:
    """As Linux shows it."""
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    for name, text in (("class", kind), ("vendor", "0x10de"), ("device", "0x2330")):
        (folder / name).write_text(f"{text}\n")
    if group is not None:
        (folder / "iommu_group").symlink_to(f"../../../kernel/iommu_groups/{group}")
        (root / "sys/kernel/iommu_groups" / str(group)).mkdir(parents=True, exist_ok=True)
    if driver:
        (folder / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")


def machine(root: Path) -> None:
    """One that can lend all of its GPUs, but for what is on the PATH."""
    device(root, "0000:00:01.0", BRIDGE, 1, "pcieport")
    device(root, "0000:02:00.0", GPU, 1, "nvidia")
    device(root, "0000:02:00.1", SOUND, 1)
    device(root, "0000:03:00.0", GPU, 2, "vfio-pci")
    (root / "sys/class/iommu/dmar0").mkdir(parents=True)
    (root / "sys/bus/pci/drivers/vfio-pci").mkdir(parents=True)
    for name, text in (("proc/cpuinfo", "flags\t\t: fpu vmx\n"), ("proc/cmdline", "ro intel_iommu=on iommu=pt\n")):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    (root / "dev").mkdir()
    (root / "dev/kvm").touch()
    (root / "run/libvirt").mkdir(parents=True)
    (root / "bin").mkdir()
    for name in ("qemu-system-x86_64", "qemu-system-aarch64"):
        (root / "bin" / name).touch(0o755)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    machine(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")  # where QEMU is installed, it is not found
    return tmp_path


def looked(root: Path, *words: str) -> tuple[int, dict[str, dict[str, object]], list[dict[str, object]]]:
    """Exit code, checks by name and GPU, GPUs."""
    line = socket.socket(socket.AF_UNIX)
    line.bind(str(root / "run/libvirt/libvirt-sock"))
    line.listen()
    with line:
        done = ringhil("lend", "preflight", "--sysroot", root, "--json", *words)
    (root / "run/libvirt/libvirt-sock").unlink()
    found = json.loads(done.stdout)
    assert found["ok"] == (done.returncode == 0)
    return done.returncode, {f"{c['check']} {c['gpu'] or ''}".strip(): c for c in found["checks"]}, found["gpus"]


def test_of_a_machine_that_has_all_nothing_is_missing(root: Path) -> None:
    code, checks, found = looked(root)
    assert {name: check["missing"] for name, check in checks.items() if check["missing"]} == {}
    assert code == 0
    assert [gpu["functions"] for gpu in found] == [["0000:02:00.0", "0000:02:00.1"], ["0000:03:00.0"]]
    assert checks["iommu group 0000:02:00.0"]["found"] == "group 1"


def _without_iommu(root: Path) -> None:
    (root / "sys/class/iommu/dmar0").rmdir()
    for group in (root / "sys/kernel/iommu_groups").iterdir():
        group.rmdir()
    (root / "proc/cmdline").write_text("ro quiet\n")


BROKEN = {
    "qemu": lambda root: [each.unlink() for each in (root / "bin").iterdir()],
    "iommu": _without_iommu,
    "kernel parameters": _without_iommu,
    "vfio-pci": lambda root: (root / "sys/bus/pci/drivers/vfio-pci").rmdir(),
    "iommu group 0000:03:00.0": lambda root: device(root, "0000:04:00.0", DISK, 2),
    "iommu group 0000:05:00.0": lambda root: device(root, "0000:05:00.0", GPU, None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_missing_is_named_with_how_to_get_it(name: str, root: Path) -> None:
    BROKEN[name](root)
    code, checks, _ = looked(root)
    assert code == 1
    assert checks[name]["ok"] is False
    assert checks[name]["missing"]
    others = {each for each, check in checks.items() if not check["ok"]} - {name}
    assert others <= {"iommu", "kernel parameters"}


def test_what_only_makes_it_slow_is_no_failure(root: Path) -> None:
    (root / "dev/kvm").unlink()
    (root / "proc/cpuinfo").write_text("flags : fpu\n")
    code, checks, _ = looked(root)
    assert code == 0
    assert checks["kvm"]["missing"]
    assert checks["processor"]["missing"]


def test_without_libvirt_it_says_so(root: Path) -> None:
    done = ringhil("lend", "preflight", "--sysroot", root)
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("libvirt")]
    assert "missing" in line


def test_the_xml_of_a_gpu_has_all_of_its_functions(root: Path) -> None:
    said = ringhil("lend", "preflight", "--sysroot", root, "0000:02:00.1", "--xml").stdout
    assert said == (
        "<hostdev mode='subsystem' type='pci' managed='no'>\n"
        "  <source>\n"
        "    <address domain='0x0000' bus='0x02' slot='0x00' function='0x0'/>\n"
        "  </source>\n"
        "</hostdev>\n"
        "<hostdev mode='subsystem' type='pci' managed='no'>\n"
        "  <source>\n"
        "    <address domain='0x0000' bus='0x02' slot='0x00' function='0x1'/>\n"
        "  </source>\n"
        "</hostdev>\n"
    )


ADDRESSES = st.builds(PciAddress, st.integers(0, 0xFFFF), st.integers(0, 0xFF), st.integers(0, 31), st.integers(0, 7))


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(ADDRESSES, st.tuples(st.sampled_from([GPU, SOUND, BRIDGE, DISK]), st.none() | st.integers(0, 3)))
)
def test_each_function_of_a_gpu_is_lent_with_it_and_with_no_other(
    there: dict[PciAddress, tuple[str, int | None]],
) -> None:
    with TemporaryDirectory() as folder:
        for address, (kind, group) in there.items():
            device(Path(folder), str(address), kind, group)
        found = gpus(Path(folder))
    firsts = {address for address, (kind, _) in there.items() if kind == GPU and address.function == 0}
    assert {gpu.address for gpu in found} == firsts
    for gpu in found:
        mine = sorted(address for address in there if address.device == gpu.address.device)
        assert parsed(gpu.hostdevs) == mine
        groups = {there[each][1] for each in mine} - {None}
        others = {a for a, (kind, group) in there.items() if group in groups and a not in mine and kind != BRIDGE}
        assert {each.address for each in gpu.beside} == others
    assert all(PciAddress.of(str(address)) == address for address in there)


def parsed(text: str) -> Sequence[PciAddress]:
    """Addresses of all <hostdev>, which have as many digits as V4 says."""
    found = []
    for element in ElementTree.fromstring(f"<all>{text}</all>").iter("address"):
        digits = [element.attrib[name].removeprefix("0x") for name in ("domain", "bus", "slot", "function")]
        assert [len(each) for each in digits] == [4, 2, 2, 1]
        found.append(PciAddress(*(int(each, 16) for each in digits)))
    return found


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["02:00.0"], "found '02:00.0'; allowed is a PCI address such as 0000:02:00.0"),
        (["0000:02:20.0"], "found '0000:02:20.0'; allowed is a PCI address"),
        (["0000:07:00.0"], "0000:07:00.0: there is no GPU; there are: 0000:02:00.0, 0000:03:00.0"),
        (["--sysroot", "nowhere"], "'nowhere'"),
    ],
)
def test_what_is_wrong_is_one_line(words: list[str], says: str, root: Path) -> None:
    assert says in refusal("lend", "preflight", "--sysroot", root, *words)
