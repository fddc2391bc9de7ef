"""`compute.whole`: a result of the GPU's own says what the segments of its unit ask for."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ringhil.emulator.conformance.data_frames import Place
from ringhil.emulator.conformance.whole_results import whole
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.compute import digest
from ringhil.emulator.testbench.stimulus import Action, Fault, Stimulus
from ringhil.protocol.frames import Result, Work

BYTES = 600
PLACE = Place(random.Random(1), card=2, node=1, size=8)
UNIT = PLACE.unit(BYTES)


def digest_of(frames: Sequence[RingFrame]) -> int:
    """What a result says of these segments."""
    return digest(b"".join(frame.data[Work.HEAD.size : -8] for frame in frames))


def result(**other: int) -> RingFrame:
    """That of UNIT, with other values in some fields."""
    work = UNIT[0].message()
    assert isinstance(work, Work)
    code = digest_of(UNIT)
    head = (work.source_card, 4, 9, work.source, work.epoch, work.unit, PLACE.node, work.attempt, 0, 2, 0)
    return RingFrame.of(replace(Result(*head, code, BYTES, 700), **other))


def complaints(
    left: RingFrame, arrived: Sequence[RingFrame] = UNIT, actions: Sequence[Action] = (), again: RingFrame | None = None
) -> list[str]:
    """What is said of a result that leaves."""
    observed = Observed()
    observed.arrived["p1"] += arrived
    observed.arrived["p2"] += [again] if again is not None else []
    observed.left["p1"].append(left)
    return [breach.what for breach in whole(Stimulus.of(actions, **PLACE.straps), observed)]


def test_the_right_one_passes() -> None:
    assert complaints(result()) == []
    assert complaints(result(queued=3, cycles=5)) == []


@pytest.mark.parametrize("field", ["digest", "length", "status"])
def test_a_wrong_field_is_named(field: str) -> None:
    (what,) = complaints(result(**{field: 77}))
    assert what.startswith(f"p1: the result of unit 0x{result().data[12:16].hex().upper().lstrip('0')}: {field} is ")


def test_a_unit_that_lacks_a_segment_has_no_result() -> None:
    for lost in range(len(UNIT)):
        rest = UNIT[:lost] + UNIT[lost + 1 :]
        assert complaints(result(), rest) != []
        assert complaints(result(digest=digest_of(rest)), rest) != []
        assert complaints(result(), [*rest, UNIT[lost].with_bad_e2e_crc()]) != []


def test_nor_has_one_that_nobody_sent() -> None:
    assert complaints(result(attempt=5)) != []
    assert complaints(result(destination=5)) != []


def test_a_segment_that_comes_again_spoils_nothing() -> None:
    assert complaints(result(), [UNIT[0], *UNIT]) == []


def test_a_corrupt_gpu_flips_one_bit() -> None:
    right, corrupt = result().message(), [Fault(0, "corrupt", True)]
    assert isinstance(right, Result)
    assert complaints(result(digest=right.digest ^ 1), actions=corrupt) == []
    assert complaints(result(digest=right.digest ^ 3), actions=corrupt) != []
    assert complaints(result(digest=right.digest ^ 1)) != []


def test_anothers_result_is_left_alone() -> None:
    assert complaints(result(source=3, digest=77)) == []
    assert complaints(result(digest=77), again=result(digest=77)) == []
