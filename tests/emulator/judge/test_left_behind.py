"""What contexts that were lost with their GPU must go through, and whose the pages are that a GPU holds."""

from types import SimpleNamespace

import pytest

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Command, unit_of
from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.contexts.commands_seen import TWINS, SeenCommand, seen_command
from ringhil.emulator.judge.contexts.left_behind import LeftBehind
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

GPU, OTHER = 3, 2
CREATE, ALLOCATE, FREE, DESTROY, LAUNCH = (
    Compute.CREATE,
    Compute.ALLOCATE,
    Compute.FREE,
    Compute.DESTROY,
    Compute.LAUNCH,
)
BUSY, NO_CONTEXT = AckStatus.BUSY, AckStatus.NO_CONTEXT


class Watched:
    """Commands to contexts 1 to 3 of a GPU and to one of its neighbour; `pages` are those that each GPU holds."""

    def __init__(self) -> None:
        self.card, self.far = SimpleNamespace(members=(OTHER, GPU)), SimpleNamespace(members=(OTHER, GPU))
        self.pages = {GPU: 0, OTHER: 0}
        places = [*((0, GPU, context) for context in (1, 2, 3)), (0, OTHER, 1)]
        views = [self.card, self.far]
        self.judge = LeftBehind(Stream(), views, places, lambda gpu: self.pages[gpu[1]])  # type: ignore[arg-type]

    def send(self, number: int, compute: Compute, now: int, context: int = 1, gpu: int = GPU, amount: int = 5) -> None:
        route = segments.Route(0, 0, 0, gpu, False, 9, 1)
        body = Command(compute, context, amount).payload()
        command = seen_command(segments.segments(unit_of(number), 1, body, route, compute, context)[0])
        assert command is not None
        self.judge.sent(command, now)

    def answer(self, number: int, now: int, held: int = 0, status: ResultStatus = ResultStatus.DONE) -> None:
        digest = held << 32 | 99
        self.judge.heard(Result(0, 0, 9, 0, 1, unit_of(number), GPU, 1, status.code, 0, 0, digest, 16, 0), now)

    def refuse(self, number: int, now: int, reason: AckStatus) -> None:
        self.judge.heard(Acknowledgement(0, 0, 9, 0, 1, unit_of(number), GPU, 1, reason.code, 0, 0), now)

    def made(self, number: int, context: int, pages: int, now: int) -> None:
        """A context with memory."""
        self.send(number, CREATE, now, context)
        self.answer(number, now + 1)
        self.send(number + 1, ALLOCATE, now + 1, context, amount=pages)
        self.answer(number + 1, now + 2, pages)
        self.pages[GPU] += pages

    def count(self, *members: int, now: int) -> None:
        self.card.members = members
        self.judge.counted(0, now)

    def told(self) -> list[str]:
        self.judge.finish(1000)
        return [str(each) for each in self.judge.wrong]


@pytest.fixture
def lost() -> Watched:
    """Contexts 1 and 2 were there; their GPU was lost, and is found again at cycle 60."""
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.made(10, 2, 40, 5)
    watched.count(OTHER, now=40)
    watched.count(OTHER, now=50)
    return watched


NAME = f"GPU {GPU}, card 0"


def test_what_is_given_back_before_anybody_comes_is_right(lost: Watched) -> None:
    lost.send(20, DESTROY, 60, 1)
    lost.send(21, DESTROY, 60, 2)
    lost.count(OTHER, GPU, now=60)
    lost.answer(20, 80)
    lost.refuse(21, 80, BUSY)
    lost.send(21, DESTROY, 90, 2)
    lost.pages[GPU] = 0
    lost.send(22, CREATE, 100, 1)  # it is told of the answer after what follows from it
    lost.answer(21, 100)
    lost.answer(22, 110)
    assert lost.told() == []


