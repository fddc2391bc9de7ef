"""The judge's account of contexts: each kind of wrong answer is told, right ones are not."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.contexts.command import Command, Reply, unit_of
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.contexts.commands_seen import TWINS, seen_command
from ringhil.emulator.judge.contexts.isolation import Isolation
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

MEMORY, LIMIT = 100, 60
MANAGER, KEY = 0, 1
GPU = 3
OF_CONTEXT, RUN_TIME, OF_GPU = 0, 1, 4  # what is asked for
ROUTE = segments.Route(0, 0, 0, GPU, False, 9, 1)


class FrameContents:
    """Commands to two contexts of one GPU, and what it is made to answer."""

    def __init__(self) -> None:
        self.judge = Isolation(Stream(), MEMORY, [])
        self._number = 0
        for context in (1, 2):
            self.ask(context, Compute.CREATE, LIMIT, (0, LIMIT))

    def ask(
        self,
        context: int,
        compute: Compute,
        amount: int,
        memory: tuple[int, int],
        status: ResultStatus = ResultStatus.DONE,
        cycles: int = 0,
        key: int = KEY,
        now: int = 0,
    ) -> None:
        """`memory`: what the answer says that the context holds, and may hold."""
        unit = unit_of(self._number)
        self._number += 1
        body = Command(compute, key, amount).payload()
        command = seen_command(segments.segments(unit, 1, body, ROUTE, compute, context)[0])
        assert command is not None
        self.judge.sent(command, now)
        digest = memory[0] << 32 | memory[1]
        self.judge.answered(Result(0, 0, 9, 0, 1, unit, GPU, 1, status.code, 0, 0, digest, len(body), cycles), 7)

    def send(self, number: int, compute: Compute, now: int, context: int = 1) -> None:
        """Of which nothing is heard yet."""
        body = Command(compute, KEY, 9).payload()
        command = seen_command(segments.segments(unit_of(number), 1, body, ROUTE, compute, context)[0])
        assert command is not None
        self.judge.sent(command, now)

    def refuse(self, number: int, reason: AckStatus) -> None:
        self.judge.refused(Acknowledgement(0, 0, 9, 0, 1, unit_of(number), GPU, 1, reason.code, 0, 0))

    @property
    def found(self) -> list[str]:
        return [str(each) for each in (*self.judge.memory, *self.judge.launches)]


def test_right_answers_are_right() -> None:
    told = FrameContents()
    told.ask(1, Compute.ALLOCATE, 60, (60, 60))
    told.ask(1, Compute.ALLOCATE, 1, (60, 60), ResultStatus.OVER_LIMIT)
    told.ask(2, Compute.ALLOCATE, 41, (0, 60), ResultStatus.NO_MEMORY)
    told.ask(2, Compute.ALLOCATE, 40, (40, 60))
    told.ask(2, Compute.FREE, 41, (40, 60), ResultStatus.INVALID)
    told.ask(2, Compute.FREE, 60, (40, 60), ResultStatus.INVALID)
    told.ask(2, Compute.FREE, 40, (0, 60))
    told.ask(2, Compute.CONFIGURE, 90, (0, 60), ResultStatus.INVALID)
    told.ask(2, Compute.CONFIGURE, 5, (0, 5), key=MANAGER)
    told.ask(2, Compute.ALLOCATE, 6, (0, 5), ResultStatus.OVER_LIMIT)
    told.ask(1, Compute.COPY, 59, (0, 0))
    told.ask(1, Compute.LAUNCH, 500, (0, 0), ResultStatus.STARTED)
    told.ask(2, Compute.LAUNCH, 500, (0, 0), cycles=500)
    told.ask(1, Compute.DESTROY, 0, (0, 60))
    told.ask(2, Compute.ALLOCATE, 5, (5, 5))
    assert told.found == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((1, Compute.ALLOCATE, 10, (61, 60)), "holds 61 pages, and may hold 60"),
        ((2, Compute.ALLOCATE, 60, (60, 60)), "and the others hold more than there is"),
        ((2, Compute.ALLOCATE, 10, (9, 60)), "says that it holds 9 of 60 pages; it is 10 of 60"),
        ((2, Compute.ALLOCATE, 10, (10, 61)), "says that it holds 10 of 61 pages; it is 10 of 60"),
        ((2, Compute.ALLOCATE, 60, (0, 60), ResultStatus.OVER_LIMIT), "refused 60 pages that its limit allows"),
        ((2, Compute.ALLOCATE, 49, (0, 60), ResultStatus.NO_MEMORY), "refused 49 pages that the GPU has"),
        ((1, Compute.FREE, 50, (50, 60), ResultStatus.INVALID), "couldn't free 50 pages that it holds"),
        ((1, Compute.FREE, 51, (51, 60), ResultStatus.INVALID), "couldn't free 51 pages that it holds"),
        ((1, Compute.FREE, 10, (51, 60)), "says that it holds 51 of 60 pages; it is 41 of 60"),
        ((1, Compute.CONFIGURE, 70, (51, 70)), "was given 70 pages by who doesn't manage the GPU"),
        (
            (1, Compute.CONFIGURE, 70, (51, 60), ResultStatus.DONE, 0, MANAGER),
            "says that it holds 51 of 60 pages; it is 51 of 70",
        ),
        ((1, Compute.DESTROY, 0, (51, 60)), "says that it holds 51 of 60 pages; it is 0 of 60"),
        ((1, Compute.COPY, 51, (0, 0)), "has data in page 51, and holds 51"),
        ((1, Compute.COPY, 50, (0, 0), ResultStatus.INVALID), "couldn't have data in page 50, and holds 51"),
        ((1, Compute.LAUNCH, 500, (0, 0), ResultStatus.DONE, 499), "ended after 499 of 500 cycles"),
        ((1, Compute.LAUNCH, 500, (0, 1), ResultStatus.DONE, 500), "ended after 500 of 500 cycles"),
        ((1, Compute.LAUNCH, 500, (0, 0), ResultStatus.DONE, 501), "had 501 cycles of the engine; it asked for 500"),
        ((1, Compute.QUERY, RUN_TIME, (0, 1)), "says that it ran for 1 cycles; it was 0"),
        ((1, Compute.QUERY, OF_CONTEXT, (50, 60)), "says that it holds 50 of 60 pages; it is 51 of 60"),
        ((1, Compute.QUERY, OF_CONTEXT, (51, 61)), "says that it holds 51 of 61 pages; it is 51 of 60"),
        ((2, Compute.QUERY, OF_GPU, (51, 99)), "says that it holds 51 of 99 pages; it is 51 of 100"),
    ],
)
def test_each_wrong_answer_is_told(asked: tuple[object, ...], words: str) -> None:
    told = FrameContents()
    told.ask(1, Compute.ALLOCATE, 51, (51, 60))
    told.ask(*asked)  # type: ignore[arg-type]
    (text, *_) = told.found
    assert words in text
    assert f"GPU {GPU}, card 0" in text


def test_what_a_gpu_holds_in_all_is_known_while_nothing_changes_it() -> None:
    told = FrameContents()
    told.ask(1, Compute.ALLOCATE, 51, (51, 60))
    told.ask(2, Compute.ALLOCATE, 9, (9, 60))
    told.ask(2, Compute.QUERY, OF_GPU, (59, MEMORY), now=6)  # that may have been before the answers
    told.ask(2, Compute.QUERY, OF_GPU, (60, MEMORY), now=7)
    assert told.found == []
    wrong = [f"GPU {GPU}, card 0 says that it holds 59 of 100 pages; it is 60 of 100"]
    told.ask(1, Compute.QUERY, OF_GPU, (59, MEMORY), now=7)
    assert told.found == wrong


@pytest.mark.parametrize(
    ("compute", "known"),
    [
        (Compute.ALLOCATE, False),
        (Compute.FREE, False),
        (Compute.DESTROY, False),
        (Compute.CREATE, True),
        (Compute.COPY, True),
    ],
)
def test_what_a_gpu_holds_in_all_is_not_known_before_what_changes_it_is_answered(compute: Compute, known: bool) -> None:
    told = FrameContents()

    def judged() -> bool:
        told.judge.memory.clear()
        told.ask(1, Compute.QUERY, OF_GPU, (1, MEMORY), now=9)
        return bool(told.found)

    told.send(50, compute, 8)
    assert judged() == known
    told.refuse(50, AckStatus.BUSY)
    assert judged() == known
    told.refuse(50, AckStatus.FOREIGN)
    assert judged()


@pytest.mark.parametrize("way", ["gone", "lost", "twins", "no_context"])
def test_what_a_gpu_holds_when_something_has_happened(way: str) -> None:
    told = FrameContents()
    told.ask(1, Compute.ALLOCATE, 51, (51, 60))
    if way in ("gone", "no_context"):
        told.send(50, Compute.ALLOCATE, 8, context=2)
    if way == "gone":
        told.judge.gone((0, GPU), 9)
    elif way == "lost":
        told.judge.counted(SimpleNamespace(number=0, members=(1,)))  # type: ignore[arg-type]
    elif way == "twins":
        told.judge.doubt((0, GPU))
    told.ask(3, Compute.CREATE, LIMIT, (0, LIMIT), now=9)
    if way == "no_context":
        told.send(51, Compute.COPY, 9, context=2)
        told.refuse(51, AckStatus.NO_CONTEXT)
    told.ask(3, Compute.QUERY, OF_GPU, (7, MEMORY), now=20)
    mine = {"gone": 0, "no_context": 51}.get(way)
    assert told.found == [f"GPU {GPU}, card 0 says that it holds 7 of 100 pages; it is {mine} of 100"] * (
        mine is not None
    )


def test_memory_that_another_one_has_just_asked_for_may_be_gone() -> None:
    """Nothing has been heard of that yet; when it was refused, too, it wasn't."""
    told = FrameContents()
    told.ask(1, Compute.ALLOCATE, 51, (51, 60))
    body = Command(Compute.ALLOCATE, KEY, 9).payload()
    unit = unit_of(100)
    command = seen_command(segments.segments(unit, 1, body, ROUTE, Compute.ALLOCATE, 1)[0])
    assert command is not None
    told.judge.sent(command)
    told.ask(2, Compute.ALLOCATE, 41, (0, 60), ResultStatus.NO_MEMORY)
    assert told.found == []
    told.ask(2, Compute.ALLOCATE, 40, (0, 60), ResultStatus.NO_MEMORY)
    assert told.found == [f"context 2 of GPU {GPU}, card 0 was refused 40 pages that the GPU has"]
    refused = ResultStatus.OVER_LIMIT.code
    told.judge.answered(Result(0, 0, 9, 0, 1, unit, GPU, 1, refused, 0, 0, 51 << 32 | 51, len(body), 0), 7)
    told.ask(2, Compute.ALLOCATE, 41, (0, 60), ResultStatus.NO_MEMORY)
    assert told.found[-1] == f"context 2 of GPU {GPU}, card 0 was refused 41 pages that the GPU has"


