"""Why it came to something, read off recordings that are as short as they can be."""

from pathlib import Path

import pytest

from ringhil.emulator.debug.causes import why
from ringhil.emulator.events.hardware import FRAMES
from ringhil.emulator.trace.recording import About, Recording, RecordingWriter
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.wire import Port, Role

ABOUT = About(ringhil="1", rtl="0", name="n", scenario="server: {}\n", firmware=[], nodes=[])
HEARD, SENT = (next(kind for kind in FRAMES if way == kind.WAY) for way in ("to_firmware", "from_firmware"))


def keepalive(epoch: int, role: Role, *, sequence: int = 1, echo: int = 0) -> bytes:
    return codec.encode(
        Keepalive(
            card=0, flags=0, ttl=4, destination=0, epoch=epoch, sequence=sequence, my_discriminator=1 << 16,
            your_discriminator=0, role=role.code, priority=0, multiplier=3, state=0, interval=400, members=0, echo=echo,
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


def test_a_keepalive_that_was_answered_has_no_part_in_the_end_of_a_lease(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", ABOUT, ["a.0"]) as writer:
        writer.event(1, 0, "Elected", {"role": "entry", "epoch": 7})
        for sequence in (4, 5, 6):
            sent = keepalive(7, Role.ENTRY, sequence=sequence)
            writer.message(SENT(sequence, 0, Port.CPU.code, sent, False))
        answer = keepalive(7, Role.ENTRY, sequence=1, echo=5)
        writer.message(HEARD(50, 0, Port.CPU.code, answer, False))
        writer.event(400, 0, "Deposed", {"role": "entry", "epoch": 7, "why": "lease"})
        writer.end({})
    with Recording(tmp_path / "r") as recording:
        chain = why(recording, "role", 6)
    assert [told.number for told in chain] == [4, 5, 6]


def test_a_count_has_to_do_with_all_since_the_one_before_of_the_same_gpu(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r", ABOUT, ["a.0", "b.0", "b.1"]) as writer:
        writer.event(10, 1, "Counted", {"sequence": 1})
        writer.event(15, None, "Struck", {"fault": "dead", "gpu": "b.1"})
        writer.event(20, 0, "Counted", {"sequence": 1})
        writer.event(30, 1, "Counted", {"sequence": 2})
        writer.end({})
    with Recording(tmp_path / "r") as recording:
        chain = why(recording, "count", 4)
    assert [told.number for told in chain] == [2, 4]