def test_nobody_waits_for_one_that_is_not_found(lost: Watched) -> None:
    lost.send(20, CREATE, 60, 1, OTHER)
    assert lost.told() == []


def test_nobody_waits_for_one_of_another_card(lost: Watched) -> None:
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.far.members = (OTHER,)
    watched.judge.counted(1, 30)
    watched.far.members = (OTHER, GPU)
    watched.judge.counted(1, 40)
    assert watched.told() == []
    lost.judge.counted(1, 60)
    assert lost.told() == []


def test_a_card_that_nobody_counts_has_lost_nothing() -> None:
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.count(now=30)
    watched.count(OTHER, GPU, now=40)
    assert watched.told() == []


def test_each_of_them_must_be_given_back(lost: Watched) -> None:
    lost.send(20, DESTROY, 60, 2)
    lost.count(OTHER, GPU, now=60)
    assert lost.told() == [f"{NAME}, was found again, and was not asked to give back context 1"]


def test_one_that_was_lost_twice_is_asked_for_twice(lost: Watched) -> None:
    for number in (20, 22):
        lost.send(number, DESTROY, 60 + number, 1)
        if number == 20:
            lost.send(21, DESTROY, 60 + number, 2)
        lost.count(OTHER, GPU, now=60 + number)
        if number == 20:
            lost.count(OTHER, now=81)
    assert lost.told() == [f"{NAME}, was found again, and was not asked to give back context 2"]


def test_one_that_is_under_way_at_the_end_is_right(lost: Watched) -> None:
    lost.send(20, DESTROY, 60, 1)
    lost.send(21, DESTROY, 60, 2)
    lost.count(OTHER, GPU, now=60)
    lost.answer(20, 80)
    assert lost.told() == []


@pytest.mark.parametrize("compute", [CREATE, LAUNCH, Compute.QUERY])
def test_who_comes_before_that_is_told(lost: Watched, compute: Compute) -> None:
    lost.send(20, DESTROY, 60, 1)
    lost.send(21, DESTROY, 60, 2)
    lost.count(OTHER, GPU, now=60)
    lost.pages[GPU] = 0
    lost.answer(21, 80)
    lost.send(22, compute, 90, 3)
    lost.answer(20, 91)
    assert lost.told() == [f"context 3 of {NAME}, was asked to {compute} before it had given back context 1"]


def test_who_comes_in_its_own_place_before_that_is_told(lost: Watched) -> None:
    lost.send(20, CREATE, 60, 1)
    lost.count(OTHER, GPU, now=60)
    said = lost.told()
    assert f"context 1 of {NAME}, was asked to create before it had given back context 1, context 2" in said
    assert f"{NAME}, was found again, and was not asked to give back context 1, context 2" in said


def test_what_has_reached_nobody_was_not_given_back(lost: Watched) -> None:
    lost.send(20, DESTROY, 60, 1)
    lost.send(21, DESTROY, 60, 2)
    lost.count(OTHER, GPU, now=60)
    lost.refuse(20, 80, BUSY)
    lost.answer(21, 80)
    lost.pages[GPU] = 0
    lost.send(22, CREATE, 90, 3)
    assert lost.told() == [f"context 3 of {NAME}, was asked to create before it had given back context 1"]


def test_who_comes_before_that_is_told_at_the_end_too(lost: Watched) -> None:
    lost.send(20, DESTROY, 60, 1)
    lost.send(21, DESTROY, 60, 2)
    lost.count(OTHER, GPU, now=60)
    lost.send(22, LAUNCH, 90, 3)
    assert lost.told() == [f"context 3 of {NAME}, was asked to launch before it had given back context 1, context 2"]


def test_whoever_goes_need_not_wait(lost: Watched) -> None:
    lost.send(20, DESTROY, 60, 1)
    lost.send(21, DESTROY, 60, 2)
    lost.count(OTHER, GPU, now=60)
    lost.send(22, DESTROY, 70, 3)
    lost.answer(20, 80)
    lost.answer(21, 80)
    lost.pages[GPU] = 0
    assert lost.told() == []


