"""Runs inside of the machine of `nested.py`: lends its GPU by libvirt, and prints what it sees, a document a line.

Arguments: the image of a guest, and the file with its settings.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ringhil.emulator.lending.attachment import AttachmentError
from ringhil.emulator.lending.libvirt import LibvirtAttachment
from ringhil.emulator.lending.pci import PciAddress

GPU, ONE, TWO = "a.3", "i-0000002d", "i-0000002e"
PLACES = {GPU: PciAddress.of("0000:01:00.0")}
SAID = Path("/run/said")
DOMAIN = """<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>{name}</name>
<memory unit='MiB'>128</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type><kernel>{image}</kernel><initrd>{settings}</initrd></os>
<features><acpi/></features>
<devices><controller type='usb' model='none'/><memballoon model='none'/></devices>
<qemu:commandline><qemu:arg value='-debugcon'/><qemu:arg value='file:{said}'/></qemu:commandline></domain>"""


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


def virsh(*words: str | Path) -> None:
    subprocess.run(["virsh", "--quiet", *words], check=True)
    time.sleep(1)  # what is known of guests may be as old as that


def asked(step: Callable[[], bool], times: int = 20) -> bool:
    """Until it says yes."""
    return any(step() for _ in range(times))


def refused(step: Callable[[], bool]) -> str:
    try:
        return f"not refused: {step()}"
    except AttachmentError as error:
        return str(error)


def computed(name: str) -> str:
    """What the guest has said when it has computed."""
    said = SAID / name
    end = time.monotonic() + 120
    while time.monotonic() < end:
        text = said.read_text() if said.exists() else ""
        if "launch" in text or "failed" in text:
            return text
        time.sleep(0.2)
    return text


def main(image: str, settings: str) -> None:
    """The whole of it."""
    SAID.mkdir()
    gpus = LibvirtAttachment(PLACES)
    for name in (ONE, TWO):
        tell(guest=name, before=gpus.guest(name).value)
        file = Path(f"/run/{name}.xml")
        file.write_text(DOMAIN.format(name=name, image=image, settings=settings, said=SAID / name))
        virsh("define", file)
        tell(guest=name, defined=gpus.guest(name).value)
    (found,) = gpus.gpus()
    tell(functions=[str(each) for each in found.functions], memory=found.memory)
    tell(down=asked(lambda: gpus.attach(GPU, ONE), 1) if gpus.bind(GPU) else None)
    virsh("start", ONE)  # alone: an emulated guest that waits takes a processor
    tell(bound=[gpus.bind(GPU), gpus.bind(GPU)], drivers=sorted(gpus.bound()))
    tell(attached=[gpus.attach(GPU, ONE), gpus.attach(GPU, ONE)], held=dict(gpus.held()))
    tell(said=computed(ONE))
    again = LibvirtAttachment(PLACES)  # as after a restart of the server
    tell(held=dict(again.held()), drivers=sorted(again.bound()))
    tell(
        refused=[
            refused(lambda: again.attach(GPU, TWO)),
            refused(lambda: again.scrub(GPU)),
            refused(lambda: again.unbind(GPU)),
        ]
    )
    virsh("destroy", ONE)
    virsh("start", ONE)
    tell(restarted=dict(again.held()), attached=asked(lambda: again.attach(GPU, ONE)))
    tell(said=computed(ONE))
    tell(detached=[asked(lambda: again.detach(GPU)), again.detach(GPU)], held=dict(again.held()))
    tell(free=[again.reset(GPU), again.scrub(GPU), again.unbind(GPU), again.unbind(GPU)], drivers=sorted(again.bound()))
    tell(guest=ONE, after=again.guest(ONE).value)


if __name__ == "__main__":
    main(*sys.argv[1:])
