"""Why it came to something, read off recordings that are as short as they can be."""

from pathlib import Path

import pytest

from ringhil.emulator.debug.causes import why
from ringhil.emulator.kernel.observations import FRAMES
from ringhil.emulator.trace.recording import About, Recording, RecordingWriter
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import Port, Role

ABOUT = About(ringhil="1", rtl="0", name="n", scenario="server: {}\n", firmware=[], nodes=[])
HEARD, SENT = (next(kind for kind in FRAMES if way == kind.WAY) for way in ("to_firmware", "from_firmware"))


def keepalive(epoch: int, role: Role) -> bytes:
    return codec.encode(
        Keepalive(
            card=0, flags=0, ttl=4, destination=0, epoch=epoch, sequence=1, my_discriminator=1 << 16,
            your_discriminator=0, role=role.code, priority=0, multiplier=3, state=0, interval=400, members=0, echo=0,
            holder=0,
        )
    )  # fmt: skip


@pytest.mark.parametrize(("epoch", "role", "named"), [
    (8, Role.ENTRY, True),
    (9, Role.ENTRY, True),
    (7, Role.ENTRY, False),
    (8, Role.BOUNDARY, False),
])  # fmt: skip
def test_who_speaks_of_a_higher_epoch_ends_a_lease(tmp_path: Path, epoch: int, role: Role, named: bool) -> None:
    with RecordingWriter(tmp_path / "r", ABOUT, ["a.0", "a.1"]) as writer:
        writer.event(1, 0, "Elected", {"role": "entry", "epoch": 7})
        writer.message(HEARD(50, 0, Port.CW.code, keepalive(epoch, role), False))
        writer.event(50, 0, "Deposed", {"role": "entry", "epoch": 7, "why": "fenced"})
        writer.end({})
    with Recording(tmp_path / "r") as recording:
        chain = why(recording, "role", 3)
    assert [told.number for told in chain] == ([2, 3] if named else [3])


def test_of_a_long_chain_the_last_are_shown(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", ABOUT, ["a.0"]) as writer:
        writer.event(1, 0, "Elected", {"role": "entry", "epoch": 7})
        for cycle in range(300):  # asked in vain
            writer.message(SENT(cycle, 0, Port.CPU.code, keepalive(7, Role.ENTRY), False))
        writer.event(400, 0, "Deposed", {"role": "entry", "epoch": 7, "why": "lease"})
        writer.end({})
    with Recording(tmp_path / "r") as recording:
        chain = why(recording, "role", 302)
    assert [told.number for told in chain] == list(range(102, 303))
