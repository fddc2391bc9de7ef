"""The census of an entry GPU, fed by hand: rounds, joins, retries, and what it does with what it must not trust."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringhil.firmware import timing
from ringhil.firmware.actions import Action
from ringhil.firmware.census import NOBODY, PERIOD, TIMEOUT, Census, CensusConfig
from ringhil.firmware.commands import CancelTimer, Send, SetTimer
from ringhil.firmware.observations import Counted, Rejected, Suspected
from ringhil.protocol import codec, wire
from ringhil.protocol.frames import Record, Report, Statistics
from ringhil.protocol.wire import CensusVerdict

from .messages import (
    CARD,
    CCW,
    EPOCH,
    NODE,
    SIZE,
    WITH_RECORDS,
    WRAPPED,
    home_port,
    message,
    record,
    tagged,
)

CONFIG = CensusConfig(card=CARD, node=NODE, size=SIZE, epoch=EPOCH, period=1000, timeout=200)
ALL = (2, 3, 4, 5, 0, 1)


class Bench:
    """A census under way. What it does is kept: `sent` by the last step, everything in `actions`."""

    def __init__(self, **changes: Any) -> None:
        self.census = Census(replace(CONFIG, **changes))
        self.now = 100
        self.actions: list[Action] = []
        self.step(self.census.start(self.now))

    def step(self, actions: list[Action]) -> list[Action]:
        self.actions += actions
        return actions

    def timer(self, name: str, after: int = 200) -> list[Action]:
        self.now += after
        return self.step(self.census.on_timer(name, self.now))

    def home(self, frame: Statistics, *, port: int | None = None, bad: bool = False) -> list[Action]:
        self.now += 30
        wire_port = home_port(frame) if port is None else port
        return self.step(self.census.on_frame(codec.encode(frame), wire_port, bad, self.now))

    def cw(self, ids: Iterable[int] = ALL, **changes: Any) -> list[Action]:
        return self.home(message(tuple(ids), sequence=self.census.sequence, **changes))

    def ccw(self, ids: Iterable[int] = ALL, **changes: Any) -> list[Action]:
        """`ids` in clockwise order: they are met the other way round."""
        first, *others = ids
        met = (first, *reversed(others))
        return self.home(message(met, ccw=True, sequence=self.census.sequence, **changes))

    def both(self, ids: Iterable[int] = ALL, **changes: Any) -> list[Action]:
        ids = tuple(ids)
        return self.cw(ids, **changes) + self.ccw(ids, **changes)


def counted(actions: list[Action]) -> Counted | None:
    found = [a for a in actions if isinstance(a, Counted)]
    assert len(found) <= 1
    return found[0] if found else None


def reasons(actions: list[Action]) -> list[str]:
    return [a.reason for a in actions if isinstance(a, Rejected)]


def sent(actions: list[Action]) -> dict[str, Any]:
    return {a.port: codec.decode(a.frame) for a in actions if isinstance(a, Send)}


def report(actions: list[Action]) -> Report:
    found = sent(actions)["cpu"]
    assert isinstance(found, Report)
    return found


def timers(actions: list[Action]) -> dict[str, int]:
    return {a.name: a.delay for a in actions if isinstance(a, SetTimer)}


# ---------------------------------------------------------------------------------------------------- one round


def test_a_round_begins_with_count_one_in_both_directions() -> None:
    """R2; the message carries the entry GPU's own record already."""
    bench = Bench(weight=5, gpu_type=3)
    out = sent(bench.actions)
    assert set(out) == {"cw", "ccw"}
    for port, frame in out.items():
        assert isinstance(frame, Statistics)
        assert (frame.count, frame.expected, frame.origin, frame.card) == (1, SIZE, NODE, CARD)
        assert (frame.epoch, frame.sequence, frame.sent_at) == (EPOCH, 1, 100)
        assert frame.flags == (CCW if port == "ccw" else 0) | WITH_RECORDS
        assert [(r.id, r.hop, r.weight, r.gpu_type) for r in frame.records] == [(NODE, 1, 5, 3)]
        assert frame.ttl > SIZE
    assert timers(bench.actions) == {PERIOD: 1000, TIMEOUT: 200}


