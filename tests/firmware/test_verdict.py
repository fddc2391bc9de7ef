"""The acceptance rule, reason by reason: what a message must be to be believed (R4)."""

from dataclasses import replace

import pytest

from ringhil.firmware.verdict import Arm, judge, suspects
from ringhil.protocol import wire
from ringhil.protocol.frames import Statistics

from .messages import (
    ARRIVED_BAD,
    ARRIVED_MARKED,
    CIRCULATING,
    EPOCH,
    NODE,
    SEQUENCE,
    SIZE,
    home_port,
    message,
    record,
)

CW_RING = (2, 3, 4, 5, 0, 1)
CCW_RING = (2, 1, 0, 5, 4, 3)


def verdict(frame: Statistics, port: int | None = None) -> Arm | str:
    return judge(frame, home_port(frame) if port is None else port, EPOCH, SEQUENCE, NODE, SIZE)


# ------------------------------------------------------------------------------------------------------ believed


@pytest.mark.parametrize(("ccw", "ids"), [(False, CW_RING), (True, CCW_RING)])
@pytest.mark.parametrize("left_out", [(), (3,), (0, 5), (0, 1, 3, 4, 5)])
def test_a_message_that_names_all_it_counts_is_believed(
    ccw: bool, ids: tuple[int, ...], left_out: tuple[int, ...]
) -> None:
    working = tuple(gpu for gpu in ids if gpu not in left_out)
    frame = message(working, ccw=ccw)
    assert verdict(frame) == Arm(len(working), working, False, frame.records)


@pytest.mark.parametrize(("ccw", "ids"), [(False, CW_RING[:3]), (True, CCW_RING[:4])])
def test_a_message_turned_round_at_a_cut_is_believed(ccw: bool, ids: tuple[int, ...]) -> None:
    frame = message(ids, ccw=ccw, wrapped=True)
    assert verdict(frame) == Arm(len(ids), ids, True, frame.records)


def test_a_message_that_only_counts_is_believed_and_names_nobody() -> None:
    assert verdict(message(CW_RING, records=False)) == Arm(6, None, False)


def test_when_there_was_no_room_for_all_records_the_count_holds() -> None:
    """And nobody is named, because somebody is missing."""
    frame = message(CW_RING[:4], count=6, record_limit=4 | wire.OVERFLOW)
    assert verdict(frame) == Arm(6, None, False, frame.records)


# ------------------------------------------------------------------------------------------------------ rejected


@pytest.mark.parametrize("epoch", [EPOCH - 1, EPOCH + 1])
def test_stale_when_of_another_boot(epoch: int) -> None:
    assert verdict(message(CW_RING, records=False, epoch=epoch)) == "stale"


@pytest.mark.parametrize("sequence", [0, SEQUENCE - 1, SEQUENCE + 1])
def test_stale_when_not_the_outstanding_one(sequence: int) -> None:
    assert verdict(message(CW_RING, sequence=sequence)) == "stale"


def test_origin_when_somebody_else_sent_it() -> None:
    assert verdict(message(CW_RING, origin=3)) == "origin"


def test_circulating_when_a_monitor_has_marked_it() -> None:
    frame = message(CW_RING)
    assert verdict(replace(frame, flags=frame.flags | CIRCULATING)) == "circulating"


@pytest.mark.parametrize("ccw", [False, True])
@pytest.mark.parametrize("wrapped", [False, True])
def test_port_when_it_comes_home_from_the_wrong_side(ccw: bool, wrapped: bool) -> None:
    """All the way round it comes from the far side; turned round at a cut, from where it went."""
    frame = message((CCW_RING if ccw else CW_RING)[:3], ccw=ccw, wrapped=wrapped)
    assert isinstance(verdict(frame), Arm)
    assert verdict(frame, 1 - home_port(frame)) == "port"


@pytest.mark.parametrize("expected", [0, SIZE - 1, SIZE + 1])
def test_count_when_it_expects_another_ring(expected: int) -> None:
    assert verdict(message(CW_RING, expected=expected)) == "count"


@pytest.mark.parametrize("count", [0, SIZE + 1, 0xFFFF])
def test_count_when_nobody_or_more_than_are_wired_are_counted(count: int) -> None:
    assert verdict(message(CW_RING, records=False, count=count)) == "count"


@pytest.mark.parametrize("count", [3, 5])
def test_count_when_records_and_count_differ(count: int) -> None:
    """A GPU that counts itself twice, or not at all, is seen by this."""
    assert verdict(message(CW_RING[:4], count=count)) == "count"


def test_count_when_records_are_promised_and_none_is_there() -> None:
    frame = message((), count=1)
    assert verdict(frame) == "count"
    assert verdict(replace(frame, record_limit=wire.OVERFLOW)) == "count"


def test_count_when_more_are_named_than_counted_even_if_there_was_no_room() -> None:
    assert verdict(message(CW_RING[:4], count=3, record_limit=4 | wire.OVERFLOW)) == "count"


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("error", [-1, 1, 7])
def test_hop_when_a_record_has_another_count_than_its_place(place: int, error: int) -> None:
    """Its tag is right: the GPU itself is wrong."""
    frame = message(CW_RING[:4])
    records = list(frame.records)
    records[place] = record(records[place].id, records[place].hop + error)
    assert verdict(replace(frame, records=tuple(records))) == "hop"


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("field", ["id", "state", "flags", "gpu_type", "stamp", "weight", "errors", "peer", "tag"])
def test_tag_when_a_record_was_changed_on_its_way(place: int, field: str) -> None:
    frame = message(CW_RING[:4])
    records = list(frame.records)
    records[place] = replace(records[place], **{field: getattr(records[place], field) ^ 1})
    assert verdict(replace(frame, records=tuple(records))) == "tag"


