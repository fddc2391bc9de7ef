"""A launch that a GPU refuses as `running`, though nothing runs that anybody waits for: the end of the one before is
still to be told, once more. No application is told of that, and no step is lost or done twice."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from unittest import mock

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.host.contexts.command import LOST, Command, ContextRef, Reply
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, Flag, ResultStatus

from .desk import COMPUTES, GPU, PATIENCE, Desk

STARTED, DONE, RUNNING = ResultStatus.STARTED, ResultStatus.DONE, ResultStatus.RUNNING
SLOW = """
server: {{cards: {{a: {{gpus: 4, host_links: [0, 1]}}}}, settings: {{host_latency: 16}}}}
sharing: {{applications: {{x: {{gpu: a.2, steps: 3, wants: 1, compute: {compute}}}}}}}
timeline: [{{at: 1, fault: slow, gpu: a.2}}]
"""


def test_it_is_asked_for_again_under_another_number() -> None:
    desk = Desk()
    desk.launch()
    desk.answer(RUNNING)
    assert not desk.told
    desk.port.pass_time(1)
    first, second = (work.unit for work in desk.port.sent)
    assert second > first
    desk.answer(RUNNING, first)  # the refusal comes again: it says nothing of the second
    desk.port.pass_time(PATIENCE + 1)
    assert len(desk.port.sent) == 2
    desk.answer(STARTED)
    desk.answer(DONE)
    assert [reply.status for reply in desk.told] == [DONE]
    desk.port.pass_time(100 * PATIENCE)
    assert len(desk.port.sent) == 2


def test_it_is_asked_for_at_once_and_then_after_patience() -> None:
    desk = Desk()
    desk.launch()
    desk.answer(RUNNING)
    desk.port.pass_time(1)
    desk.answer(RUNNING)
    desk.port.pass_time(PATIENCE - 1)
    assert len(desk.port.sent) == 2
    desk.port.pass_time(1)
    assert len(desk.port.sent) == 3


def test_one_behind_a_launch_that_runs_is_told_so() -> None:
    desk = Desk()
    desk.launch()
    desk.answer(STARTED)
    desk.launch()
    desk.answer(RUNNING)
    assert [reply.status for reply in desk.told] == [RUNNING]


def test_it_is_told_in_the_end() -> None:
    desk = Desk()
    desk.launch()
    while not desk.told:
        desk.answer(RUNNING)
        desk.port.pass_time(PATIENCE)
        assert len(desk.port.sent) < 40
    assert [reply.status for reply in desk.told] == [RUNNING]
    assert len({work.unit for work in desk.port.sent}) == len(desk.port.sent) > 20


def test_who_says_no_more_that_it_runs_is_lost_though_its_card_is_counted() -> None:
    """A GPU that answers to another one's number is still a member, say. Else an application would wait for ever."""
    desk = Desk()
    desk.launch()
    desk.answer(STARTED)
    for _ in range(100):  # as long as it says so
        desk.port.pass_time(50 * PATIENCE)
        desk.answer(STARTED)
    assert not desk.told
    sent = len(desk.port.sent)
    assert sent > 100
    for _ in range(100):
        desk.port.pass_time(50 * PATIENCE)
    assert desk.told == [LOST]
    assert len(desk.port.sent) == sent + 30


def test_what_another_gpu_says_of_it_is_passed_over() -> None:
    desk = Desk()
    desk.launch()
    desk.answer(STARTED, source=GPU + 1)
    desk.answer(DONE, source=GPU + 1)
    desk.answer(STARTED)
    desk.answer(DONE, source=GPU - 1)
    assert not desk.told
    unit = desk.port.sent[-1].unit
    desk.driver.mail(Result(0, 0, 9, 0, 1, unit, GPU, 1, DONE.code, 1, 0, 0, 16, 40))  # of another card
    assert not desk.told
    desk.answer(DONE)
    assert [reply.status for reply in desk.told] == [DONE]


