"""`link.e2e`: a good frame leaves with a right end-to-end CRC, unless it came, or was written, with a wrong one."""

import random
from collections.abc import Sequence

from ringhil.emulator.conformance.data_frames import Place
from ringhil.emulator.conformance.end_to_end import checked
from ringhil.emulator.conformance.frames import other_control, statistics
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Action, Fault, Post, Stimulus

RNG = random.Random(1)
CONTROL = RingFrame.of(other_control(RNG, home=3))
DATA, OTHER = (Place(RNG).work(0, home) for home in (3, 2))


def complaints(
    left: RingFrame, arrived: Sequence[RingFrame] = (), actions: Sequence[Action] = (), link: str = "p2"
) -> list[str]:
    """What is said of a frame that leaves."""
    observed = Observed()
    observed.left[link].append(left)
    observed.arrived["p1"] += arrived
    return [breach.what for breach in checked(Stimulus.of(actions), observed)]


def test_right_ones_pass() -> None:
    for frame in (CONTROL, DATA, RingFrame.of(statistics(RNG, records=2, flags=2))):
        assert complaints(frame) == []


def test_a_wrong_one_is_named() -> None:
    for frame in (CONTROL, DATA):
        (what,) = complaints(frame.with_bad_e2e_crc())
        assert what.startswith(f"p2: a {frame.kind} frame with end-to-end CRC 0x")


def test_one_that_came_so_goes_on_so() -> None:
    came = DATA.with_ttl(4).with_bad_e2e_crc()
    assert complaints(DATA.with_ttl(3).with_bad_e2e_crc(), [came]) == []
    assert complaints(DATA.with_ttl(3).with_bad_e2e_crc(), [DATA.with_ttl(4)]) != []
    assert complaints(DATA.with_ttl(3).with_bad_e2e_crc(), [OTHER.with_bad_e2e_crc()]) != []


def test_one_that_was_written_so_leaves_so() -> None:
    wrong = CONTROL.with_bad_e2e_crc()
    assert complaints(wrong, actions=[Post(0, 0, wrong.data)]) == []
    assert complaints(wrong, actions=[Post(0, 0, CONTROL.data)]) != []


def test_a_corrupt_gpu_damages_control_frames_only() -> None:
    corrupt = [Fault(0, "corrupt", True)]
    assert complaints(CONTROL.with_bad_e2e_crc(), [CONTROL], corrupt) == []
    assert complaints(DATA.with_bad_e2e_crc(), [DATA], corrupt) != []


def test_a_marked_frame_may_have_any() -> None:
    assert complaints(CONTROL.with_bad_e2e_crc().marked()) == []
