"""What a command must not do: programs of a few commands each, and all that is said of them."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, Port, Query, ResultStatus

from .programs import Order, frames, payload
from .ring import START, Program, Sent, play

MANAGER, KEY, OTHER, CONTEXT = 0, 5, 7, 3
SETUP = {"heartbeat": 0, "context_switch": 0, "device_memory": 200}
_STATUS = {**{s.code: s for s in ResultStatus}}
_REFUSED = {**{s.code: s for s in AckStatus}}

Said = tuple[int, ResultStatus | AckStatus, int, int]  # unit, status, digest, cycles


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


def order(compute: Compute, unit: int, amount: int = 0, *, key: int = KEY, slice_: int = 0) -> Order:
    """A command to CONTEXT."""
    return Order(compute, CONTEXT, unit, payload(key, amount, slice_))


def told(cells: Library, *orders: tuple[int, Order], sizes: tuple[int, ...] = ()) -> list[Said]:
    """What the CPU hears when these commands are sent by one way, each in its cycle."""
    sent = [Sent(START + cycle, Port.CW, tuple(frames(Port.CW, one, sizes=sizes))) for cycle, one in orders]
    said: list[Said] = []
    for _, _, frame in play(cells, Program(SETUP, sent), 4_000).arrived:
        message = codec.decode(frame, link=False)
        if isinstance(message, Result):
            said.append((message.unit, _STATUS[int(message.status)], message.digest, message.cycles))
        else:
            assert isinstance(message, Acknowledgement)
            said.append((message.unit, _REFUSED[int(message.status)], 0, 0))
    return said


def pages(held: int, limit: int) -> int:
    """The digest of most answers."""
    return held << 32 | limit


def test_the_number_of_the_last_command_gives_nobody_else_its_answer(cells: Library) -> None:
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 100)),
        (50, order(Compute.ALLOCATE, 2, 10)),
        (100, order(Compute.QUERY, 2, key=OTHER)),
        (150, order(Compute.LAUNCH, 3, 20)),
        (250, order(Compute.FREE, 4, 10)),
        (300, order(Compute.LAUNCH, 3, 20, key=OTHER)),
        (350, order(Compute.QUERY, 1, key=OTHER)),
    )
    assert said == [
        (1, ResultStatus.DONE, pages(0, 100), 0),
        (2, ResultStatus.DONE, pages(10, 100), 0),
        (2, AckStatus.FOREIGN, 0, 0),
        (3, ResultStatus.STARTED, pages(10, 100), 0),
        (3, ResultStatus.DONE, 0, 20),
        (4, ResultStatus.DONE, pages(0, 100), 0),
        (3, AckStatus.FOREIGN, 0, 0),
        (1, AckStatus.FOREIGN, 0, 0),
    ]


def test_who_creates_a_context_hears_nothing_of_the_one_before(cells: Library) -> None:
    """Its number must be higher than the last one's; with the same one it is passed over."""
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 100)),
        (50, order(Compute.DESTROY, 2)),
        (100, order(Compute.CREATE, 2, 30, key=OTHER)),
        (150, order(Compute.CREATE, 1, 30, key=OTHER)),
        (200, order(Compute.CREATE, 3, 30, key=OTHER)),
    )
    assert said == [
        (1, ResultStatus.DONE, pages(0, 100), 0),
        (2, ResultStatus.DONE, pages(0, 100), 0),
        (3, ResultStatus.DONE, pages(0, 30), 0),
    ]


def test_configure_tells_the_new_limit(cells: Library) -> None:
    said = told(cells, (0, order(Compute.CREATE, 1, 100)), (50, order(Compute.CONFIGURE, 2, 30, key=MANAGER)))
    assert said[1] == (2, ResultStatus.DONE, pages(0, 30), 0)


