"""A command that has reached nobody is asked for again, and the next one waits for its answer; else it is told."""

from types import SimpleNamespace

import pytest

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts import driver
from ringhil.emulator.host.contexts.command import Command, Reply, unit_of
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.contexts.commands_seen import SeenCommand, seen_command
from ringhil.emulator.judge.contexts.one_by_one import OneByOne
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

from .playing import assert_named

GPU = 3
WHAT = f"a command to context 1 of GPU {GPU}, card 0"


class Asked:
    """Commands to one context, and what is answered."""

    def __init__(self) -> None:
        self.view = SimpleNamespace(members=(1, GPU))
        self.judge = OneByOne(Stream(), [self.view], [(0, GPU, 1)])  # type: ignore[list-item]

    def send(
        self, number: int, now: int, attempt: int = 1, compute: Compute = Compute.ALLOCATE, context: int = 1
    ) -> None:
        route = segments.Route(0, 0, 0, GPU, False, 9, 1)
        body = Command(compute, 1, 5).payload()
        command = seen_command(segments.segments(unit_of(number), attempt, body, route, compute, context)[0])
        assert command is not None
        self.judge.sent(command, now)

    def answer(self, number: int, now: int, status: ResultStatus = ResultStatus.DONE) -> None:
        self.judge.heard(Result(0, 0, 9, 0, 1, unit_of(number), GPU, 1, status.code, 0, 0, 0, 16, 0), now)

    def refuse(self, number: int, now: int, reason: AckStatus) -> None:
        self.judge.heard(Acknowledgement(0, 0, 9, 0, 1, unit_of(number), GPU, 1, reason.code, 0, 0), now)

    def told(self, *, ended: bool = True) -> list[str]:
        self.judge.finish(1000, ended=ended)
        return [str(each) for each in self.judge.wrong]


def test_what_is_asked_until_it_is_answered_is_right() -> None:
    asked = Asked()
    asked.send(0, 5)
    asked.refuse(0, 20, AckStatus.INCOMPLETE)
    asked.send(0, 90, attempt=2)
    asked.send(1, 120)  # the answer is told after what follows from it
    asked.answer(0, 120)
    asked.send(2, 150, compute=Compute.LAUNCH)
    asked.answer(1, 150)
    asked.answer(2, 190, ResultStatus.STARTED)
    asked.send(3, 200)
    asked.send(2, 300, attempt=1, compute=Compute.LAUNCH)  # is it over?
    asked.answer(2, 310)
    asked.answer(3, 320)
    assert asked.told() == []


@pytest.mark.parametrize("reason", [AckStatus.BUSY, AckStatus.INCOMPLETE])
def test_what_has_reached_nobody_and_is_given_up_is_told(reason: AckStatus) -> None:
    for at in (20, 30):  # the next one follows from the refusal, or comes later
        asked = Asked()
        asked.send(0, 5)
        if at == 20:
            asked.send(1, at)
        asked.refuse(0, 20, reason)
        if at > 20:
            asked.send(1, at)
        assert asked.told() == [f"{WHAT} was {reason.value}, and was not asked for again"]
    asked = Asked()
    asked.send(0, 5)
    asked.refuse(0, 20, reason)
    assert asked.told(ended=False) == []
    assert asked.told() == [f"{WHAT} was {reason.value}, and was not asked for again"]


def test_what_is_not_waited_for_is_told() -> None:
    asked = Asked()
    asked.send(0, 5)
    asked.send(1, 6)
    assert asked.told() == [f"{WHAT} was not waited for"]