def test_each_gpu_has_numbers_of_its_own() -> None:
    """Two drivers may give the same number to commands to different GPUs."""
    told = FrameContents()
    body, route = Command(Compute.ALLOCATE, 1, 9).payload(), replace(ROUTE, gpu=GPU + 1)
    command = seen_command(segments.segments(unit_of(2), 1, body, route, Compute.ALLOCATE, 1)[0])
    assert command is not None
    told.judge.sent(command)
    told.ask(1, Compute.ALLOCATE, 61, (61, LIMIT))
    assert len(told.found) == 1


def test_a_gpu_that_has_left_the_ring_has_no_contexts() -> None:
    told = FrameContents()
    told.ask(1, Compute.ALLOCATE, 51, (51, 60))
    told.judge.gone((0, GPU), 0)
    told.ask(1, Compute.FREE, 20, (0, 60))  # was said before
    told.ask(2, Compute.CREATE, 60, (0, 60))
    told.ask(2, Compute.ALLOCATE, 60, (60, 60))
    assert (told.found, told.judge.doubts) == ([], [])
    told.ask(2, Compute.ALLOCATE, 1, (59, 60), ResultStatus.OVER_LIMIT)
    told.ask(2, Compute.FREE, 20, (40, 60))
    told.ask(2, Compute.ALLOCATE, 20, (40, 60), ResultStatus.NO_MEMORY)
    assert told.found == [f"context 2 of GPU {GPU}, card 0 was refused 20 pages that the GPU has"]