def test_a_context_does_not_give_itself_more(cells: Library) -> None:
    """Its own key doesn't change what it may have; it is told so, and another is told that it is another's."""
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 30, slice_=100)),
        (50, order(Compute.CONFIGURE, 2, 90, slice_=10_000)),
        (100, order(Compute.CONFIGURE, 3, 90, key=OTHER)),
        (150, order(Compute.ALLOCATE, 4, 31)),
        (200, order(Compute.QUERY, 5, Query.COUNTS.code)),
    )
    assert said[1:] == [
        (2, ResultStatus.INVALID, pages(0, 30), 0),
        (3, AckStatus.FOREIGN, 0, 0),
        (4, ResultStatus.OVER_LIMIT, pages(0, 30), 0),
        (5, ResultStatus.DONE, 2, 0),
    ]


def test_what_a_cancelled_launch_lacks_and_what_it_had_are_all_of_it(cells: Library) -> None:
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 1, slice_=100)),
        (50, order(Compute.LAUNCH, 2, 1000)),
        (503, order(Compute.CANCEL, 3)),
    )
    unit, status, lacked, had = said[-1]
    assert (unit, status) == (2, ResultStatus.CANCELLED)
    assert lacked + had == 1000
    assert had % 100


def test_a_context_that_is_created_anew_does_not_change_what_the_last_one_is_told(cells: Library) -> None:
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 1)),
        (50, order(Compute.LAUNCH, 2, 1000)),
        (300, order(Compute.DESTROY, 3)),
        (300, order(Compute.CREATE, 4, 1)),
        (400, order(Compute.QUERY, 5, Query.LAUNCH.code)),
    )
    (end,) = (one for one in said if one[1] is ResultStatus.CANCELLED)
    assert end[0] == 2
    assert end[2] + end[3] == 1000
    assert said[-1] == (5, ResultStatus.DONE, 0, 0)


def test_memory_that_is_held_is_nobody_elses(cells: Library) -> None:
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 300)),
        (20, order(Compute.ALLOCATE, 2, 150)),
        (40, order(Compute.ALLOCATE, 3, 51)),
        (60, order(Compute.ALLOCATE, 4, 151)),
        (80, order(Compute.ALLOCATE, 5, 50)),
        (100, order(Compute.ALLOCATE, 6, 0)),
    )
    full = (5, ResultStatus.DONE, pages(200, 300), 0)
    assert [status for _, status, *_ in said[2:4]] == [ResultStatus.NO_MEMORY, ResultStatus.OVER_LIMIT]
    assert said[4:] == [full, (6, *full[1:])]


def test_a_new_context_has_no_past(cells: Library) -> None:
    asked = [Query.MEMORY, Query.RUN_TIME, Query.COUNTS, Query.LAUNCH]
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 10)),
        (20, order(Compute.ALLOCATE, 2, 4)),
        (40, order(Compute.FREE, 3, 5)),
        (60, order(Compute.LAUNCH, 4, 100)),
        (300, order(Compute.LAUNCH, 5, 100)),
        (350, order(Compute.DESTROY, 6)),
        (400, order(Compute.CREATE, 7, 8)),
        *((450 + 20 * i, order(Compute.QUERY, 8 + i, query.code)) for i, query in enumerate(asked)),
        (600, order(Compute.LAUNCH, 5, 100)),
    )
    assert [digest for unit, _, digest, _ in said if unit >= 8] == [pages(0, 8), 0, 0, 0]
    assert said[-1][0] == 11


def test_the_end_of_one_launch_is_not_told_as_that_of_the_next(cells: Library) -> None:
    said = told(
        cells,
        (0, order(Compute.CREATE, 1, 1)),
        (50, order(Compute.LAUNCH, 2, 1000)),
        (300, order(Compute.CANCEL, 3)),
        (300, order(Compute.LAUNCH, 4, 500)),
    )
    assert said[2:4] == [(3, ResultStatus.DONE, 1, 0), (4, ResultStatus.RUNNING, 1, 0)]
    assert said[4][:2] == (2, ResultStatus.CANCELLED)
    assert said[5:] == []


def test_the_head_of_a_command_may_come_in_pieces(cells: Library) -> None:
    copy = Order(Compute.COPY, CONTEXT, 2, payload(KEY, 4) + bytes(40))
    said = told(cells, (0, order(Compute.CREATE, 1, 100)), (50, copy), sizes=(8,))
    assert said[0] == (1, ResultStatus.DONE, pages(0, 100), 0)
    assert said[1][:2] == (2, ResultStatus.INVALID)