@pytest.mark.parametrize(("heard", "excused"), [(0, True), (1, True), (15, False)])
def test_a_launch_of_which_nothing_is_heard_any_more_is_a_reason_to_fail(heard: int, excused: bool) -> None:
    """It was taken; then it is asked for again, 20 times at least since it was heard of last."""
    asked = Asked()
    asked.send(0, 5, compute=Compute.LAUNCH)
    asked.answer(0, 10, ResultStatus.STARTED)
    for attempt in range(1, 31):
        asked.send(0, 100 * attempt, attempt=attempt, compute=Compute.LAUNCH)
        if attempt == heard:
            asked.answer(0, 100 * attempt + 50, ResultStatus.STARTED)
    assert asked.told() == []
    assert asked.judge.excused((0, GPU, 1)) == excused


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("over", [False, True])
def test_who_was_answered_after_all_has_no_reason_to_fail(over: bool, more: bool) -> None:
    """Or whose launch was over then."""
    asked = Asked()
    asked.send(0, 5, compute=Compute.LAUNCH)
    asked.answer(0, 10, ResultStatus.STARTED)
    for attempt in range(1, 28):
        asked.send(0, 100 * attempt, attempt=attempt, compute=Compute.LAUNCH)
    asked.answer(0, 2750, ResultStatus.DONE if over else ResultStatus.STARTED)
    if more:
        asked.send(1, 2800, attempt=25)
        asked.answer(1, 2900)
    assert asked.told() == []
    assert not asked.judge.excused((0, GPU, 1))


@pytest.mark.parametrize(
    ("compute", "status", "excused"),
    [
        (Compute.ALLOCATE, ResultStatus.NO_MEMORY, True),
        (Compute.ALLOCATE, ResultStatus.OVER_LIMIT, True),
        (Compute.ALLOCATE, ResultStatus.INVALID, False),
        (Compute.CREATE, AckStatus.EXISTS, True),
        (Compute.COPY, ResultStatus.INVALID, True),
        (Compute.LAUNCH, AckStatus.FOREIGN, False),
        (Compute.LAUNCH, AckStatus.NO_CONTEXT, True),
        (Compute.LAUNCH, ResultStatus.RUNNING, False),
    ],
)
def test_only_some_refusals_are_a_reason_to_fail(
    compute: Compute, status: AckStatus | ResultStatus, excused: bool
) -> None:
    asked = Asked()
    asked.send(0, 5, compute=compute)
    if isinstance(status, AckStatus):
        asked.refuse(0, 20, status)
    else:
        asked.answer(0, 20, status)
    assert asked.judge.excused((0, GPU, 1)) == excused


def test_a_foreign_context_is_a_reason_where_a_gpu_has_had_anothers_number() -> None:
    """Until it has left the ring."""
    for emptied in False, True:
        asked = Asked()
        asked.judge.mixed_up((0, GPU))
        asked.judge.mixed_up((0, 1))
        asked.judge.emptied((0, GPU if emptied else 1))
        asked.send(0, 5, compute=Compute.LAUNCH)
        asked.refuse(0, 20, AckStatus.FOREIGN)
        assert asked.judge.excused((0, GPU, 1)) == (not emptied)


@pytest.mark.parametrize("compute", [Compute.DESTROY, Compute.QUERY])
def test_who_waits_for_what_is_left_to_go_waits_in_vain(compute: Compute) -> None:
    asked = Asked()
    for attempt in range(1, 31):
        asked.send(0, 100 * attempt, attempt=attempt, compute=compute)
    spans = (0, 1999), (0, 2000), (3000, 4000), (3001, 4000)
    vain = [asked.judge.waits_in_vain((0, GPU), *span) for span in spans]
    assert vain == [each and compute is Compute.DESTROY for each in (False, True, True, False)]
    assert not asked.judge.waits_in_vain((0, 1), 0, 4000)


@pytest.mark.parametrize("compute", [Compute.DESTROY, Compute.ALLOCATE])
def test_what_has_had_attempts_that_nobody_has_seen_may_be_given_up(compute: Compute) -> None:
    asked = Asked()
    asked.send(0, 100, compute=compute)
    for context in 1, 9:
        command = SeenCommand(unit_of(0), 3, (0, GPU), context, compute, 1, 5, 0, 0, 0, 0)
        asked.judge.fell_silent(command, 150, 900)
    asked.send(1, 900)
    assert asked.told() == []
    assert asked.judge.excused((0, GPU, 1))
    spans = (0, 149), (0, 150), (400, 500), (900, 950), (901, 950)
    vain = [asked.judge.waits_in_vain((0, GPU), *span) for span in spans]
    assert vain == [each and compute is Compute.DESTROY for each in (False, True, True, True, False)]


