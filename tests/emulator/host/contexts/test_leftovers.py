"""What a GPU may still have that was lost is destroyed before the GPU is asked for anything else."""

import pytest

from ringhil.emulator.host.contexts.command import LOST, Command, ContextRef, Reply
from ringhil.emulator.host.work import segments
from ringhil.protocol import wire
from ringhil.protocol.frames import Acknowledgement, Work
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

from .desk import GPU, PATIENCE, Desk

CREATE, ALLOCATE, DESTROY = Compute.CREATE, Compute.ALLOCATE, Compute.DESTROY
DONE, BUSY = ResultStatus.DONE, AckStatus.BUSY
ALL, OTHERS = (0, 1, 2, 3), (0, 1, 3)


class Clearing(Desk):
    """Contexts 1 and 3 were made, by the keys 51 and 53; 2 was made and destroyed. Nothing is under way."""

    def __init__(self) -> None:
        super().__init__()
        for context in (1, 2, 3):
            self.ask(context, CREATE)
            self.answer(DONE)
        self.ask(2, DESTROY)
        self.answer(DONE)
        self.told.clear()
        self._looked_at = len(self.port.sent)

    def ask(self, context: int, compute: Compute = ALLOCATE, gpu: int = GPU, key: int | None = None) -> None:
        key = 50 + context if key is None else key
        self.driver.ask(ContextRef(0, gpu, context), Command(compute, key, 9), self.told.append)

    def count(self, *members: int) -> None:
        self.card.members = members
        self.driver.counted(self.card)

    def refuse(self, why: AckStatus, unit: int) -> None:
        self.driver.mail(Acknowledgement(0, 0, 9, 0, 1, unit, GPU, 1, why.code, 0, 16))

    def new(self) -> list[Work]:
        """What has been sent since somebody looked."""
        found = self.port.sent[self._looked_at :]
        self._looked_at = len(self.port.sent)
        return found

    def asked(self) -> list[tuple[int, str, int]]:
        """Context, what it was asked for, and by which key, of these."""
        computes = {each.code: each.value for each in Compute}
        return [(each.context, computes[each.compute], wire.Command.parse(each.payload).key) for each in self.new()]


def test_what_was_made_is_destroyed_by_its_own_key_when_its_gpu_is_found_again() -> None:
    desk = Clearing()
    desk.count(*OTHERS)
    assert desk.asked() == []
    desk.count(*OTHERS)
    assert desk.asked() == []
    desk.count(*ALL)
    assert desk.asked() == [(1, "destroy", 51), (3, "destroy", 53)]
    for work in desk.port.sent[-2:]:
        desk.answer(DONE, work.unit)
    desk.count(*ALL)
    desk.count(*OTHERS)
    desk.count(*ALL)
    assert desk.asked() == []
    assert desk.told == []


def test_who_was_never_lost_keeps_its_contexts() -> None:
    desk = Clearing()
    desk.count(0, 2)
    desk.count(*ALL)
    assert desk.asked() == []
    desk.ask(1)
    assert desk.asked() == [(1, "allocate", 51)]


@pytest.mark.parametrize("why", [AckStatus.NO_CONTEXT, AckStatus.FOREIGN])
def test_what_is_gone_or_somebody_elses_is_left_alone(why: AckStatus) -> None:
    """The GPU has begun anew; or a driver outside has made a context there since."""
    desk = Clearing()
    desk.count(*OTHERS)
    desk.count(*ALL)
    for work in desk.new():
        desk.refuse(why, work.unit)
    desk.ask(1, CREATE)
    assert desk.asked() == [(1, "create", 51)]
    desk.count(*OTHERS)
    desk.count(*ALL)
    assert desk.asked() == [(1, "destroy", 51)]  # which this one may have made, and no other


def test_nothing_else_is_asked_of_it_before_all_of_that_is_answered() -> None:
    desk = Clearing()
    desk.count(*OTHERS)
    desk.count(*ALL)
    first, second = desk.new()
    for context in (1, 2, 4):
        desk.ask(context, CREATE)
    desk.ask(4)
    desk.ask(1, CREATE, gpu=1)
    assert [work.destination for work in desk.new()] == [1]
    desk.answer(DONE, first.unit)
    desk.refuse(BUSY, second.unit)  # it has reached nobody
    assert desk.asked() == []
    desk.port.pass_time(20 * PATIENCE)
    assert {work.unit for work in desk.new() if work.destination == GPU} == {second.unit}
    desk.answer(DONE, second.unit)
    assert sorted(desk.asked()) == [(context, "create", 50 + context) for context in (1, 2, 4)]


def test_one_that_nobody_has_heard_of_may_have_been_made() -> None:
    """The answer to the command that creates it was on its way."""
    desk = Clearing()
    desk.ask(7, CREATE)
    desk.ask(8)  # nobody has made this one
    desk.count(*OTHERS)
    assert desk.told == [LOST, LOST]
    desk.new()
    desk.count(*ALL)
    assert sorted(desk.asked()) == [(context, "destroy", 50 + context) for context in (1, 3, 7)]


