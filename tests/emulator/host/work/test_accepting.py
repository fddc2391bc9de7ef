"""Who books results says what has been booked twice, though it never should be."""

from unittest import mock

from ringhil.emulator.host.work.accepting import Accepting, WorkCount


def test_a_result_that_is_booked_twice_is_counted() -> None:
    work = WorkCount(units=9)
    accepting, card, result = Accepting(work), mock.Mock(completed=0, strikes={}), mock.Mock(unit=3, digest=5, source=1)
    for times in range(3):
        accepting.accept(card, result)
        assert (work.completed, work.duplicated, card.completed) == (times + 1, times, times + 1)