def test_both_home_give_a_count_a_report_and_the_end_of_the_timeout() -> None:
    bench = Bench()
    assert bench.cw() == []
    actions = bench.ccw()
    assert counted(actions) == Counted(6, (0, 1, 2, 3, 4, 5), CensusVerdict.RING, None, None, 1, 100, (), (), 24)
    assert CancelTimer(TIMEOUT) in actions
    told = report(actions)
    assert (told.card, told.flags, told.ttl, told.destination) == (CARD, wire.Flag.TO_HOST, 1, NODE)
    assert (told.source, told.epoch, told.sequence, told.sent_at) == (NODE, EPOCH, 1, 100)
    assert (told.count, told.size, told.sets, told.rejected) == (6, SIZE, (0b111111, 0, 0), 0)
    assert told.verdict == wire.CensusVerdict.RING.code
    assert (told.break_after, told.break_before, told.first_suspect) == (NOBODY, NOBODY, NOBODY)
    assert (told.slow_link, told.noisy_link, told.weight) == (NOBODY, NOBODY, 24)
    assert bench.census.accepted == 1


def test_which_direction_is_home_first_does_not_matter() -> None:
    bench = Bench()
    assert bench.ccw((2, 4, 1)) == []
    found = counted(bench.cw((2, 4, 1)))
    assert found is not None
    assert (found.count, found.members) == (3, (1, 2, 4))


def test_alone_on_the_ring_it_counts_itself() -> None:
    found = counted(Bench().both((NODE,)))
    assert found is not None
    assert (found.count, found.members) == (1, (NODE,))


def test_the_next_round_begins_when_the_period_is_over() -> None:
    bench = Bench()
    bench.both()
    actions = bench.timer(PERIOD)
    assert {frame.sequence for frame in sent(actions).values()} == {2}
    assert timers(actions) == {PERIOD: 1000, TIMEOUT: 200}
    assert counted(bench.both()) is not None


def test_a_period_that_ends_while_a_round_is_under_way_starts_no_second_one() -> None:
    bench = Bench()
    bench.cw()
    assert bench.timer(PERIOD) == [SetTimer(PERIOD, 1000)]
    assert counted(bench.ccw()) is not None


def test_a_count_that_is_asked_for_begins_a_round_unless_one_is_under_way() -> None:
    bench = Bench()
    assert bench.census.count_now(bench.now) == []
    bench.cw()
    bench.ccw()
    asked = bench.step(bench.census.count_now(bench.now))
    assert timers(asked) == {"period": 1000, "timeout": 200}
    assert sent(asked)["cw"].sequence == 2


def test_back_to_back_the_next_round_begins_at_once() -> None:
    bench = Bench(back_to_back=True)
    actions = bench.both()
    assert counted(actions) is not None
    assert {"cw", "ccw", "cpu"} == set(sent(actions))
    assert bench.census.sequence == 2


def test_a_timer_of_another_name_or_out_of_time_does_nothing() -> None:
    bench = Bench()
    bench.both()
    assert bench.timer(TIMEOUT) == []
    assert bench.timer("another") == []


# ------------------------------------------------------------------------------------------------- joining two


def test_single_when_only_one_comes_home() -> None:
    for send in (Bench.cw, Bench.ccw):
        bench = Bench()
        send(bench, (2, 3, 5))
        found = counted(bench.timer(TIMEOUT))
        assert found is not None
        assert (found.count, found.members, found.verdict) == (3, (2, 3, 5), CensusVerdict.SINGLE)


def test_single_at_once_when_the_other_was_rejected() -> None:
    """There is nothing to wait for."""
    bench = Bench()
    bench.cw((2, 3, 5))
    actions = bench.ccw((2, 3, 5), count=4)
    found = counted(actions)
    assert found is not None
    assert (found.count, found.verdict) == (3, CensusVerdict.SINGLE)
    assert reasons(actions) == ["count"]


def test_arms_are_joined_and_the_break_lies_between_their_ends() -> None:
    bench = Bench()
    bench.cw((2, 3, 4), wrapped=True)
    actions = bench.home(message((2, 1, 0), ccw=True, wrapped=True, sequence=1))
    assert counted(actions) == Counted(5, (0, 1, 2, 3, 4), CensusVerdict.ARMS, 4, 0, 1, 100, (), (), 20)
    assert (report(actions).break_after, report(actions).break_before) == (4, 0)
    assert report(actions).verdict == wire.CensusVerdict.ARMS.code


