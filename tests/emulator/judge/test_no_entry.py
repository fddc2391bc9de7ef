"""For how long cards had no entry GPU."""

import pytest

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.contexts.absent_gpus import NoEntry

LONG = 700  # a hundred times the patience


@pytest.fixture
def seen() -> NoEntry:
    """Card 1 had none from cycle 1,000 to 1,699, and from 2,000 to 2,700."""
    seen = NoEntry(Stream(), 7)
    for card in (0, 1):
        seen.granted(card, 90)
    for lapsed, granted in ((1000, 1699), (2000, 2700)):
        seen.lapsed(1, lapsed)
        seen.granted(1, granted)
    return seen


def test_one_that_had_none_for_long_excuses_from_then_on(seen: NoEntry) -> None:
    assert [seen.excuses(1, by) for by in (1699, 2000, 2699, 2700, 9000)] == [False, False, False, True, True]
    assert not seen.excuses(0, 9000)


def test_one_that_has_none_excuses_as_soon_as_that_is_long() -> None:
    seen = NoEntry(Stream(), 7)
    seen.granted(0, 5)
    seen.lapsed(0, 1000)
    seen.lapsed(0, 1500)
    assert [seen.excuses(0, by) for by in (900, 1000, 999 + LONG, 1000 + LONG)] == [False, False, False, True]
    seen.granted(0, 1600)
    assert not seen.excuses(0, 9000)


def test_one_that_never_had_one_has_none_from_the_beginning() -> None:
    seen = NoEntry(Stream(), 7)
    assert [seen.excuses(0, by) for by in (LONG - 1, LONG)] == [False, True]
    assert [seen.lasts(0, by) for by in (LONG - 1, LONG)] == [False, True]
    assert [seen.excuses(0, by, 100) for by in (LONG + 99, LONG + 100)] == [False, True]


def test_what_was_before_somebody_asked_excuses_nothing(seen: NoEntry) -> None:
    assert [seen.excuses(1, 9000, since) for since in (0, 2000, 2001, 5000)] == [True, True, False, False]


def test_it_lasts_until_there_is_one_again(seen: NoEntry) -> None:
    assert not seen.lasts(1, 9000)
    assert not seen.lasts(0, 9000)
    seen.lapsed(1, 9000)
    assert [seen.lasts(1, now) for now in (8999 + LONG, 9000 + LONG)] == [False, True]


def test_how_long_there_was_none(seen: NoEntry) -> None:
    spans = (0, 90), (0, 9000), (1000, 1699), (1200, 2100), (1699, 2000), (2699, 9000)
    assert [seen.time(1, *span) for span in spans] == [90, 90 + 699 + 700, 699, 499 + 100, 0, 1]
    assert not seen.anywhere
    seen.lapsed(0, 5000)
    assert seen.anywhere
    assert [seen.time(0, 4000, by) for by in (4500, 5000, 5009)] == [0, 0, 9]