def test_tag_when_a_record_is_of_an_earlier_message() -> None:
    frame = message(CW_RING[:4])
    old = message(CW_RING[:4], sequence=SEQUENCE - 1)
    records = (*frame.records[:2], old.records[2], frame.records[3])
    assert verdict(replace(frame, records=records)) == "tag"


@pytest.mark.parametrize(
    "ids",
    [
        (3, 4, 5, 0),  # the origin is missing
        (4, 2, 5, 0),  # it isn't the first
        (2, 3, 3, 4),  # one GPU twice in a row
        (2, 3, 4, 3),  # or later
        (2, 3, 4, 2),  # the origin twice
        (2, 4, 3, 5),  # not as wired
        (2, 1, 0, 5),  # the other direction
        (2, 3, SIZE, 0),  # there is no such GPU
        (2 + SIZE, 3, 4, 5),  # not even modulo the ring's size
        (2, 3 + SIZE, 4, 5),
    ],
)
def test_order_when_the_gpus_are_not_in_ring_order_each_once(ids: tuple[int, ...]) -> None:
    assert verdict(message(ids)) == "order"


def test_order_the_other_way_round() -> None:
    assert verdict(message((2, 3, 4), ccw=True)) == "order"
    assert verdict(message((2, 0, 1), ccw=True)) == "order"


# ------------------------------------------------------------------------------------------------------ suspects


def test_whoever_miscounted_is_named() -> None:
    records = (record(2, 1), record(3, 2), record(4, 4), record(5, 5))
    assert suspects(message((2, 3, 4, 5), records=True, count=5), NODE, SIZE, arrived_bad=False) == frozenset()
    frame = replace(message((2, 3, 4, 5)), records=records)
    assert suspects(frame, NODE, SIZE, arrived_bad=False) == {4}


def test_both_ends_of_the_link_are_named_where_a_message_first_arrived_bad() -> None:
    records = (record(2, 1), record(3, 2), record(5, 3, flags=ARRIVED_BAD), record(0, 9))
    frame = replace(message((2, 3, 5, 0)), records=records)
    assert suspects(frame, NODE, SIZE, arrived_bad=False) == {3, 5}


@pytest.mark.parametrize(("ccw", "ids", "passed"), [(False, (2, 3, 0), {4, 5}), (True, (2, 0, 5), {1})])
def test_what_a_switch_in_bypass_found_bad_was_spoilt_before_it(
    ccw: bool, ids: tuple[int, ...], passed: set[int]
) -> None:
    """Not by the next one that is counted, even if the damaged count makes its hop number wrong."""
    first, second, third = ids
    sound = message((first, second), ccw=ccw)
    if ccw:  # from 2 by way of 1 to 0, damaged on the way
        records = (record(first, 1), record(second, 3, flags=ARRIVED_MARKED), record(third, 4, flags=ARRIVED_MARKED))
        assert suspects(replace(sound, records=records), NODE, SIZE, arrived_bad=True) == {first, *passed}
    else:
        records = (record(first, 1), record(second, 2), record(third, 4, flags=ARRIVED_MARKED))
        assert suspects(replace(sound, records=records), NODE, SIZE, arrived_bad=True) == {second, *passed}


def test_the_last_link_is_the_one_into_the_origin() -> None:
    assert suspects(message((2, 3, 5)), NODE, SIZE, arrived_bad=True) == {5, NODE}


def test_without_records_nothing_tells_over_which_link_a_message_was_damaged() -> None:
    for ccw in (False, True):
        assert suspects(message((2, 3, 5), records=False, ccw=ccw), NODE, SIZE, arrived_bad=True) == frozenset()


def test_nobody_is_named_when_nothing_is_wrong() -> None:
    assert suspects(message(CW_RING), NODE, SIZE, arrived_bad=False) == frozenset()


def test_numbers_of_no_gpu_of_the_ring_name_nobody() -> None:
    """As a damaged message may hold them."""
    for beyond in (SIZE, 64, 0xFFFF):
        frame = message((2, 3, beyond), records=True, count=3)
        assert suspects(frame, NODE, SIZE, arrived_bad=True) == {NODE}
        twice = replace(frame, records=(*frame.records, frame.records[-1]), count=4)
        assert suspects(twice, NODE, SIZE, arrived_bad=True) <= set(range(SIZE))


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        ((2, 4, 4), {3, 4, 5}),  # 3 or 5 has taken the number of 4
        ((2, 3, 4, 4), {4, 5}),  # 3 is there under its own
        ((2, 4, 4, 5), {3, 4}),
        ((2, 3, 3, 4), {3}),
    ],
)
def test_of_two_with_the_same_number_one_or_a_neighbour_that_is_missing_has_stolen_it(
    ids: tuple[int, ...], named: set[int]
) -> None:
    assert suspects(message(ids), NODE, SIZE, arrived_bad=False) == named