def test_what_a_gpu_has_not_said_it_has_made_may_be_there() -> None:
    watched = Watched()
    watched.send(0, CREATE, 5)
    watched.count(OTHER, now=40)
    watched.count(OTHER, GPU, now=60)
    assert watched.told() == [f"{NAME}, was found again, and was not asked to give back context 1"]


def test_what_is_still_to_be_created_may_be_there() -> None:
    """It was refused once, as busy, and asked for again."""
    watched = Watched()
    watched.send(0, CREATE, 5)
    watched.refuse(0, 6, BUSY)
    watched.send(0, CREATE, 7)
    watched.count(OTHER, now=40)
    watched.count(OTHER, GPU, now=60)
    assert watched.told() == [f"{NAME}, was found again, and was not asked to give back context 1"]


@pytest.mark.parametrize("gone", ["destroyed", "refused", "unknown", "launch"])
def test_what_is_gone_need_not_be_given_back(gone: str) -> None:
    watched = Watched()
    watched.send(0, CREATE, 5)
    if gone == "refused":
        watched.refuse(0, 6, AckStatus.EXISTS)
    else:
        watched.answer(0, 6)
        watched.send(1, {"destroyed": DESTROY, "unknown": FREE, "launch": LAUNCH}[gone], 7)
        if gone == "launch":
            watched.answer(1, 8, status=ResultStatus.STARTED)
        if gone == "destroyed":
            watched.answer(1, 9)
        else:
            watched.refuse(1, 9, NO_CONTEXT)
    watched.count(OTHER, now=40)
    watched.count(OTHER, GPU, now=60)
    assert watched.told() == []


@pytest.mark.parametrize("refusal", [BUSY, AckStatus.FOREIGN, ResultStatus.INVALID])
def test_what_was_not_destroyed_is_there(refusal: AckStatus | ResultStatus) -> None:
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.send(2, DESTROY, 10)
    if isinstance(refusal, AckStatus):
        watched.refuse(2, 11, refusal)
    else:
        watched.answer(2, 11, status=refusal)
    watched.count(OTHER, now=40)
    watched.count(OTHER, GPU, now=60)
    assert watched.told() == [f"{NAME}, was found again, and was not asked to give back context 1"]


def test_a_launch_of_a_lost_gpu_says_nothing_of_one_that_was_made_since(lost: Watched) -> None:
    """Nor does any other command that it was asked for then."""
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.send(2, LAUNCH, 10)
    watched.answer(2, 11, status=ResultStatus.STARTED)
    watched.send(3, FREE, 12)
    watched.count(OTHER, now=40)
    watched.send(4, DESTROY, 60)
    watched.count(OTHER, GPU, now=60)
    watched.answer(4, 61)
    watched.pages[GPU] = 0
    watched.made(6, 1, 30, 70)
    watched.refuse(2, 80, NO_CONTEXT)
    watched.refuse(3, 80, NO_CONTEXT)
    assert watched.told() == []


@pytest.mark.parametrize("more", [0, 1])
def test_pages_belong_to_tasks(more: int) -> None:
    """Those that a context holds, and those that it has asked for."""
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.send(2, FREE, 10, amount=10)
    watched.answer(2, 11, 20)
    watched.send(3, ALLOCATE, 12, amount=7)
    watched.pages[GPU] = 27 + more
    watched.send(4, CREATE, 20, 2)
    watched.answer(3, 21, 27)
    watched.answer(4, 22)
    watched.pages[GPU] = 27
    assert watched.told() == [f"{NAME}, holds {27 + more} pages, of which its tasks have 27"] * more


@pytest.mark.parametrize("more", [0, 1])
def test_pages_belong_to_tasks_at_the_end(more: int) -> None:
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.pages[GPU] = 30 + more
    assert watched.told() == [f"{NAME}, holds {30 + more} pages, of which its tasks have 30"] * more