@pytest.mark.parametrize(("compute", "told"), [(Compute.ALLOCATE, 1), (Compute.QUERY, 1), (Compute.DESTROY, 0)])
def test_a_context_that_outlives_that_is_told(compute: Compute, told: int) -> None:
    """What is left is destroyed, and may have been created since. Of what was asked before nobody knows when it was."""
    judged = FrameContents()
    judged.judge.gone((0, GPU), 5)
    judged.ask(1, compute, 0, (0, 60))
    assert judged.found == []
    judged.ask(1, compute, 0, (0, 60), now=6)
    what = f"context 1 of GPU {GPU}, card 0 goes on, though its GPU has left the ring since it was created"
    assert judged.found == [what] * told
    judged.judge.memory.clear()
    judged.ask(1, Compute.CREATE, 60, (0, 60), now=7)
    judged.ask(1, Compute.ALLOCATE, 5, (5, 60), now=8)
    judged.judge.doubt((0, GPU))
    judged.ask(1, Compute.ALLOCATE, 5, (10, 60), now=9)
    assert judged.found == []


@pytest.mark.parametrize("slow", [False, True])
def test_who_worked_for_whom_is_not_known_where_two_answer_by_one_number(slow: bool) -> None:
    told = FrameContents()
    told.judge.slowed((0, GPU), 0, slow=slow)
    told.judge.doubt((0, GPU))
    told.ask(1, Compute.LAUNCH, 500, (0, 0), cycles=500, now=9)
    wrong = f"a launch of context 1 of GPU {GPU}, card 0 ended after 500 of 2000 cycles: {TWINS}"
    assert (told.found, told.judge.doubts) == ([], [wrong] * slow)


