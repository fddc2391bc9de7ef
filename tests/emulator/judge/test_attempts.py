"""A command is asked for again in its time; attempts that nobody has seen count, while the card had no entry GPU."""

from types import SimpleNamespace

import pytest

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.judge.contexts.absent_gpus import NoEntry
from ringhil.emulator.judge.contexts.attempts import Attempts
from ringhil.emulator.judge.contexts.commands_seen import SeenCommand
from ringhil.emulator.judge.contexts.context_events import FellSilent
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

PATIENCE = 100
ATTEMPT = 8 * PATIENCE
GPU = 3
LAUNCH, DESTROY, ALLOCATE = Compute.LAUNCH, Compute.DESTROY, Compute.ALLOCATE


class Card:
    """Commands to context 1 of a GPU, and from when to when the card has no entry GPU."""

    def __init__(self) -> None:
        self.view = SimpleNamespace(members=(1, GPU))
        stream = Stream()
        self.no_entry, self.told = NoEntry(stream, PATIENCE), list[tuple[int, int, int]]()
        self.no_entry.granted(0, 0)
        self.judge = Attempts(stream, [self.view], [(0, GPU, 1)], self.no_entry, PATIENCE)  # type: ignore[list-item]
        stream.listen(FellSilent, lambda o: self.told.append((o.command.unit, o.since, o.cycle)))

    def send(self, unit: int, attempt: int, now: int, compute: Compute = ALLOCATE, amount: int = 0) -> None:
        self.judge.sent(SeenCommand(unit, attempt, (0, GPU), 1, compute, 5, amount, 0, 0, 0, 0), now)

    def answer(self, unit: int, status: ResultStatus = ResultStatus.DONE, gpu: int = GPU) -> None:
        self.judge.heard(Result(0, 0, 9, 0, 1, unit, gpu, 1, status.code, 0, 0, 0, 16, 0))

    def refuse(self, unit: int, reason: AckStatus) -> None:
        self.judge.heard(Acknowledgement(0, 0, 9, 0, 1, unit, GPU, 1, reason.code, 0, 0))

    def lapses(self, now: int, attempts: int) -> int:
        """For so long; until when?"""
        self.no_entry.lapsed(0, now)
        self.no_entry.granted(0, now + attempts * ATTEMPT)
        self.judge.look(now + attempts * ATTEMPT)
        return now + attempts * ATTEMPT


@pytest.mark.parametrize(("seen", "unseen", "silent"), [(19, 1, True), (19, 0, False), (9, 11, True), (9, 10, False)])
def test_seen_and_unseen_ones_together_are_many(seen: int, unseen: int, silent: bool) -> None:
    card = Card()
    card.send(7, 1, 20)
    card.send(7, seen, 900)
    end = card.lapses(1000, unseen)
    assert card.told == [(7, 900, end)] * silent
    card.lapses(end + 50, 20)
    assert len(card.told) == 1


def test_twenty_that_were_seen_are_told_by_who_sees_them() -> None:
    card = Card()
    card.send(7, 25, 900)
    card.judge.look(9000)
    assert card.told == []


def test_before_it_was_asked_and_while_there_is_an_entry_no_time_counts() -> None:
    card = Card()
    card.send(7, 15, card.lapses(1000, 19))
    card.judge.look(500_000)
    assert card.told == []


def test_it_is_told_while_there_is_none() -> None:
    card = Card()
    card.send(7, 15, 900)
    card.no_entry.lapsed(0, 1000)
    for now in 1000 + 5 * ATTEMPT - 1, 1000 + 5 * ATTEMPT:
        assert card.told == []
        card.judge.look(now)
    assert card.told == [(7, 900, 1000 + 5 * ATTEMPT)]


@pytest.mark.parametrize("status", [ResultStatus.DONE, ResultStatus.NO_MEMORY, *AckStatus])
def test_what_was_answered_is_waited_for_no_more(status: ResultStatus | AckStatus) -> None:
    card = Card()
    card.send(7, 15, 900)
    if isinstance(status, AckStatus):
        card.refuse(7, status)
    else:
        card.answer(7, status)
    card.lapses(1000, 20)
    assert (card.told == []) == (status not in (AckStatus.BUSY, AckStatus.INCOMPLETE))


@pytest.mark.parametrize("reason", [AckStatus.BUSY, AckStatus.INCOMPLETE])
def test_what_has_reached_nobody_goes_on(reason: AckStatus) -> None:
    card = Card()
    card.send(7, 15, 900)
    card.refuse(7, reason)
    card.answer(7, gpu=1)
    card.answer(8)
    card.lapses(1000, 5)
    assert len(card.told) == 1