def test_a_launch_whose_context_is_gone_is_lost() -> None:
    """Its GPU has begun anew, and nobody has noticed."""
    desk = Desk()
    desk.launch()
    desk.answer(STARTED)
    desk.port.pass_time(100 * PATIENCE)
    unit = desk.port.sent[-1].unit
    desk.driver.mail(Acknowledgement(0, 0, 9, 0, 1, unit, GPU, 1, AckStatus.NO_CONTEXT.code, 0, 16))
    assert desk.told == [LOST]


def test_its_gpu_may_be_lost_meanwhile() -> None:
    desk = Desk()
    desk.launch()
    desk.answer(RUNNING)
    desk.card.members = (0, 1, 3)
    desk.driver.counted(desk.card)
    desk.port.pass_time(100 * PATIENCE)
    assert desk.told == [LOST]
    assert len(desk.port.sent) == 1


def test_a_gpu_that_is_lent_is_lost_also_while_nobody_counts_its_card() -> None:
    desk = Desk()
    desk.card.lend(GPU)
    desk.card.lost()
    desk.launch()
    desk.port.pass_time(1)
    assert (desk.told, desk.port.sent) == ([LOST], [])


def test_all_that_a_lost_gpu_was_asked_is_lost_each_once() -> None:
    """What was launched, what is out, and what waits for that."""
    desk, told = Desk(), list[tuple[int, Reply]]()

    def tell(number: int, reply: Reply) -> None:
        told.append((number, reply))

    desk.launch()
    desk.answer(STARTED)
    for number in range(3):
        desk.driver.ask(ContextRef(0, GPU, 3), Command(Compute.ALLOCATE, 5, number), partial(tell, number))
    desk.card.members = (0, 1, 3)
    for _ in range(2):
        desk.driver.counted(desk.card)
        desk.port.pass_time(100 * PATIENCE)
    assert desk.told == [LOST]
    assert told == [(number, LOST) for number in range(3)]


def test_what_is_not_answered_goes_out_again_by_the_other_lane() -> None:
    desk = Desk()
    desk.launch()
    for _ in range(4):
        desk.port.pass_time(20 * PATIENCE)
    assert [work.attempt for work in desk.port.sent] == [1, 2, 3, 4, 5]
    assert len({work.unit for work in desk.port.sent}) == 1
    lanes = [bool(work.flags & Flag.CCW) for work in desk.port.sent]
    assert lanes == [lanes[0], not lanes[0], lanes[0], not lanes[0], lanes[0]]
    assert desk.driver.resent == 4


@pytest.mark.parametrize("entry", [0, 1])
@pytest.mark.parametrize(("distance", "counter_clockwise"), [(0, False), (1, False), (2, False), (3, True)])
def test_it_goes_the_shorter_way_round_at_first(entry: int, distance: int, counter_clockwise: bool) -> None:
    desk = Desk()
    desk.card.granted(entry, 1)
    desk.driver.ask(ContextRef(0, (entry + distance) % 4, 3), Command(Compute.ALLOCATE, 5, 9), desk.told.append)
    assert [bool(work.flags & Flag.CCW) for work in desk.port.sent] == [counter_clockwise]


def test_commands_behind_somebody_elses_have_numbers_of_their_own_as_long_as_there_are_some() -> None:
    desk = Desk()
    for context in range(4):
        desk.driver.ask(ContextRef(0, GPU, context), Command(Compute.DESTROY, 5), desk.told.append, above=0xF0000000)
    units = [work.unit for work in desk.port.sent]
    assert len({*units}) == 4
    assert min(units) > 0xF0000000
    desk.driver.ask(ContextRef(0, GPU, 4), Command(Compute.DESTROY, 5), desk.told.append, above=0xFFFFFFFF)
    desk.port.pass_time(1)
    assert (desk.told, len(desk.port.sent)) == ([LOST], 4)


