"""The watch that judges every count: strict once things have settled, and while they settle no laxer than it must."""

from typing import Literal

import pytest

from ringhil.emulator.scenario import GpuRef, LinkRef, Settings, TimelineEvent
from ringhil.emulator.server.bounds import Bounds
from ringhil.emulator.server.watch import CardWatch
from ringhil.firmware.actions import Counted

SIZE = 5
BOUNDS = Bounds(SIZE, Settings(), True)
EVERYBODY = (0, 1, 2, 3, 4)


class Bench:
    def __init__(self) -> None:
        self.watch = CardWatch("a", SIZE, 0, BOUNDS)

    def event(self, at: int, action: Literal["fault", "clear"], kind: str, place: int) -> None:
        link = kind == "link_cut"
        target = LinkRef("a", place, SIZE) if link else GpuRef("a", place)
        event = TimelineEvent(at, action, kind, target, count=None, line=1)
        self.watch.event(event, None if link else place, place if link else None, at)

    def wrong(self, at: int, members: tuple[int, ...] | None, count: int | None = None, sent: int = 0) -> bool:
        """Whether this count is held to be wrong."""
        before = len(self.watch.wrong)
        count = len(members or ()) if count is None else count
        sent_at = sent or at - 50
        self.watch.action(Counted(count, members, "ring", None, None, 1, sent_at), at)
        return len(self.watch.wrong) > before


def test_on_a_healthy_ring_only_everybody_is_right() -> None:
    bench = Bench()
    assert not bench.wrong(100, EVERYBODY)
    assert not bench.wrong(100, None, 5)
    assert bench.wrong(100, (0, 1, 2, 3))
    assert bench.wrong(100, EVERYBODY, 6)
    assert bench.wrong(100, EVERYBODY, 4)
    assert bench.wrong(100, None, 4)


@pytest.mark.parametrize("kind", ["dead", "hang", "babble"])
def test_a_failed_gpu_may_be_found_until_things_have_settled(kind: str) -> None:
    bench = Bench()
    bench.event(1000, "fault", kind, 3)
    settled = 1000 + BOUNDS.settling(kind)
    assert not bench.wrong(1040, EVERYBODY)
    assert not bench.wrong(1040, (0, 1, 2, 4))
    assert bench.wrong(1040, (0, 1, 2, 3))
    assert not bench.wrong(settled + 60, EVERYBODY, sent=settled)
    assert bench.wrong(settled + 60, EVERYBODY, sent=settled + 1)
    assert bench.wrong(settled + 60, None, 5, sent=settled + 1)
    assert not bench.wrong(settled + 60, (0, 1, 2, 4), sent=settled + 1)


def test_each_gpu_settles_in_its_own_time() -> None:
    """One is still muted while another, which failed before it, is already back."""
    bench = Bench()
    bench.event(1000, "fault", "hang", 1)
    bench.event(3000, "fault", "babble", 2)
    bench.event(6000, "clear", "babble", 2)
    bench.event(6500, "clear", "hang", 1)
    assert not bench.wrong(7000, (0, 1, 3, 4))
    assert not bench.wrong(7000, EVERYBODY)
    assert bench.wrong(7000, (0, 3, 4))
    assert bench.wrong(7000, (0, 1, 2, 4))
    assert bench.wrong(9999, (0, 1, 3, 4))


def test_a_liar_changes_nothing_about_the_truth() -> None:
    bench = Bench()
    bench.event(1000, "fault", "double_count", 3)
    assert not bench.wrong(1100, EVERYBODY)
    assert bench.wrong(1100, None, 6)


def test_behind_two_cuts_nobody_may_be_found() -> None:
    bench = Bench()
    bench.event(1000, "fault", "link_cut", 1)
    bench.event(1000, "fault", "link_cut", 3)
    assert not bench.wrong(1050, EVERYBODY)
    assert not bench.wrong(5000, (0, 1, 4))
    assert bench.wrong(5000, EVERYBODY)
    assert bench.wrong(5000, (0, 1))


def test_who_cannot_be_heard_lying_need_not_be_named() -> None:
    bench = Bench()
    bench.event(1000, "fault", "dead", 3)
    bench.event(5000, "fault", "corrupt", 3)
    assert all(recovery.ok for recovery in bench.watch.recoveries())


def test_who_is_heard_lying_must_be_named() -> None:
    bench = Bench()
    bench.event(5000, "fault", "corrupt", 3)
    assert not any(recovery.ok for recovery in bench.watch.recoveries())


def test_nobody_is_judged_while_another_fault_of_the_same_gpu_lies() -> None:
    bench = Bench()
    bench.event(1000, "fault", "dead", 3)
    bench.event(1100, "fault", "corrupt", 3)
    bench.event(5000, "clear", "dead", 3)
    assert bench.watch.recoveries()[-1].ok


def test_an_event_whose_time_was_up_is_late_whatever_happens_later() -> None:
    late, overtaken = Bench(), Bench()
    bound = BOUNDS.recovery("fault", "dead")
    for bench, next_event in ((late, 1000 + bound + 1), (overtaken, 1000 + bound)):
        bench.event(1000, "fault", "dead", 3)
        bench.event(next_event, "fault", "dead", 2)
    assert not late.watch.recoveries()[0].ok
    assert overtaken.watch.recoveries()[0].ok
