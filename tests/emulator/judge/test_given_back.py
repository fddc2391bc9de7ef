"""What a task has created it must have destroyed when it ends; what it has lost is no longer its own."""

from types import SimpleNamespace

import pytest

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Command, unit_of
from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.contexts.commands_seen import Place, seen_command
from ringhil.emulator.judge.contexts.given_back import GivenBack
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

GPU, OTHER = 3, 2
TOLD = [f"context 1 of GPU {GPU}, card 0 was not destroyed when its task had ended"]


class Task:
    """With one context."""

    def __init__(self) -> None:
        self.card, self.far = SimpleNamespace(members=(OTHER, GPU)), SimpleNamespace(members=())
        self.judge = GivenBack(Stream(), [self.card, self.far], [(0, GPU, 1), (0, OTHER, 1)])  # type: ignore[list-item]

    def send(self, number: int, compute: Compute, attempt: int = 1, context: int = 1) -> None:
        route = segments.Route(0, 0, 0, GPU, False, 9, 1)
        body = Command(compute, 1, 5).payload()
        command = seen_command(segments.segments(unit_of(number), attempt, body, route, compute, context)[0])
        assert command is not None
        self.judge.sent(command, number)

    def answer(self, number: int, status: ResultStatus = ResultStatus.DONE) -> None:
        self.judge.heard(Result(0, 0, 9, 0, 1, unit_of(number), GPU, 1, status.code, 0, 0, 0, 16, 0), number)

    def refuse(self, number: int, reason: AckStatus) -> None:
        self.judge.heard(Acknowledgement(0, 0, 9, 0, 1, unit_of(number), GPU, 1, reason.code, 0, 0), number)

    def creates(self, number: int) -> None:
        self.send(number, Compute.CREATE)
        self.answer(number)

    def count(self, *members: int) -> None:
        self.card.members = members
        self.judge.counted(0)

    def told(self) -> list[str]:
        self.judge.finish(1000, ended=True)
        return [str(each) for each in self.judge.wrong]


@pytest.fixture
def task() -> Task:
    return Task()


def test_one_that_was_lost_is_not_to_be_destroyed(task: Task) -> None:
    task.creates(0)
    task.count(OTHER)
    task.count(OTHER, GPU)
    assert task.told() == []


def test_one_that_is_created_when_its_gpu_is_found_again_is(task: Task) -> None:
    task.creates(0)
    task.count(OTHER)
    task.count(OTHER, GPU)
    task.creates(1)
    assert task.told() == TOLD


@pytest.mark.parametrize("members", [(), (OTHER, GPU)])
def test_nothing_is_lost_while_a_card_is_not_counted(task: Task, members: tuple[int, ...]) -> None:
    """Nor when another one is."""
    task.send(0, Compute.CREATE)
    task.count(*members)
    for far in ((), (OTHER,)):
        task.far.members = far
        task.judge.counted(1)
    task.answer(0)
    assert task.told() == TOLD


def test_an_answer_that_comes_too_late_says_nothing(task: Task) -> None:
    task.send(0, Compute.CREATE)
    task.count(OTHER)
    task.count(OTHER, GPU)
    task.answer(0)
    assert task.told() == []


@pytest.mark.parametrize("compute", [Compute.ALLOCATE, Compute.DESTROY])
def test_who_is_told_that_there_is_no_context_has_lost_it(task: Task, compute: Compute) -> None:
    task.creates(0)
    task.send(1, compute)
    task.refuse(1, AckStatus.NO_CONTEXT)
    assert [task.judge.lost_from((0, GPU), since) for since in (0, 1, 2)] == [1, 1, None]
    assert task.judge.lost_from((0, OTHER), 0) is None
    assert task.told() == []


