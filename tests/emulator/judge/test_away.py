"""From when until when a GPU was not counted."""

from types import SimpleNamespace

import pytest

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.contexts.absent_gpus import Away

GPU, OTHER, FAR = (1, 2), (1, 0), (0, 2)


@pytest.fixture
def seen() -> Away:
    """GPU 2 of card 1 was away from cycle 20 to 40, and from 50 on."""
    card, far = SimpleNamespace(size=3, members=()), SimpleNamespace(size=3, members=())
    away = Away(Stream(), [far, card])  # type: ignore[list-item]
    for now, members in ((5, ()), (10, (0, 1, 2)), (20, (0, 1)), (30, (0, 1)), (35, ()), (40, (0, 1, 2)), (50, (0,))):
        card.members = members
        away.counted(1, now)
    far.members = (0, 1, 2)
    away.counted(0, 55)
    card.members = ()
    away.counted(1, 60)
    return away


@pytest.mark.parametrize(
    ("since", "by", "away"),
    [(0, 19, False), (0, 20, True), (25, 30, True), (40, 45, True), (41, 49, False), (41, 50, True), (90, 99, True)],
)
def test_one_that_was_not_counted_was_away(seen: Away, since: int, by: int, away: bool) -> None:
    assert seen.within(GPU, since, by) == away


def test_others_were_not(seen: Away) -> None:
    assert not seen.within(OTHER, 0, 99)
    assert not seen.within(FAR, 0, 99)
    assert seen.within((1, 1), 50, 99)


@pytest.mark.parametrize(("since", "first"), [(0, 20), (25, 25), (41, 50), (60, 60)])
def test_it_is_away_from_then_on(seen: Away, since: int, first: int) -> None:
    assert seen.first(GPU, since) == first
    assert seen.first(OTHER, since) is None