def test_pages_that_were_refused_are_nobodys() -> None:
    watched = Watched()
    watched.send(0, CREATE, 5)
    watched.answer(0, 6)
    watched.send(1, ALLOCATE, 7, amount=7)
    watched.answer(1, 8, 0, ResultStatus.OVER_LIMIT)
    watched.pages[GPU] = 7
    assert watched.told() == [f"{NAME}, holds 7 pages, of which its tasks have 0"]


def test_what_a_task_asks_for_counts_once() -> None:
    """However often it is asked for."""
    watched = Watched()
    watched.made(0, 1, 30, 5)
    watched.send(0, CREATE, 10)
    watched.send(1, ALLOCATE, 10, amount=30)
    watched.pages[GPU] = 31
    assert watched.told() == [f"{NAME}, holds 31 pages, of which its tasks have 30"]


@pytest.mark.parametrize("more", [0, 1])
def test_what_drivers_outside_have_is_theirs(lost: Watched, more: int) -> None:
    """It stays when the GPU is found again; nobody has to give it back."""
    lost.count(OTHER, GPU, now=60)
    for number, context in ((20, 1), (21, 2)):
        lost.send(number, DESTROY, 60, context)
        lost.answer(number, 61)
    lost.pages[GPU] = 0
    lost.made(30, 9, 50, 70)
    lost.judge.passed_on((0, GPU, 9))
    lost.count(OTHER, now=80)
    lost.count(OTHER, GPU, now=90)
    lost.pages[GPU] += more
    assert lost.told() == [f"{NAME}, holds 51 pages, of which its tasks have 50"] * more
    assert [*lost.judge.doubts] == []


def test_where_a_driver_outside_has_spoken_to_a_task_nothing_is_wrong_for_sure(lost: Watched) -> None:
    lost.judge.passed_on((0, GPU, 1))
    lost.count(OTHER, GPU, now=60)
    lost.send(20, CREATE, 70, 3)
    assert lost.told() == []
    assert [*lost.judge.doubts] == [
        f"{NAME}, holds 70 pages, of which its tasks have 0: a driver outside has spoken to a context of its tasks"
    ]


def test_what_was_meant_for_another_one_may_be_there(lost: Watched) -> None:
    """Contexts that were lost are destroyed all the same."""
    lost.judge.mixed_up((0, GPU))
    lost.count(OTHER, GPU, now=60)
    lost.send(20, CREATE, 70, 3)
    assert lost.told() == [
        f"context 3 of {NAME}, was asked to create before it had given back context 1, context 2",
        f"{NAME}, was found again, and was not asked to give back context 1, context 2",
    ]
    assert [*lost.judge.doubts] == [f"{NAME}, holds 70 pages, of which its tasks have 0: {TWINS}"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_when_it_was_empty_since_that_is_over(lost: Watched, elsewhere: bool) -> None:
    lost.judge.mixed_up((0, OTHER if elsewhere else GPU))
    lost.judge.emptied((0, GPU))
    lost.count(OTHER, GPU, now=60)
    lost.send(20, CREATE, 70, 3)
    assert len(lost.told()) == 3
    assert [*lost.judge.doubts] == []


@pytest.mark.parametrize(("key", "right"), [(1, True), (2, False), (0, False)])
def test_what_is_left_is_destroyed_by_its_own_key(lost: Watched, key: int, right: bool) -> None:
    """Not by the manager's: it may be somebody else's by now."""
    lost.judge.sent(SeenCommand(unit_of(20), 1, (0, GPU), 1, DESTROY, key, 0, 0, 0, 0, 0), 60)
    lost.send(21, DESTROY, 60, 2)
    lost.pages[GPU] = 0
    wrong = f"context 1 of {NAME}, was asked to destroy with another key"
    assert lost.told() == [wrong] * (not right)