@pytest.mark.parametrize(("times", "excused"), [(19, False), (20, True)])
def test_a_launch_that_is_refused_without_end_is_one(times: int, excused: bool) -> None:
    """As another one runs."""
    asked = Asked()
    for number in range(times):
        asked.send(number, 10 * number, compute=Compute.LAUNCH)
        asked.answer(number, 10 * number + 5, ResultStatus.RUNNING)
    assert asked.judge.excused((0, GPU, 1)) == excused


def test_one_that_runs_at_last_begins_anew() -> None:
    asked = Asked()
    for number in range(38):
        asked.send(number, 10 * number, compute=Compute.LAUNCH)
        asked.answer(number, 10 * number + 5, ResultStatus.STARTED if number == 19 else ResultStatus.RUNNING)
    assert not asked.judge.excused((0, GPU, 1))


@pytest.mark.parametrize("together", [False, True])
def test_a_policy_gives_all_its_contexts_up_with_the_first_that_is_gone(together: bool) -> None:
    asked, places = Asked(), [(0, GPU, 1), (0, GPU, 2)]
    asked.judge = OneByOne(Stream(), [asked.view], places, together=places if together else ())  # type: ignore[list-item]
    asked.send(0, 5)
    asked.send(1, 5, context=2)
    asked.send(2, 50, context=2, compute=Compute.DESTROY)
    asked.refuse(0, 50, AckStatus.NO_CONTEXT)
    asked.refuse(1, 60, AckStatus.NO_CONTEXT)
    asked.refuse(2, 90, AckStatus.NO_CONTEXT)
    assert asked.told() == [f"a command to context 2 of GPU {GPU}, card 0 was not waited for"] * (not together)


@pytest.mark.parametrize("attempts", [19, 20])
def test_who_is_never_answered_may_fail_whatever_is_answered_later(attempts: int) -> None:
    asked = Asked()
    asked.send(0, 5, attempt=attempts)
    asked.send(1, 90, compute=Compute.DESTROY)
    asked.answer(1, 99)
    assert asked.told() == [f"{WHAT} was not waited for"] * (attempts < 20)
    assert asked.judge.excused((0, GPU, 1)) == (attempts == 20)


def test_so_may_one_whose_launch_is_never_over() -> None:
    asked = Asked()
    asked.send(0, 5, compute=Compute.LAUNCH)
    asked.answer(0, 10, ResultStatus.STARTED)
    for attempt in range(1, 31):
        asked.send(0, 100 * attempt, attempt=attempt, compute=Compute.LAUNCH)
    asked.send(1, 3100, compute=Compute.DESTROY)
    asked.answer(1, 3200)
    asked.answer(0, 3300)  # told too late
    assert asked.told() == []
    assert asked.judge.excused((0, GPU, 1))


@pytest.mark.parametrize("together", [False, True])
def test_and_with_the_first_that_is_silent(together: bool) -> None:
    asked, places = Asked(), [(0, GPU, 1), (0, GPU, 2), (0, 1, 1)]
    asked.judge = OneByOne(Stream(), [asked.view], places, together=places if together else ())  # type: ignore[list-item]
    asked.send(1, 5, context=2)
    asked.send(0, 20, attempt=30)
    asked.send(2, 50, context=2, compute=Compute.DESTROY)
    assert asked.told() == [f"a command to context 2 of GPU {GPU}, card 0 was not waited for"] * (not together)
    assert not asked.judge.excused((0, 1, 1))


@pytest.mark.parametrize("reason", [AckStatus.NO_CONTEXT, AckStatus.BUSY])
@pytest.mark.parametrize("other", [0, 1])
def test_a_launch_that_is_gone_with_its_context_is_a_reason_to_fail(reason: AckStatus, other: int) -> None:
    """It was taken, and is asked for again."""
    asked = Asked()
    asked.send(0, 5, compute=Compute.LAUNCH)
    asked.answer(0, 10, ResultStatus.STARTED)
    asked.send(0, 100, attempt=1, compute=Compute.LAUNCH)
    asked.refuse(other, 110, reason)
    assert asked.judge.excused((0, GPU, 1)) == (reason is AckStatus.NO_CONTEXT and not other)
    assert asked.told() == []