@pytest.mark.parametrize(("unseen", "silent"), [(18, False), (19, True)])
def test_a_launch_that_was_heard_of_begins_anew(unseen: int, silent: bool) -> None:
    """It counts its attempts from one again, and from each time that its GPU says that it is under way."""
    card = Card()
    card.send(7, 3, 800, LAUNCH)
    card.answer(7, ResultStatus.STARTED)
    for attempt in range(1, 19):
        card.send(7, attempt, 900 + attempt, LAUNCH)
    card.answer(7, ResultStatus.STARTED)
    card.send(7, 19, 990, LAUNCH)
    card.lapses(1000, unseen)
    assert len(card.told) == silent


@pytest.mark.parametrize(("taken", "silent"), [(False, True), (True, False)])
def test_an_attempt_at_a_launch_that_is_under_way_takes_longer(taken: bool, silent: bool) -> None:
    """By the cycles that it asks for."""
    card = Card()
    card.send(7, 1, 800, LAUNCH, amount=1)
    if taken:
        card.answer(7, ResultStatus.STARTED)
    card.send(7, 15, 900, LAUNCH, amount=1)
    card.lapses(1000, 5)
    assert len(card.told) == silent


def test_a_launch_and_another_command_are_out_at_once() -> None:
    card = Card()
    card.send(7, 18, 800, LAUNCH)
    card.send(8, 18, 900)
    card.lapses(1000, 2)
    assert [unit for unit, *_ in card.told] == [7, 8]


def test_the_last_one_of_a_kind_counts_and_a_launch_ends_with_its_context() -> None:
    card = Card()
    card.send(6, 19, 700)
    card.send(7, 19, 800, LAUNCH)
    card.send(8, 2, 900, DESTROY)
    card.lapses(1000, 2)
    assert card.told == []


def test_what_a_lost_gpu_was_asked_is_lost() -> None:
    for members, silent in ((), True), ((1, GPU), True), ((1,), False):
        card = Card()
        card.send(7, 19, 900)
        card.view.members = members
        card.judge.counted(0)
        card.lapses(1000, 2)
        assert len(card.told) == silent


WHAT = f"a command to context 1 of GPU {GPU}, card 0"


def asked(*attempts: tuple[int, int], taken: int | None = None, amount: int = 0) -> list[str]:
    """A launch in these cycles, as these attempts; `taken`: the GPU says after so many that it is under way."""
    card = Card()
    for number, (attempt, now) in enumerate(attempts):
        if number == taken:
            card.answer(7, ResultStatus.STARTED)
        card.send(7, attempt, now, LAUNCH, amount)
    return [str(each) for each in card.judge.wrong]


def test_each_attempt_waits_longer_than_the_one_before() -> None:
    times, now = [], 0
    for attempt in range(1, 13):
        now += min(attempt, 8) * PATIENCE
        times.append((attempt, now))
    assert asked(*times) == []
    for number in range(1, 12):
        early = [(attempt, at - (attempt > number)) for attempt, at in times]
        waits = min(number + 1, 8) * PATIENCE
        assert asked(*early) == [f"{WHAT} was asked for again after {waits - 1} cycles, not {waits}"]


def test_a_launch_that_was_taken_is_asked_for_after_its_time_and_counts_anew() -> None:
    assert asked((1, 0), (2, 200), (1, 350), (2, 650), taken=2, amount=50) == []
    assert asked((1, 0), (2, 200), (1, 349), taken=2, amount=50) == [
        f"{WHAT} was asked for again after 149 cycles, not 150"
    ]
    assert asked((1, 0), (2, 200), (3, 900), taken=2) == [f"{WHAT} is attempt 3; attempt 0 was before"]


@pytest.mark.parametrize("attempt", [0, 1, 3])
def test_attempts_are_counted_one_by_one(attempt: int) -> None:
    assert asked((1, 0), (attempt, 900)) == [f"{WHAT} is attempt {attempt}; attempt 1 was before"]


def test_some_are_not_seen_while_there_is_no_entry() -> None:
    for attempt, right in (0, False), (1, False), (2, True), (3, True):
        card = Card()
        card.send(7, 1, 0)
        card.no_entry.lapsed(0, 100)
        card.no_entry.granted(0, 101)
        card.send(7, attempt, 900)
        assert (card.judge.wrong == []) == right


def test_a_driver_outside_asks_in_its_own_time() -> None:
    card = Card()
    card.judge.passed_on((0, GPU, 1))
    card.send(7, 1, 0)
    card.send(7, 1, 1)
    assert card.judge.wrong == []