def test_the_last_one_that_was_made_is_destroyed() -> None:
    """Its GPU had begun anew, and nobody had noticed."""
    desk = Clearing()
    desk.ask(3, CREATE, key=9)
    desk.answer(DONE)
    desk.new()
    desk.count(*OTHERS)
    desk.count(*ALL)
    assert desk.asked() == [(1, "destroy", 51), (3, "destroy", 9)]


def test_a_gpu_holds_what_it_has_or_is_about_to_have() -> None:
    desk = Clearing()
    desk.ask(7, CREATE)
    desk.ask(8, CREATE, gpu=1)
    desk.ask(1)
    assert [place.context for place in desk.driver.held((0, GPU))] == [1, 3, 7]
    assert [place.context for place in desk.driver.held((0, 1))] == [8]
    desk.count(*OTHERS)
    assert [place.context for place in desk.driver.held((0, GPU))] == [1, 3, 7]  # it may only be cut off


def test_one_that_was_refused_was_not_made() -> None:
    desk = Clearing()
    desk.ask(3, DESTROY, key=9)
    desk.refuse(AckStatus.FOREIGN, desk.new()[0].unit)
    desk.ask(7, CREATE)
    desk.refuse(AckStatus.EXISTS, desk.new()[0].unit)
    desk.ask(3, CREATE, key=9)
    desk.refuse(AckStatus.EXISTS, desk.new()[0].unit)
    desk.ask(1)
    desk.refuse(AckStatus.NO_CONTEXT, desk.new()[0].unit)
    desk.count(*OTHERS)
    desk.count(*ALL)
    assert desk.asked() == [(3, "destroy", 53)]


def test_one_that_may_have_been_destroyed_is_destroyed_again() -> None:
    desk = Clearing()
    desk.ask(3, DESTROY)
    desk.count(*OTHERS)
    assert desk.told == [LOST]
    desk.new()
    desk.count(*ALL)
    assert desk.asked() == [(1, "destroy", 51), (3, "destroy", 53)]


def test_a_gpu_that_is_lost_once_more_is_asked_again() -> None:
    """Meanwhile who has waited is told that it is lost, each once."""
    desk = Clearing()
    desk.count(*OTHERS)
    desk.count(*ALL)
    desk.answer(DONE, desk.new()[0].unit)
    desk.ask(1, CREATE)
    desk.ask(5, CREATE)
    desk.count(*OTHERS)
    assert desk.told == [LOST, LOST]
    desk.port.pass_time(100 * PATIENCE)
    assert desk.asked() == []
    desk.count(*ALL)
    assert desk.asked() == [(3, "destroy", 53)]


def test_when_nobody_answers_those_that_wait_are_lost_and_it_is_asked_once_more() -> None:
    desk = Clearing()
    desk.count(*OTHERS)
    desk.count(*ALL)
    units = {work.unit for work in desk.new()}
    desk.ask(1, CREATE)
    desk.ask(5, CREATE)
    while len(desk.told) < 2:
        assert {work.unit for work in desk.new() if work.destination == GPU} <= units
        desk.port.pass_time(8 * PATIENCE)
        if desk.port.now == 160 * PATIENCE:
            desk.ask(1, gpu=1)
            desk.ask(1, gpu=1)
        assert desk.port.now < 1000 * PATIENCE
    assert desk.told == [LOST, LOST]
    assert desk.port.now > 160 * PATIENCE
    unit = next(work.unit for work in reversed(desk.port.sent) if work.destination == 1)
    desk.answer(DONE, unit, source=1)
    assert desk.told[2:] == [Reply(DONE, 0, 40)]
    assert [work.unit for work in desk.new() if work.destination == 1][-1] > unit
    assert {work.attempt for work in desk.port.sent if work.unit in units} == set(range(1, 31))
    desk.port.pass_time(20 * PATIENCE)
    desk.count(*ALL)
    again = {work.context: work.unit for work in desk.new() if work.destination == GPU and work.unit not in units}
    assert {*again} == {1, 3}
    for unit in again.values():
        desk.answer(DONE, unit)
    desk.ask(1, CREATE)
    assert desk.asked() == [(1, "create", 51)]


def test_a_context_that_was_given_up_while_nobody_counted_its_card_is_destroyed_first() -> None:
    """The others go on: they may be there, as they were."""
    desk = Clearing()
    desk.ask(1, Compute.LAUNCH)
    desk.answer(ResultStatus.STARTED)
    desk.ask(1)
    desk.ask(1)
    desk.card.members = ()
    while not desk.told:
        desk.port.pass_time(8 * PATIENCE)
        assert desk.port.now < 1000 * PATIENCE
    assert desk.told == [LOST, LOST, LOST]
    desk.new()
    desk.ask(3)
    cleared = desk.new()
    assert {(work.context, work.compute) for work in cleared} == {(1, DESTROY.code)}
    desk.count(*ALL)
    desk.answer(DONE, cleared[0].unit)
    assert desk.asked() == [(3, "allocate", 53)]
    desk.answer(DONE, desk.port.sent[-1].unit)
    assert desk.told[3:] == [Reply(DONE, 0, 40)]
    desk.ask(1, CREATE)
    assert desk.asked() == [(1, "create", 51)]
    desk.answer(DONE)
    desk.ask(1, Compute.LAUNCH)
    desk.answer(ResultStatus.RUNNING)  # it isn't the one that was given up: that was cancelled
    desk.port.pass_time(1)
    assert desk.asked() == [(1, "launch", 51)] * 2


