"""A member at the edges of its times and numbers."""

from dataclasses import replace

import pytest

from ringhil.firmware.commands import Tell
from ringhil.firmware.election import FOLLOWER, HOLDER, UPLINK
from ringhil.firmware.observations import Deposed

from .member_bench import CONFIG, DETECTION, INTERVAL, SLACK, Bench


@pytest.mark.parametrize(
    ("later", "news"), [(0, False), (0x7FFF, True), (0x8000, True), (0x8001, False), (0xFFFF, False)]
)
def test_a_boot_is_a_later_one_up_to_half_the_circle(later: int, news: bool) -> None:
    """By 16 bits: half a circle away it can't be said, and is believed."""
    bench = Bench(rank=1)
    bench.peer(0, FOLLOWER | UPLINK, 1, sequence=9, boots=7)
    bench.peer(0, HOLDER | UPLINK, 1, sequence=9, boots=(7 + later) & 0xFFFF)
    assert (bench.member.peers[0].state == HOLDER) is news


@pytest.mark.parametrize("jitter", [0, 1, 12])
def test_all_intervals_within_the_jitter_come(jitter: int) -> None:
    config = replace(CONFIG, jitter=jitter, slack=SLACK)
    assert {config.next_tick(n) for n in range(500)} == {*range(INTERVAL - jitter, INTERVAL + 1)}


def test_who_has_never_been_answered_asks_until_a_detection_time_after_its_boot() -> None:
    """Then it has no uplink."""
    bench = Bench()
    bench.wait(DETECTION)
    asked = len(bench.claims())
    assert asked >= 3
    bench.wait(10 * INTERVAL)
    assert len(bench.claims()) == asked


def test_all_better_ones_are_counted_until_a_detection_time_after_the_boot() -> None:
    member = Bench(rank=2).member
    started = member._started_at
    assert [member._place(started + after) for after in (0, DETECTION, DETECTION + 1)] == [2, 2, 0]


def test_a_lease_that_ends_with_a_tick_is_laid_down_before_its_keepalives_leave() -> None:
    bench = Bench()
    bench.elect()
    bench.member.lease_until = bench.now
    actions = bench.member.on_timer("entry.tick", bench.now)
    (laid_down,) = (n for n, each in enumerate(actions) if isinstance(each, Deposed))
    said = [n for n, each in enumerate(actions) if isinstance(each, Tell)]
    assert said
    assert laid_down < min(said)