def test_what_was_given_up_unseen_was_waited_for() -> None:
    """Nobody reached the card for so long by then."""
    asked = Asked()
    asked.judge = OneByOne(Stream(), [asked.view], [(0, GPU, 1)], lambda card, by: card == 0 and by >= 5)  # type: ignore[list-item]
    asked.send(0, 1)
    asked.send(1, 4)
    asked.send(2, 5)
    assert asked.told() == [f"{WHAT} was not waited for"]


def test_what_a_lost_gpu_was_asked_is_lost() -> None:
    asked = Asked()
    asked.send(0, 5)
    asked.refuse(0, 20, AckStatus.BUSY)
    asked.view.members = (1,)
    asked.judge.counted(0, 30)
    asked.view.members = (1, GPU)
    asked.judge.counted(0, 60)
    asked.send(1, 70)
    assert asked.told() == []


def test_that_it_was_lost_before_it_was_asked_for_anything_counts_no_more() -> None:
    asked = Asked()
    for now, members in ((2, (1,)), (4, (1, GPU))):
        asked.view.members = members
        asked.judge.counted(0, now)
    asked.send(0, 5)
    asked.refuse(0, 20, AckStatus.BUSY)
    assert asked.told() == [f"{WHAT} was busy, and was not asked for again"]


def test_what_was_overtaken_in_the_cycle_in_which_its_gpu_was_lost_is_lost() -> None:
    asked = Asked()
    asked.send(0, 5)
    asked.send(1, 30)
    asked.view.members = (1,)
    asked.judge.counted(0, 30)
    assert asked.told() == []


def test_what_was_asked_twice_was_not_asked_often() -> None:
    asked = Asked()
    asked.send(0, 5)
    asked.send(0, 50, attempt=2)
    asked.send(1, 60)
    assert asked.told() == [f"{WHAT} was not waited for"]
    assert not asked.judge.excused((0, GPU, 1))


def test_what_is_taken_away_from_a_gpu_that_was_lost_has_time_beyond_the_end() -> None:
    """Whoever had it has ended. Of one that was never lost somebody waits for that."""
    for lost in (True, False):
        asked = Asked()
        asked.send(0, 5)
        asked.answer(0, 20)
        asked.view.members = (1,) if lost else (1, GPU)
        asked.judge.counted(0, 30)
        asked.view.members = (1, GPU)
        asked.send(1, 60, compute=Compute.DESTROY)
        asked.judge.counted(0, 60)
        asked.refuse(1, 80, AckStatus.BUSY)
        assert asked.told() == [f"{WHAT} was busy, and was not asked for again"] * (not lost)


# Copies of several segments, over a link that loses some.
NOISY = """
seed: 5
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
sharing: {applications: {x: {gpu: a.3, steps: 30, host: 100, compute: 900, input: 3000, memory: 100}}}
timeline: [{at: 5000, fault: link_bit_errors, link: a.3-a.4, rate: 200}]
"""


def no_more_than_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(driver, "_AGAIN", (AckStatus.BUSY,))


def test_a_driver_that_gives_up_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_named(no_more_than_once, NOISY, "work_once", "was incomplete, and was not asked for again", monkeypatch)


# Nobody reaches the card for a moment, long before x begins; or for long, when x has ended.
UNREACHED = """
server: {{cards: {{a: {{gpus: 5, host_links: [0]}}}}}}
sharing: {{applications: {{x: {{gpu: a.3, steps: 3, compute: 900, input: 300, memory: 100, start: {start}}}}}}}
timeline: [{{at: 5000, fault: host_link_cut, gpu: a.0}}, {{at: {back}, clear: host_link_cut, gpu: a.0}}]
until: 950000
"""


@pytest.mark.parametrize(
    "text", [NOISY, UNREACHED.format(start=900_000, back=30_000), UNREACHED.format(start=0, back=940_000)]
)
def test_an_application_that_fails_for_no_reason_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def spoil(patch: pytest.MonkeyPatch) -> None:
        mail = Driver.mail

        def lost(self: Driver, message: Result | Acknowledgement) -> None:
            asked = self._asked.get(message.unit)
            if asked is not None and asked.command.compute is Compute.COPY:
                asked.then, then = (lambda reply: then(Reply(None))), asked.then
            mail(self, message)

        patch.setattr(Driver, "mail", lost)

    assert_named(spoil, text, "work_once", "and no GPU has given it a reason", monkeypatch)