def test_an_arm_may_be_this_gpu_alone() -> None:
    """The cut is right beside it."""
    bench = Bench()
    bench.cw((2,), wrapped=True)
    found = counted(bench.home(message((2, 1, 0, 5, 4, 3), ccw=True, wrapped=True, sequence=1)))
    assert found is not None
    assert (found.count, found.members, found.break_after, found.break_before) == (6, (0, 1, 2, 3, 4, 5), 2, 3)


def test_arms_that_share_a_gpu_disagree() -> None:
    bench = Bench()
    bench.cw((2, 3, 4, 5), wrapped=True)
    actions = bench.home(message((2, 1, 0, 5), ccw=True, wrapped=True, sequence=1))
    assert counted(actions) is None
    assert reasons(actions) == ["disagree"]


def test_disagree_when_the_directions_met_different_gpus() -> None:
    """Three each, but four in all: R4's maximum is not the union."""
    bench = Bench()
    bench.cw((2, 3, 4))
    actions = bench.ccw((2, 3, 5))
    assert counted(actions) is None
    assert reasons(actions) == ["disagree"]


def test_the_larger_count_holds_when_it_is_the_union() -> None:
    """R4: somebody failed or came back between the two."""
    bench = Bench()
    bench.cw((2, 3, 4))
    found = counted(bench.ccw((2, 3, 4, 5)))
    assert found is not None
    assert (found.count, found.members, found.verdict) == (4, (2, 3, 4, 5), CensusVerdict.RING)


def test_mixed_when_one_went_round_and_one_was_turned() -> None:
    bench = Bench()
    bench.cw()
    actions = bench.home(message((2, 1, 0), ccw=True, wrapped=True, sequence=1))
    assert (counted(actions), reasons(actions)) == (None, ["mixed"])


def test_half_when_only_one_arm_comes_home() -> None:
    bench = Bench()
    bench.cw((2, 3), wrapped=True)
    actions = bench.timer(TIMEOUT)
    assert (counted(actions), reasons(actions)) == (None, ["half"])


def test_lost_when_none_comes_home() -> None:
    actions = Bench().timer(TIMEOUT)
    assert (counted(actions), reasons(actions)) == (None, ["lost"])


# ------------------------------------------------------------------------------------------- retries and limits


def test_a_round_without_a_count_is_tried_again_with_a_new_sequence() -> None:
    bench = Bench()
    actions = bench.timer(TIMEOUT)
    assert {frame.sequence for frame in sent(actions).values()} == {2}
    assert "cpu" not in sent(actions)
    assert timers(actions) == {TIMEOUT: 200}
    found = counted(bench.both())
    assert found is not None
    assert found.sequence == 2
    assert found.sent_at == 300  # of the retry


def test_what_comes_home_of_the_round_before_is_stale() -> None:
    bench = Bench()
    late = message(ALL, sequence=1)
    bench.timer(TIMEOUT)
    assert reasons(bench.home(late)) == ["stale"]
    assert counted(bench.both()) is not None


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_it_gives_up_after_the_attempts_and_tells_the_cpu_so(attempts: int) -> None:
    bench = Bench(attempts=attempts)
    for _ in range(attempts - 1):
        assert "cpu" not in sent(bench.timer(TIMEOUT))
    last = bench.timer(TIMEOUT)
    assert set(sent(last)) == {"cpu"}
    assert report(last).verdict == wire.CensusVerdict.NONE.code
    assert report(last).rejected == attempts
    assert timers(last) == {}
    assert bench.timer(TIMEOUT) == []


def test_the_next_period_has_all_its_attempts_again() -> None:
    bench = Bench(attempts=2)
    bench.timer(TIMEOUT)
    bench.timer(TIMEOUT)
    assert set(sent(bench.timer(PERIOD))) == {"cw", "ccw"}
    assert set(sent(bench.timer(TIMEOUT))) == {"cw", "ccw"}
    assert set(sent(bench.timer(TIMEOUT))) == {"cpu"}