def test_what_others_send_takes_time_on_the_link() -> None:
    desk = Desk()
    desk.launch()
    flits, frame = desk.card.link_free_at, bytes(80)
    for number in (1, 2):
        with mock.patch.object(desk.port, "send"):
            desk.driver.pass_on(desk.card, ContextRef(0, GPU, 3), frame)
        assert desk.card.link_free_at == flits + number * 10


def test_a_launch_that_was_taken_when_the_link_was_free_is_asked_for_after_patience_and_what_it_computes() -> None:
    desk = Desk()
    desk.launch()
    desk.port.pass_time(PATIENCE)
    desk.answer(STARTED)
    desk.port.pass_time(PATIENCE + COMPUTES - 1)
    assert len(desk.port.sent) == 1
    desk.port.pass_time(1)
    assert len(desk.port.sent) == 2


@pytest.mark.parametrize("taken", [False, True])
def test_each_attempt_has_more_time_up_to_eight_times_as_much(taken: bool) -> None:
    """Its patience, four times what the link needs for it, and a launch that was taken what it computes besides."""
    desk = Desk()
    desk.launch()
    flits = desk.card.link_free_at
    assert 0 < flits < PATIENCE // 4
    if taken:
        desk.answer(STARTED)
    times = [] if taken else [0]
    while len(times) < 11:
        before = len(desk.port.sent)
        desk.port.pass_time(1)
        times += [desk.port.now] * (len(desk.port.sent) - before)
    allowed = PATIENCE + 4 * flits + taken * COMPUTES
    waits = [allowed * min(attempt + 1, 8) for attempt in range(0 if taken else 1, 11)]
    assert [b - a for a, b in pairwise([0, *times] if taken else times)][: len(waits)] == waits


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


@pytest.mark.parametrize("compute", [1274, 1275, 1313])
def test_a_slow_gpu_does_each_step_once(cells: Library, compute: int) -> None:
    """A step takes as long as the driver is patient: it asks for it again in the cycles in which its end comes back."""
    run = Run(loads(SLOW.format(compute=compute)), cells)
    assert run.run().failures == ()
    report = run.server.applications.reports["x"]
    assert (report.failed, report.steps, report.run) == (None, 3, 3 * 4 * compute)


@pytest.mark.parametrize("times", [30, 31, 41, 42])
def test_one_that_is_under_way_for_ever_never_ends(times: int) -> None:
    """Thirty times, and as often as it could be asked for while it takes as long as it can."""
    desk = Desk()
    desk.launch()
    assert not desk.driver.never_ends(lambda amount: 0)
    for _ in range(times + 1):  # the first time it is taken
        desk.answer(STARTED)
    assert desk.driver.never_ends(lambda amount: 0) == (times > 30)
    assert desk.driver.never_ends(lambda amount: 11 * PATIENCE if amount == COMPUTES else 0) == (times > 41)
    desk.answer(DONE)
    assert not desk.driver.never_ends(lambda amount: 0)


@pytest.mark.rest
def test_a_run_in_which_a_launch_never_ends_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its GPU told no end of it, and said each time that it is under way; another one goes on `again` with it."""
    mail = Driver.mail

    def hears(self: Driver, message: Result | Acknowledgement) -> None:
        asked = self._asked.get(message.unit)
        ours = isinstance(message, Result) and asked is not None and asked.command.key == 1
        if ours and asked is not None and asked.command.compute is Compute.LAUNCH and message.status == DONE.code:
            message = replace(message, status=STARTED.code)
        mail(self, message)

    monkeypatch.setattr(Driver, "mail", hears)
    text = """
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
sharing:
  applications:
    x: {gpu: a.2, steps: 3, wants: 1, compute: 90}
    y: {gpu: a.2, steps: 2, compute: 90, again: true}
"""
    run = Run(loads(text), cells_library())
    outcome = run.run()
    run.close()
    assert any("x has not ended, and waits for nothing that will come" in each for each in outcome.failures)
