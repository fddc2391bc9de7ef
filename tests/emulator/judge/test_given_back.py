"""What a task has created it must have destroyed when it ends; what it has lost is no longer its own."""

from types import SimpleNamespace

import pytest

from ringhil.emulator.host import segments
from ringhil.emulator.host.sharing.command import Command, unit_of
from ringhil.emulator.judge.commands_seen import seen_command
from ringhil.emulator.judge.given_back import GivenBack
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import Compute, ResultStatus

GPU, OTHER = 3, 2
TOLD = [f"context 1 of GPU {GPU}, card 0 was not destroyed when its task had ended"]


class Task:
    """With one context."""

    def __init__(self) -> None:
        self.card, self.far = SimpleNamespace(members=(OTHER, GPU)), SimpleNamespace(members=())
        self.judge = GivenBack([self.card, self.far], [(0, GPU, 1), (0, OTHER, 1)])  # type: ignore[list-item]

    def send(self, number: int, compute: Compute, attempt: int = 1) -> None:
        route = segments.Route(0, 0, 0, GPU, False, 9, 1)
        body = Command(compute, 1, 5).payload()
        command = seen_command(segments.segments(unit_of(number), attempt, body, route, compute, 1)[0])
        assert command is not None
        self.judge.sent(command)

    def answer(self, number: int) -> None:
        self.judge.heard(Result(0, 0, 9, 0, 1, unit_of(number), GPU, 1, ResultStatus.DONE.code, 0, 0, 0, 16, 0))

    def creates(self, number: int) -> None:
        self.send(number, Compute.CREATE)
        self.answer(number)

    def count(self, *members: int) -> None:
        self.card.members = members
        self.judge.counted(0)

    def told(self) -> list[str]:
        self.judge.finish(1000, ended=True)
        return [text for text, _ in self.judge.wrong]


@pytest.fixture
def task() -> Task:
    return Task()


def test_one_that_was_lost_is_not_to_be_destroyed(task: Task) -> None:
    task.creates(0)
    assert not task.judge.is_lost((0, GPU))
    task.count(OTHER)
    task.count(OTHER, GPU)
    assert task.judge.is_lost((0, GPU))
    assert not task.judge.is_lost((0, OTHER))
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


@pytest.mark.parametrize("gpu", [None, (0, GPU)])
def test_of_one_that_was_hit_by_a_fault_nothing_is_known(task: Task, gpu: tuple[int, int] | None) -> None:
    task.creates(0)
    task.judge.lost(gpu)
    assert task.judge.is_lost((0, GPU))
    assert task.told() == []


def test_nor_of_one_that_has_left_many_attempts_unanswered(task: Task) -> None:
    task.creates(0)
    task.send(1, Compute.DESTROY, attempt=30)
    assert task.judge.is_lost((0, GPU))
    assert task.told() == []


def test_a_second_attempt_is_no_sign_of_a_loss(task: Task) -> None:
    task.creates(0)
    task.send(1, Compute.DESTROY, attempt=2)
    assert not task.judge.is_lost((0, GPU))
    assert task.told() == TOLD


def test_one_that_is_well_is_to_give_back(task: Task) -> None:
    task.creates(0)
    task.judge.lost((0, OTHER))
    assert task.told() == TOLD
    task.send(1, Compute.DESTROY)
    task.answer(1)
    task.judge.wrong.clear()
    assert task.told() == []