def test_what_was_known_last_stays_in_the_report_of_a_failure() -> None:
    bench = Bench(attempts=1)
    bench.both((2, 3, 5))
    bench.timer(PERIOD)
    told = report(bench.timer(TIMEOUT))
    assert (told.verdict, told.count, told.sets) == (0, 3, (0, 0, 0))


def test_reasons_are_counted() -> None:
    bench = Bench(attempts=9)
    bench.cw(count=3)
    bench.ccw(count=3)
    bench.timer(TIMEOUT)
    bench.step(bench.census.on_frame(b"\x11" * 64, 0, False, bench.now))
    assert bench.census.rejected == {"count": 2, "lost": 2, "crc": 1}


def test_a_second_message_of_one_direction_is_rejected() -> None:
    bench = Bench()
    bench.cw((2, 3, 4))
    actions = bench.cw((2, 3, 4, 5))
    assert (counted(actions), reasons(actions)) == (None, ["twice"])
    found = counted(bench.ccw((2, 3, 4)))
    assert found is not None
    assert found.count == 3


def test_after_the_count_nothing_more_is_taken() -> None:
    bench = Bench()
    bench.both((2, 3, 4))
    assert reasons(bench.cw((2, 3, 4, 5))) == ["stale"]
    assert reasons(bench.cw((2, 3), count=3)) == ["stale"]
    assert bench.census.last is not None
    assert bench.census.last.count == 3


def test_a_message_of_somebody_else_ends_nothing() -> None:
    bench = Bench()
    actions = bench.cw((2, 3, 4), origin=3)
    assert reasons(actions) == ["origin"]
    assert bench.cw((2, 3, 4)) == []
    assert counted(bench.ccw((2, 3, 4))) is not None


def test_frames_of_other_kinds_are_not_its_business() -> None:
    other = Report(CARD, 0, 1, NODE, EPOCH, 1, NODE, 3, SIZE, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (7, 0, 0))
    bench = Bench()
    assert bench.census.on_frame(codec.encode(other), 0, False, 0) == []
    assert bench.census.rejected == {}


# ------------------------------------------------------------------------------------------------ damaged, named


def test_a_message_that_arrived_damaged_is_rejected_however_right_it_looks() -> None:
    bench = Bench()
    actions = bench.home(message(ALL, sequence=1), bad=True)
    assert reasons(actions) == ["link"]
    found = counted(bench.ccw())
    assert found is not None
    assert found.verdict == CensusVerdict.SINGLE


def test_a_damaged_message_of_the_round_before_ends_nothing() -> None:
    """The round under way still waits for its own."""
    bench = Bench()
    late = message(ALL, sequence=1)
    bench.timer(TIMEOUT)
    bench.ccw((2, 3, 4))
    assert reasons(bench.home(late, bad=True)) == ["link"]
    found = counted(bench.cw((2, 3, 4)))
    assert found is not None
    assert found.verdict == CensusVerdict.RING


def test_a_wrong_end_to_end_crc_is_rejected() -> None:
    bench = Bench()
    frame = bytearray(codec.encode(message(ALL, sequence=1)))
    frame[-8] ^= 1
    assert reasons(bench.census.on_frame(bytes(frame), 0, False, 0)) == ["crc"]
    frame[-8] ^= 1
    frame[25] ^= 1  # send time: no hop may change it
    assert reasons(bench.census.on_frame(bytes(frame), 0, False, 0)) == ["crc"]


def liar(bench: Bench) -> list[Action]:
    """GPU 4 has counted itself twice, in both directions."""
    actions: list[Action] = []
    for _ in range(bench.census.config.attempts):
        n = bench.census.sequence
        cw = (record(2, 1, n), record(3, 2, n), record(4, 4, n), record(5, 5, n))
        ccw = (record(2, 1, n), record(5, 2, n), record(4, 4, n), record(3, 5, n))
        actions += bench.home(replace(message((2, 3, 4, 5), sequence=n), count=5, records=cw))
        actions += bench.home(replace(message((2, 5, 4, 3), ccw=True, sequence=n), count=5, records=ccw))
    return actions


def test_a_liar_is_named_when_the_attempts_are_used_up() -> None:
    bench = Bench(attempts=2)
    actions = liar(bench)
    assert reasons(actions) == ["count", "count", "lost"] * 2
    assert [a for a in actions if isinstance(a, Suspected)] == [Suspected((4,))]
    told = report(actions)
    assert (told.verdict, told.suspects, told.first_suspect, told.sets[0]) == (0, 1, 4, 1 << 4)