def test_it_is_asked_for_at_once_when_its_card_can_be_reached_again() -> None:
    """The next attempt may be far away; who has waited meanwhile waits for that, and no longer."""
    desk = Clearing()
    desk.count(*OTHERS)
    desk.card.members, desk.card.rank = (), None
    desk.ask(1, CREATE)
    desk.port.pass_time(60 * PATIENCE)
    desk.ask(3, CREATE)
    assert desk.asked() == []
    desk.card.rank = 0
    desk.count(*ALL)
    first, second = desk.new()
    assert {(each.context, each.compute) for each in (first, second)} == {(1, DESTROY.code), (3, DESTROY.code)}
    desk.count(*ALL)
    assert desk.asked() == []
    desk.answer(DONE, first.unit)
    desk.answer(DONE, second.unit)
    assert sorted(desk.asked()) == [(1, "create", 51), (3, "create", 53)]


def test_a_launch_that_was_put_off_is_lost_with_its_gpu() -> None:
    """Its time comes when that has been found again."""
    desk = Clearing()
    desk.ask(1, Compute.LAUNCH)
    desk.answer(ResultStatus.RUNNING)
    desk.new()
    desk.count(*OTHERS)
    desk.count(*ALL)
    desk.port.pass_time(1)
    assert desk.asked() == [(1, "destroy", 51), (3, "destroy", 53)]


def test_who_hears_that_a_gpu_is_lost_may_give_up_the_others_there() -> None:
    """They are lost in the same moment; nothing is sent to a GPU that isn't there."""
    desk = Clearing()

    def give_up(reply: Reply) -> None:
        desk.told.append(reply)
        for context in (1, 3):
            desk.driver.give_up(ContextRef(0, GPU, context))

    for context in (1, 3):
        desk.driver.ask(ContextRef(0, GPU, context), Command(ALLOCATE, 50 + context, 9), give_up)
    desk.new()
    desk.count(*OTHERS)
    assert desk.told == [LOST] * 2
    desk.port.pass_time(100 * PATIENCE)
    assert desk.asked() == []
    desk.count(*ALL)
    assert desk.asked() == [(1, "destroy", 51), (3, "destroy", 53)]


def test_a_context_that_nobody_wants_any_more_is_destroyed_at_once() -> None:
    """Whoever waited for it is told that it is lost; one that was never made isn't asked for."""
    desk = Clearing()
    desk.ask(1, Compute.LAUNCH)
    desk.answer(ResultStatus.STARTED)
    desk.ask(1)
    desk.ask(1)
    desk.new()
    for context in (1, 2, 9):
        desk.driver.give_up(ContextRef(0, GPU, context))
    assert desk.told == [LOST] * 3
    assert desk.asked() == [(1, "destroy", 51)]
    desk.ask(3)
    assert desk.asked() == []
    desk.answer(DONE)
    assert desk.asked() == [(3, "allocate", 53)]


@pytest.mark.parametrize(("compute", "taken"), [(CREATE, False), (Compute.LAUNCH, False), (Compute.LAUNCH, True)])
@pytest.mark.parametrize("outside", [False, True])
def test_one_that_leaves_thirty_attempts_unanswered_is_destroyed_first(
    compute: Compute, taken: bool, outside: bool
) -> None:
    """Nobody else has to wait for one that a driver outside may have silenced; that is remembered."""
    desk = Clearing()
    context = 7 if compute is CREATE else 1
    if outside:
        route = segments.Route(0, 0, 0, GPU, False, 5, 1)
        (frame,) = segments.segments(9, 1, Command(ALLOCATE, 5).payload(), route, ALLOCATE, context)
        desk.driver.pass_on(desk.card, ContextRef(0, GPU, context), frame)
    desk.ask(context, compute)
    if taken:
        desk.answer(ResultStatus.STARTED)
    while not desk.told and desk.port.now < 1000 * PATIENCE:
        desk.port.pass_time(8 * PATIENCE)
    assert desk.told == [LOST]
    desk.new()
    desk.ask(3)
    if not outside:
        assert desk.asked() == [(context, "destroy", 50 + context)]
        desk.answer(DONE)
    assert desk.asked() == [(3, "allocate", 53)]
    if not outside:
        return
    desk.answer(DONE)
    desk.count(*OTHERS)
    desk.count(*ALL)
    assert sorted(desk.asked()) == sorted({(1, "destroy", 51), (3, "destroy", 53), (context, "destroy", 50 + context)})
