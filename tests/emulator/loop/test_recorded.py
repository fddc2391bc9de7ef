"""A recorded board answers as long as it is asked what was asked then; where it isn't, the first place is told."""

from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import pytest

from ringhil.emulator.loop.recorded import Exchanged, RecordedBoard
from ringhil.emulator.server.foreign import FirmwareGone
from ringhil.protocol.line import firmware_messages as m
from ringhil.protocol.line.firmware_codec import encode
from ringhil.protocol.line.firmware_loop import MAJOR, MINOR

ATTACH = encode(m.AttachRequest(0, MAJOR, MINOR))
START = encode(m.StartRequest(1, 100))
TIMER = encode(m.TimerRequest(2, 300, 0, 4))
DONE = [encode(m.DoneReply(number, b"")) for number in range(3)]


class Rows:
    """Of two boards, of which the first is asked three times."""

    header = SimpleNamespace(firmware=("a.1=/dev/ttyUSB0", "a.2=/dev/ttyUSB1"), nodes=())

    def __init__(self, started: int = 100) -> None:
        self.started = started

    def rows(self) -> Iterator[tuple[int, Exchanged]]:
        for number, (cycle, gpu, asked, answered) in enumerate(
            (
                (0, "a.1", ATTACH, DONE[0]),
                (0, "a.2", ATTACH, DONE[2]),
                (self.started, "a.1", START, DONE[1]),
                (300, "a.1", TIMER, DONE[2]),
            ),
            5,
        ):
            yield number, Exchanged(cycle=cycle, gpu=gpu, asked=asked.hex(), answered=answered.hex())


def told(*requests: bytes, started: int = 100) -> tuple[list[bytes], str | None]:
    """Its answers, and where the first difference is. `started`: in which cycle it was, as the recording says."""
    board, answers = RecordedBoard(Rows(started), "a.1"), list[bytes]()
    for request in requests:
        with suppress(FirmwareGone):
            answers.append(board.exchange(request))
    board.close()
    return answers, board.difference


def test_it_answers_what_was_answered() -> None:
    assert told(ATTACH, START, TIMER) == (DONE, None)


@pytest.mark.parametrize(
    ("requests", "answered", "why"),
    [
        ((ATTACH, encode(m.StartRequest(1, 101)), TIMER), 1, "line 7: a.1: is asked StartRequest(id=1, now=101), rec"),
        ((ATTACH, encode(m.StartRequest(2, 100)), TIMER), 1, "line 7: a.1: is asked StartRequest(id=2, now=100), rec"),
        ((ATTACH, TIMER, START), 1, "line 7: a.1: is asked TimerRequest("),
        ((ATTACH, START), 2, "line 8: a.1: is not asked TimerRequest("),
        (
            (ATTACH, START, TIMER, TIMER),
            3,
            "a.1: is asked TimerRequest(id=2, now=300, status=0, timer=4); recorded is ",
        ),
    ],
)
def test_what_is_asked_otherwise_is_told(requests: tuple[bytes, ...], answered: int, why: str) -> None:
    answers, difference = told(*requests)
    assert answers == DONE[:answered]
    assert difference is not None
    assert difference.startswith(why)


def test_what_is_asked_in_another_cycle_than_it_says_is_told() -> None:
    why = "line 7: a.1: is asked in cycle 100, recorded in 101"
    assert told(ATTACH, START, TIMER, started=101) == (DONE[:1], why)