def test_of_two_namings_what_both_say_is_named() -> None:
    """A damaged link has two ends; the directions meet them in turn."""
    bench = Bench(attempts=1)
    flags = {"flags": wire.RecordFlag.ARRIVED_BAD}
    cw = (record(2, 1, 1), record(3, 2, 1), record(4, 3, 1, **flags))
    ccw = (record(2, 1, 1), record(5, 2, 1), record(4, 3, 1, **flags))
    bench.home(replace(message((2, 3, 4), sequence=1), records=cw), bad=True)
    actions = bench.home(replace(message((2, 5, 4), ccw=True, sequence=1), records=ccw), bad=True)
    assert Suspected((4,)) in actions


def test_when_no_one_fits_all_namings_everybody_named_is() -> None:
    bench = Bench(attempts=1)
    flags = {"flags": wire.RecordFlag.ARRIVED_BAD}
    cw = (record(2, 1, 1), record(3, 2, 1, **flags))
    ccw = (record(2, 1, 1), record(0, 2, 1), record(5, 3, 1, **flags))
    bench.home(replace(message((2, 3), sequence=1), records=cw), bad=True)
    actions = bench.home(replace(message((2, 0, 5), ccw=True, sequence=1), records=ccw), bad=True)
    assert Suspected((0, 2, 3, 5)) in actions


def test_suspicions_of_one_period_are_gone_in_the_next() -> None:
    bench = Bench(attempts=2)
    liar(bench)
    bench.timer(PERIOD)
    bench.timer(TIMEOUT)
    assert not [a for a in bench.timer(TIMEOUT) if isinstance(a, Suspected)]


# ------------------------------------------------------------------------------------------------- only counting


def with_records(actions: list[Action]) -> set[bool]:
    return {bool(f.flags & WITH_RECORDS) for p, f in sent(actions).items() if p != "cpu"}


def test_without_records_the_count_alone_is_taken() -> None:
    bench = Bench(records=False)
    assert with_records(bench.actions) == {False}
    actions = bench.both((2, 3, 4), records=False)
    assert counted(actions) == Counted(3, None, CensusVerdict.RING, None, None, 1, 100)
    assert report(actions).sets == (0, 0, 0)
    assert report(actions).weight == 4 * 3  # nobody is known to be degraded


def test_without_records_the_counts_must_agree() -> None:
    bench = Bench(records=False)
    bench.cw((2, 3, 4), records=False)
    actions = bench.ccw((2, 3, 4, 5), records=False)
    assert (counted(actions), reasons(actions)) == (None, ["disagree"])


def test_without_records_arms_are_added_up() -> None:
    bench = Bench(records=False)
    bench.cw((2, 3, 4), records=False, wrapped=True)
    found = counted(bench.ccw((2, 5, 0, 1), records=False, wrapped=True))
    assert found is not None
    assert (found.count, found.verdict, found.break_after) == (6, CensusVerdict.ARMS, None)


def test_refresh_carries_records_first_and_every_so_often() -> None:
    bench = Bench(refresh=4)
    carried = [with_records(bench.actions)]
    for _ in range(8):
        bench.both(ALL, records=carried[-1] == {True})
        carried.append(with_records(bench.timer(PERIOD)))
    assert [c == {True} for c in carried] == [True, False, False, True, False, False, False, True, False]


def test_an_unchanged_count_confirms_the_last_members() -> None:
    bench = Bench(refresh=100)
    bench.both((2, 3, 5))
    bench.timer(PERIOD)
    found = counted(bench.both((2, 3, 5), records=False))
    assert found is not None
    assert (found.count, found.members, found.sequence) == (3, (2, 3, 5), 2)


@pytest.mark.parametrize("ids", [(2, 3), (2, 3, 4, 5)])
def test_a_changed_count_is_not_taken_but_looked_into(ids: tuple[int, ...]) -> None:
    bench = Bench(refresh=100)
    bench.both((2, 3, 5))
    bench.timer(PERIOD)
    actions = bench.both(ids, records=False)
    assert (counted(actions), reasons(actions)) == (None, ["changed"])
    assert with_records(actions) == {True}
    found = counted(bench.both(ids))
    assert found is not None
    assert found.members == tuple(sorted(ids))