@pytest.mark.parametrize("how", ["gone", "refused", "asked again", "next refused", "destroyed", "lost"])
def test_pages_that_nobody_gets_any_more_are_free(how: str) -> None:
    told = FrameContents()
    body = Command(Compute.ALLOCATE, KEY, 50).payload()
    unit = unit_of(100)
    command = seen_command(segments.segments(unit, 1, body, ROUTE, Compute.ALLOCATE, 1)[0])
    assert command is not None
    told.judge.sent(command)
    reason = AckStatus.BUSY if how == "asked again" else AckStatus.NO_CONTEXT
    if how == "next refused":
        told.judge.sent(command._replace(unit=unit + 1, compute=Compute.QUERY))
        unit += 1
    if how == "gone":
        told.judge.gone((0, GPU), 0)
    elif how == "destroyed":
        told.ask(1, Compute.DESTROY, 0, (0, 60))
    elif how != "lost":
        told.judge.refused(Acknowledgement(0, 0, 9, 0, 1, unit, GPU, 1, reason.code, 0, 0))
    told.ask(2, Compute.CREATE, 60, (0, 60))
    told.ask(2, Compute.ALLOCATE, 60, (0, 60), ResultStatus.NO_MEMORY)
    assert len(told.found) == (how not in ("asked again", "lost"))


def test_of_contexts_whose_gpu_answers_by_two_numbers_nothing_is_known() -> None:
    """That is said: of each once, and of a refusal that may be wrong. Of others, and of new ones, all is."""
    told = FrameContents()
    what = f"context 1 of GPU {GPU}, card 0"
    told.ask(1, Compute.ALLOCATE, 51, (51, 60))
    told.judge.doubt((0, GPU))
    told.judge.doubt((0, GPU + 1))
    told.ask(1, Compute.FREE, 50, (0, 60))
    told.ask(1, Compute.FREE, 51, (1, 60))
    assert (told.found, told.judge.doubts) == ([], [f"what {what} says: {TWINS}"])
    told.ask(1, Compute.CREATE, 60, (0, 60))
    told.ask(1, Compute.ALLOCATE, 10, (0, 60), ResultStatus.NO_MEMORY)
    assert told.judge.doubts[1:] == [f"{what} was refused 10 pages that the GPU has: {TWINS}"]
    told.ask(1, Compute.FREE, 50, (1, 60))
    assert len(told.found) == 1
    assert not told.judge.known((0, GPU))


