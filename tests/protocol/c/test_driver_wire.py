"""What the driver in C sends, and what it makes of what comes: at a card that answers as a test says."""

from dataclasses import replace
from pathlib import Path

import pytest

from ringhil.emulator.host.contexts.command import Command
from ringhil.emulator.host.work import segments
from ringhil.protocol.frames import Work
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.management import Way
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

from .applications import GPU, LOST, by_c
from .pretended_card import NOW, SIZE, PretendedCard, event

STARTED, DONE, RUNNING = ResultStatus.STARTED, ResultStatus.DONE, ResultStatus.RUNNING
DATA = bytes(i * 7 % 256 for i in range(700))
KEY, CONTEXT = 1001, 1
FIRST = 0x80000000 | (NOW // 16 + 1) << 4 | CONTEXT


def test_its_frames_are_those_of_the_driver_in_python(program: Path) -> None:
    """And what isn't answered goes out again under the same number, the other way round the ring."""
    with PretendedCard(lambda work, number: [event(work, DONE)] if number else []) as card:
        said, resent = by_c(program, card.port, ["copy 1 3 700"])
    payload = Command(Compute.COPY, KEY, 3, data=DATA).payload()
    wanted = []
    for attempt, ccw in ((1, False), (2, True)):
        route = segments.Route(0, 0, 0, GPU, ccw, SIZE + 1, 1)
        wanted += segments.segments(FIRST, attempt, payload, route, Compute.COPY, CONTEXT)
    assert [frame[:-4] for frame in card.frames] == [frame[:-4] for frame in wanted]  # but for their link CRC
    assert (said, resent) == ([("done", 7, 3)], 1)


def test_settings_go_where_they_belong(program: Path) -> None:
    with PretendedCard(lambda work, number: [event(work, DONE)]) as card:
        by_c(program, card.port, ["create 1 60 500", "configure 1 70 0", "launch 1 9", "query 1 4"])
    sent = [(Compute.CREATE, 60, 500), (Compute.CONFIGURE, 70, 0), (Compute.LAUNCH, 9, 0), (Compute.QUERY, 4, 0)]
    assert [(work.compute, work.payload) for work in card.commands] == [
        (compute.code, Command(compute, KEY, amount, slice_).payload()) for compute, amount, slice_ in sent
    ]
    assert [work.unit for work in card.commands] == [FIRST + 16 * n for n in range(4)]


def test_a_launch_behind_an_end_that_is_told_again_goes_out_under_another_number(program: Path) -> None:
    def answers(work: Work, number: int) -> list[m.Message]:
        return [event(work, RUNNING)] if number < 2 else [event(work, STARTED), event(work, DONE)]

    with PretendedCard(answers) as card:
        said, resent = by_c(program, card.port, ["launch 1 40", "wait 1"])
    assert [work.unit - FIRST for work in card.commands] == [0, 16, 32]
    assert said[-1] == ("done", 7, 3)
    assert resent == 0


@pytest.mark.rest
def test_a_gpu_that_says_no_more_that_a_launch_is_under_way_is_given_up(program: Path) -> None:
    """Also while it is counted: after 30 attempts."""
    with PretendedCard(lambda work, number: [event(work, STARTED)] if number < 40 else []) as card:
        said, resent = by_c(program, card.port, ["launch 1 40", "wait 1"], patience=60)
    assert said[1] == LOST
    # An answer may be heard one attempt later, and a request be sent again whose reply is late on a busy machine.
    assert 40 + 30 <= resent + 1 <= len(card.commands) <= 40 + 30 + 5


def test_an_end_that_is_lost_is_asked_for_again(program: Path) -> None:
    """That the launch has been taken may be said once more: it isn't its end."""

    def answers(work: Work, number: int) -> list[m.Message]:
        return [event(work, STARTED)] if number < 2 else [event(work, STARTED), event(work, DONE)]

    with PretendedCard(answers) as card:
        said, _ = by_c(program, card.port, ["launch 1 40", "wait 1"])
    assert said == [("started", 7, 3), ("done", 7, 3)]
    assert [work.unit for work in card.commands] == [FIRST] * 3


def test_what_is_no_answer_to_it_is_passed_over(program: Path) -> None:
    """Another's, a damaged one, one on its way elsewhere, and one of which a segment was lost."""

    def answers(work: Work, number: int) -> list[m.Message]:
        if number:
            return [event(work, DONE)]
        wrong = event(work, ResultStatus.NO_MEMORY)
        return [
            event(work, RUNNING, unit=work.unit + 16),
            event(work, RUNNING, gpu=GPU + 1),
            replace(wrong, bad=1),
            replace(wrong, frame=wrong.frame[:20] + b"x" + wrong.frame[21:]),
            replace(wrong, way=Way.FROM_CPU.code),
            replace(wrong, frame=wrong.frame[:9]),
            event(work, AckStatus.BUSY),
            event(work, AckStatus.INCOMPLETE),
        ]

    with PretendedCard(answers) as card:
        assert by_c(program, card.port, ["allocate 1 9"]) == ([("done", 7, 3)], 1)


def test_it_goes_to_whoever_is_the_entry_gpu(program: Path) -> None:
    with PretendedCard(lambda work, number: [event(work, DONE)], entries=[(0, 1), (1, 2)]) as card:
        assert by_c(program, card.port, ["allocate 1 9"]) == ([("done", 7, 3)], 1)
    assert [(work.source, work.epoch, work.attempt) for work in card.commands] == [(1, 2, 2)]


@pytest.mark.parametrize("refusal", [AckStatus.FOREIGN, AckStatus.EXISTS, AckStatus.NO_CONTEXT])
def test_why_it_reached_no_context_is_said(program: Path, refusal: AckStatus) -> None:
    with PretendedCard(lambda work, number: [event(work, refusal)]) as card:
        assert by_c(program, card.port, ["create 1 9"]) == ([(refusal.value, 0, 0)], 0)