def test_a_new_cut_is_looked_into_even_when_the_count_is_the_same() -> None:
    bench = Bench(refresh=100)
    bench.both((2, 3, 5))
    bench.timer(PERIOD)
    bench.cw((2, 3), records=False, wrapped=True)
    actions = bench.home(message((2, 5), ccw=True, wrapped=True, records=False, sequence=2))
    assert reasons(actions) == ["changed"]
    bench.cw((2, 3), wrapped=True)
    found = counted(bench.home(message((2, 5), ccw=True, wrapped=True, sequence=3)))
    assert found is not None
    assert (found.count, found.break_after, found.break_before) == (3, 3, 5)


def test_a_failure_is_looked_into() -> None:
    bench = Bench(refresh=100)
    bench.both((2, 3, 5))
    bench.timer(PERIOD)
    assert with_records(bench.timer(TIMEOUT)) == {True}


# ----------------------------------------------------------------------------------------- what the records say

DEGRADED, BOUNDARY = wire.GpuState.DEGRADED.code, wire.RecordFlag.BOUNDARY


def saying(frame: Statistics, **said: dict[str, Any]) -> Statistics:
    """The message in which some GPUs (`gpu3`) say more about themselves than that they are there."""
    changed = [replace(r, **said.get(f"gpu{r.id}", {})) for r in frame.records]
    return replace(frame, records=tuple(tagged(r, sequence=frame.sequence) for r in changed))


def test_what_the_records_say_is_told_with_the_count() -> None:
    """A degraded GPU weighs a quarter; a boundary GPU is named with the card that it speaks to (R8)."""
    said = {
        "gpu3": {"state": DEGRADED, "weight": 8},
        "gpu4": {"flags": BOUNDARY, "peer": 1},
        "gpu0": {"flags": BOUNDARY, "peer": 7, "state": DEGRADED},
    }
    bench = Bench()
    bench.home(saying(message(ALL, sequence=1), **said))
    actions = bench.home(saying(message((2, 1, 0, 5, 4, 3), ccw=True, sequence=1), **said))
    found = counted(actions)
    assert found is not None
    assert (found.degraded, found.boundaries) == ((0, 3), ((0, 7), (4, 1)))
    assert found.weight == 4 * 4 * 1 + 8 + 1
    told = report(actions)
    assert told.sets == (0b111111, 0b001001, 0b010001)
    assert told.weight == found.weight


@pytest.mark.parametrize("wrapped", [False, True])
def test_one_direction_is_enough_for_it(wrapped: bool) -> None:
    """At a cut each GPU is in one arm only; where one direction is lost the other knows all."""
    bench = Bench()
    said = {"gpu3": {"state": DEGRADED}, "gpu1": {"flags": BOUNDARY, "peer": 4}}
    if wrapped:
        bench.home(saying(message((2, 3), wrapped=True, sequence=1), **said))
        actions = bench.home(saying(message((2, 1), ccw=True, wrapped=True, sequence=1), **said))
    else:
        bench.home(saying(message((2, 3, 1), sequence=1), **said))
        actions = bench.timer(TIMEOUT)
    found = counted(actions)
    assert found is not None
    assert (found.members, found.degraded, found.boundaries, found.weight) == ((1, 2, 3), (3,), ((1, 4),), 9)


def test_a_round_that_only_counts_repeats_what_the_records_said() -> None:
    bench = Bench(refresh=100)
    said = {"gpu3": {"state": DEGRADED}, "gpu5": {"flags": BOUNDARY, "peer": 1}}
    bench.home(saying(message((2, 3, 5), sequence=1), **said))
    bench.home(saying(message((2, 5, 3), ccw=True, sequence=1), **said))
    bench.timer(PERIOD)
    actions = bench.both((2, 3, 5), records=False)
    found = counted(actions)
    assert found is not None
    assert (found.degraded, found.boundaries, found.weight) == ((3,), ((5, 1),), 9)
    assert report(actions).sets == (0b101100, 0b001000, 0b100000)