@pytest.mark.parametrize("known", [False, True])
def test_when_it_has_left_the_ring_all_is_known_again(known: bool) -> None:
    """Unless it goes on to answer by two numbers."""
    told = FrameContents()
    told.judge.doubt((0, GPU))
    told.judge.gone((0, GPU), 0, known=known)
    told.ask(1, Compute.CREATE, 60, (0, 60))
    told.ask(1, Compute.ALLOCATE, 10, (0, 60), ResultStatus.NO_MEMORY)
    assert (len(told.found), len(told.judge.doubts)) == (known, not known)


@pytest.mark.parametrize(
    ("card", "members", "known"), [(0, (1, 2), False), (0, (1, GPU), True), (0, (), True), (1, (1, 2), True)]
)
def test_of_a_gpu_that_was_lost_the_last_answer_says_what_it_likes(
    card: int, members: tuple[int, ...], known: bool
) -> None:
    """It may have carried out what was asked last; that nobody has heard. Of a new context all is known."""
    told = FrameContents()
    told.judge.counted(SimpleNamespace(number=card, members=members))  # type: ignore[arg-type]
    told.ask(1, Compute.DESTROY, 0, (0, 30))
    assert told.found == [f"context 1 of GPU {GPU}, card 0 says that it holds 0 of 30 pages; it is 0 of 60"] * known
    told.judge.memory.clear()
    told.ask(1, Compute.CREATE, LIMIT, (0, LIMIT))
    told.ask(1, Compute.DESTROY, 0, (0, 30))
    assert len(told.found) == 1


def test_a_slow_gpu_takes_four_times_as_many_cycles() -> None:
    """One that becomes slow, or is well again, in the course of a launch takes any number in between."""
    told = FrameContents()
    told.judge.slowed((0, GPU), -1, slow=True)
    told.ask(1, Compute.CREATE, 5, (0, 5))
    told.ask(1, Compute.LAUNCH, 500, (0, 0), cycles=2000)
    told.ask(1, Compute.QUERY, RUN_TIME, (0, 2000))
    assert told.found == []
    told.ask(1, Compute.LAUNCH, 500, (0, 0), cycles=500)
    assert told.found == [f"a launch of context 1 of GPU {GPU}, card 0 ended after 500 of 2000 cycles"]
    told = FrameContents()
    told.judge.slowed((0, GPU), 0, slow=True)
    told.ask(1, Compute.LAUNCH, 500, (0, 0), cycles=1200)
    assert told.found == []


FILE = """
server: {cards: {a: {gpus: 3}}}
sharing: {applications: {x: {gpu: a.2, steps: 3, compute: 900}, y: {gpu: a.1, steps: 3, compute: 900}}}
"""


def failures() -> tuple[str, ...]:
    return Run(loads(FILE), cells_library()).run().failures


def test_a_launch_that_a_program_hears_of_twice_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver goes on when the launch has only been taken: a step is counted whose work may never be done."""
    assert failures() == ()
    monkeypatch.setattr(Driver, "_answered", hasty)
    found = failures()
    assert any("says that it has done 3 steps; " in text for text in found), found


def test_a_program_that_is_told_too_much_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reply, "done", property(lambda self: self.status is ResultStatus.DONE and longer(self)))
    found = failures()
    assert "x says that it had the GPU for 2701 cycles; its launches had 2700" in found, found


def longer(answer: Reply) -> bool:
    """Adds a cycle to what is about as long as all launches."""
    if answer.digest == 3 * 900:
        object.__setattr__(answer, "digest", answer.digest + 1)
    return True


def hasty(self: Driver, line: object, asked: object, answer: Reply) -> None:
    """Takes a launch that has been taken for one that is over."""
    line.out = None  # type: ignore[attr-defined]
    self._end(asked, replace(answer, status=ResultStatus.DONE))  # type: ignore[arg-type]
    self._next(asked.place)  # type: ignore[attr-defined]


def test_plain_work_beside_applications_is_judged_as_ever() -> None:
    """Commands aren't units of work, and the run goes on when that is done."""
    text = FILE.replace("steps: 3, compute: 900", "steps: 9, host: 9000, compute: 900, memory: 100")
    outcome = Run(loads(text + "workload: {units: 40, size: 256}\n"), cells_library()).run()
    assert outcome.failures == ()
    assert outcome.work["completed"] == 40
    assert not any(each.failed for each in outcome.applications.values())