@pytest.mark.parametrize("reason", [AckStatus.BUSY, AckStatus.FOREIGN, ResultStatus.INVALID])
def test_what_is_refused_for_another_reason_is_there(task: Task, reason: AckStatus | ResultStatus) -> None:
    task.creates(0)
    task.send(1, Compute.DESTROY)
    if isinstance(reason, AckStatus):
        task.refuse(1, reason)
    else:
        task.answer(1, reason)
    assert task.judge.lost_from((0, GPU), 0) is None
    assert task.told() == TOLD


def test_what_was_not_created_is_not_there(task: Task) -> None:
    task.send(0, Compute.CREATE)
    task.answer(0, ResultStatus.NO_MEMORY)
    assert task.told() == []


def test_of_one_that_has_left_many_attempts_unanswered_nothing_is_known(task: Task) -> None:
    task.creates(0)
    task.send(1, Compute.DESTROY, attempt=20)
    assert [task.judge.lost_from((0, GPU), since) for since in (0, 1, 2)] == [1, 1, None]
    assert task.told() == []
    assert task.judge.doubts == [f"{TOLD[0]}: 20 attempts to ask for something there were not answered"]


def test_it_is_when_it_answers_again(task: Task) -> None:
    task.creates(0)
    task.send(1, Compute.ALLOCATE, attempt=20)
    task.answer(1)
    assert task.told() == TOLD
    assert task.judge.doubts == []


@pytest.mark.parametrize("unreached", [False, True])
def test_while_nobody_reaches_its_card_nothing_is_known(task: Task, unreached: bool) -> None:
    task.judge = GivenBack(
        Stream(),
        [task.card, task.far],  # type: ignore[list-item]
        [(0, GPU, 1)],
        lambda card, now: unreached and (card, now) == (0, 1000),
    )
    task.creates(0)
    assert task.told() == TOLD * (not unreached)
    assert task.judge.doubts == [f"{TOLD[0]}: nobody has reached its card for long"] * unreached


def test_where_a_driver_outside_has_spoken_that_is_said_of_its_task(task: Task) -> None:
    task.creates(0)
    task.send(1, Compute.DESTROY, attempt=20)
    task.judge.passed_on((0, GPU, 1), 9)
    assert (task.told(), task.judge.doubts) == ([], [])


def test_a_second_attempt_is_no_sign_of_a_loss(task: Task) -> None:
    task.creates(0)
    task.send(1, Compute.DESTROY, attempt=19)
    assert task.judge.lost_from((0, GPU), 0) is None
    assert task.told() == TOLD


def test_one_that_is_well_is_to_give_back(task: Task) -> None:
    task.creates(0)
    assert task.told() == TOLD
    task.judge.passed_on((0, GPU, 1), 9)
    task.judge.wrong.clear()
    assert task.told() == TOLD
    task.send(1, Compute.DESTROY)
    task.answer(1)
    task.judge.wrong.clear()
    assert task.told() == []
    assert task.judge.doubts == []


def test_what_is_no_tasks_own_is_nobodys(task: Task) -> None:
    task.send(0, Compute.CREATE, attempt=20, context=9)
    assert task.judge.lost_from((0, GPU), 0) is None
    task.answer(0)
    assert task.told() == []


def test_tasks_that_go_on_may_keep_it(task: Task) -> None:
    task.creates(0)
    task.judge.finish(1000, ended=False)
    assert task.judge.wrong == []


@pytest.mark.parametrize(
    ("place", "now", "theirs"), [((0, GPU, 1), 0, True), ((0, GPU, 1), 1, False), ((0, OTHER, 1), 0, False)]
)
def test_what_a_driver_outside_creates_is_its_own(task: Task, place: Place, now: int, theirs: bool) -> None:
    task.judge.passed_on(place, now)
    task.creates(0)
    assert task.told() == TOLD * (not theirs)


def test_what_it_destroys_is_gone(task: Task) -> None:
    task.creates(0)
    task.judge.passed_on((0, GPU, 1), 5)
    task.send(5, Compute.DESTROY)
    task.answer(5)
    assert task.told() == []