def test_what_was_known_last_of_them_stays_in_the_report_of_a_failure() -> None:
    bench = Bench(attempts=1)
    said = {"gpu3": {"state": DEGRADED}}
    bench.home(saying(message((2, 3, 5), sequence=1), **said))
    bench.home(saying(message((2, 5, 3), ccw=True, sequence=1), **said))
    bench.timer(PERIOD)
    told = report(bench.timer(TIMEOUT))
    assert (told.verdict, told.sets, told.weight) == (0, (0, 0b001000, 0), 9)


@pytest.mark.parametrize("size", [64, 65, 130])
def test_the_sets_of_a_large_card_follow_one_another(size: int) -> None:
    bench = Bench(size=size)
    last, words = size - 1, -(-size // 64)
    said = {f"gpu{last}": {"state": DEGRADED, "flags": BOUNDARY, "peer": 1}}
    bench.home(saying(message((2, last), sequence=1, expected=size), **said))
    actions = bench.home(saying(message((2, last), ccw=True, sequence=1, expected=size), **said))
    members, degraded, boundary = ([0] * words for _ in range(3))
    members[0] |= 1 << 2
    for words_of in (members, degraded, boundary):
        words_of[last // 64] |= 1 << last % 64
    assert report(actions).sets == (*members, *degraded, *boundary)


def test_its_own_record_says_what_it_is_itself() -> None:
    bench = Bench()
    bench.both()
    first = sent(bench.actions)["cw"].records[0]
    assert (first.state, first.flags, first.peer) == (
        wire.GpuState.WORKING.code,
        wire.RecordFlag.ENTRY_CAPABLE,
        wire.NO_CARD,
    )
    bench.census.degraded, bench.census.peer = True, 3
    for frame in sent(bench.timer(PERIOD)).values():
        (own,) = frame.records
        assert (own.state, own.peer) == (DEGRADED, 3)
        assert own.flags == wire.RecordFlag.ENTRY_CAPABLE | BOUNDARY
        assert own == tagged(own, sequence=2)


def timed(frame: Statistics, sent_at: int, *, late_after: int, late: int, errors: dict[int, int]) -> Statistics:
    """As it comes home from a ring in which the link after one GPU is slow, and some ports saw damage."""
    stamp, ccw, records = sent_at, bool(frame.flags & CCW), []
    for i, r in enumerate(frame.records):
        if i:
            before = frame.records[i - 1].id
            stamp += 9 if before == NODE else timing.HEALTHY_HOP
            stamp += late * ((r.id if ccw else before) == late_after)
            flags = wire.RecordFlag.PORT2 if ccw else 0
            seen = 0 if ccw else errors.get(r.id, 0)
            r = tagged(replace(r, stamp=stamp % 256, flags=flags, errors=seen), sequence=frame.sequence)
        records.append(r)
    return replace(frame, records=tuple(records))


def test_a_slow_and_a_noisy_link_are_named_in_the_report() -> None:
    bench = Bench()
    named = []
    for number in range(5):
        if number:
            bench.timer(PERIOD)
        sequence, began = bench.census.sequence, bench.now
        actions: list[Action] = []
        for ids, ccw in ((ALL, False), ((2, 1, 0, 5, 4, 3), True)):
            frame = message(ids, ccw=ccw, sequence=sequence)
            actions += bench.home(timed(frame, began, late_after=4, late=5, errors={1: 7 + number // 4}))
        named.append((report(actions).slow_link, report(actions).noisy_link))
    assert named == [*[(NOBODY, NOBODY)] * 3, (4, NOBODY), (4, 0)]


# --------------------------------------------------------------------------------------------------- properties


@given(st.binary(max_size=400), st.integers(0, 2), st.booleans(), st.booleans())
def test_no_bytes_make_a_count_or_an_error(data: bytes, port: int, bad: bool, look_real: bool) -> None:
    bench = Bench()
    frame = b"\x11" + data[1:] if look_real else data
    assert counted(bench.step(bench.census.on_frame(frame, port, bad, 0))) is None
    assert counted(bench.timer(TIMEOUT)) is None


MESSAGES = st.builds(
    lambda ids, ccw, wrapped: message(
        (NODE, *((NODE + (-step if ccw else step)) % SIZE for step in sorted(ids))),
        ccw=ccw,
        wrapped=wrapped,
        sequence=1,
    ),
    st.sets(st.integers(1, SIZE - 1)),
    st.booleans(),
    st.booleans(),
)


@given(MESSAGES, st.lists(st.tuples(st.integers(0, 500), st.integers(1, 255)), min_size=1, max_size=4), st.data())
def test_no_damage_to_the_bytes_makes_a_count(
    frame: Statistics, damage: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Of what a hop may not change; the rest is what the next property is about."""
    bench, image = Bench(), bytearray(codec.encode(frame))
    covered = [i for i in (*range(2), *range(6, 16), *range(20, 22), *range(24, 32)) if i < len(image)]
    for place, flip in damage:
        image[covered[place % len(covered)]] ^= flip
    if bytes(image) == codec.encode(frame):
        return
    port = data.draw(st.integers(0, 1))
    assert counted(bench.step(bench.census.on_frame(bytes(image), port, False, 0))) is None
    assert counted(bench.timer(TIMEOUT)) is None


WIDTHS: dict[str, int] = dict(zip([f.name for f in fields(Record)], (16, 16, 8, 8, 8, 8, 16, 8, 8, 32), strict=True))


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Statistics, Statistics]:
    """A message, and the same with one field as no honest hop would have left it; both CRCs intact."""
    frame = draw(MESSAGES)
    field = draw(st.sampled_from(["ttl", "count", "flags", "record_limit", "drop", "add", *WIDTHS]))
    if field == "flags":
        return frame, replace(frame, flags=frame.flags ^ (draw(st.integers(1, 255)) << 8))
    if field == "record_limit":
        return frame, replace(frame, record_limit=frame.record_limit | wire.OVERFLOW)
    if field == "ttl":
        return frame, replace(frame, ttl=draw(st.integers(0, 0xFFFF)))
    if field == "count":
        return frame, replace(frame, count=draw(st.integers(0, 0xFFFF)))
    at = draw(st.integers(0, len(frame.records) - 1))
    records = list(frame.records)
    if field == "drop":
        del records[at]
    elif field == "add":
        records.insert(at, records[draw(st.integers(0, len(records) - 1))])
    else:
        records[at] = replace(records[at], **{field: draw(st.integers(0, 2 ** WIDTHS[field] - 1))})
    return frame, replace(frame, records=tuple(records))


@settings(max_examples=600)
@given(mutations(), st.integers(0, 1), st.booleans())
def test_no_single_field_that_is_wrong_is_counted_wrongly(
    pair: tuple[Statistics, Statistics], port: int, other_too: bool
) -> None:
    """Alone or together with the right message of the other direction."""
    right, wrong = pair
    bench = Bench()
    working = {r.id for r in right.records}
    actions = bench.home(wrong, port=port)
    if other_too and not right.flags & WRAPPED:
        clockwise = sorted(working, key=lambda gpu: (gpu - NODE) % SIZE)
        send = Bench.cw if right.flags & CCW else Bench.ccw
        actions += send(bench, clockwise)
    actions += bench.timer(TIMEOUT)
    found = counted(actions)
    if found is not None:
        assert found.count == len(working)
        assert found.members is None or set(found.members) == working
        assert found.verdict != CensusVerdict.ARMS


def test_a_damaged_message_after_the_end_of_its_round_is_rejected_and_no_more() -> None:
    bench = Bench()
    bench.timer(TIMEOUT)  # begins the next attempt
    for _ in range(2):
        bench.timer(TIMEOUT)
    late = message(ALL, sequence=bench.census.sequence)
    assert reasons(bench.home(late, bad=True)) == ["link"]
    assert counted(bench.home(late)) is None


def test_a_gpu_weighs_one_quarter_times_four_unless_it_is_told_otherwise() -> None:
    bench = Bench()
    own = next(a.frame for a in bench.actions if isinstance(a, Send))
    sent_message = codec.decode(own, link=False)
    assert isinstance(sent_message, Statistics)
    assert sent_message.records[0].weight == CONFIG.weight == 1


def test_timers_of_other_names_end_no_round() -> None:
    bench = Bench()
    assert bench.timer("elsewhere") == []
    assert counted(bench.cw()) is None
    assert counted(bench.home(message(ALL[:1] + ALL[:0:-1], ccw=True, sequence=bench.census.sequence))) is not None
