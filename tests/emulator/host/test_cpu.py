"""The CPU by the frames that it gets and sends: each unit once, and nothing lost."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ringhil.emulator.host.work.accepting import STRIKES
from ringhil.emulator.host.work.handing_out import BARRED
from ringhil.emulator.host.work.segments import flits
from ringhil.protocol import wire
from ringhil.protocol.frames import Work

from .desk import LEASE, PATIENCE, SILENCE, SIZE, A, B, Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.close()


@pytest.fixture
def few() -> Iterator[Desk]:
    """As many units as GPUs: everybody has room for one that goes out again."""
    made = Desk(units=2 * SIZE)
    yield made
    made.close()


def places(work: list[Work]) -> set[tuple[int, int]]:
    return {(w.card, w.destination) for w in work}


# ---------------------------------------------------------------------------------------------------------- each once


def test_each_unit_is_accepted_once(few: Desk) -> None:
    few.count()
    units = few.work()
    for wrong in (False, False, True):
        for unit in units:
            few.result(unit, wrong=wrong)
    work = few.cpu.work
    assert (work.completed, work.late, work.wrong, work.duplicated) == (2 * SIZE, 4 * SIZE, 0, 0)
    assert sum(card.completed for card in few.cpu.cards) == 2 * SIZE


def test_what_has_arrived_damaged_is_not_read(few: Desk) -> None:
    """Though it can be: the link has seen it."""
    few.count()
    for unit in few.work():
        few.result(unit, bad=True)
    work = few.cpu.work
    assert (work.completed, work.late, work.wrong, work.fenced) == (0, 0, 0, 0)


def test_no_work_is_done_as_soon_as_the_cards_are_counted() -> None:
    desk, done = Desk(units=0), list[int]()
    desk.cpu.on_done = lambda: done.append(desk.kernel.now)
    desk.count()
    assert (done, desk.cpu.finished) == ([0], True)
    desk.close()


def test_the_first_right_result_counts_whichever_attempt_it_is(few: Desk) -> None:
    few.count()
    first = few.work()[0]
    few.refuse(first)
    (again,) = (w for w in few.work() if w.unit == first.unit)
    assert again.attempt == 2
    few.result(first)
    few.result(again)
    assert (few.cpu.work.completed, few.cpu.work.late, few.cpu.work.resent) == (1, 1, 1)


def test_a_wrong_result_is_not_accepted_and_the_unit_goes_elsewhere_by_the_other_lane(few: Desk) -> None:
    few.count()
    unit = few.work()[0]
    few.result(unit, wrong=True)
    (again,) = (w for w in few.work() if w.unit == unit.unit)
    assert (few.cpu.work.completed, few.cpu.work.wrong, few.cpu.work.resent) == (0, 1, 1)
    assert again.attempt == 2
    assert (again.card, again.destination) != (unit.card, unit.destination)
    # An old attempt's wrong result says nothing of the new one.
    few.result(unit, wrong=True)
    assert (few.cpu.work.wrong, few.cpu.work.resent) == (2, 1)


def test_a_unit_that_has_failed_everywhere_goes_to_everybody_again_but_not_where_it_has_just_failed(few: Desk) -> None:
    few.count()
    last = few.work()[0]
    been = [(last.card, last.destination)]
    for _ in range(2 * SIZE + 6):
        few.result(last, wrong=True)
        (last,) = (w for w in few.work() if w.unit == last.unit)
        been.append((last.card, last.destination))
    everywhere = {(card, gpu) for card in (A, B) for gpu in range(SIZE)}
    assert set(been[: 2 * SIZE]) == set(been[2 * SIZE - 1 : 4 * SIZE - 1]) == everywhere
    assert all(now != before for now, before in itertools.pairwise(been))


def test_a_unit_that_was_never_sent_or_does_not_exist_is_not_accepted(desk: Desk) -> None:
    desk.count()
    sent = desk.work()
    unsent = set(range(desk.units)) - {w.unit for w in sent}
    assert unsent
    desk.result(replace(sent[0], unit=min(unsent)))
    desk.result(replace(sent[0], unit=desk.units))
    desk.result(replace(sent[0], card=7))
    assert (desk.cpu.work.completed, desk.cpu.work.wrong) == (0, 1)


def test_all_is_done_when_all_results_have_come(desk: Desk) -> None:
    done: list[int] = []
    desk.cpu.on_done = lambda: done.append(desk.cpu.work.completed)
    desk.count()
    while work := desk.work():
        for unit in work:
            desk.result(unit)
    assert (desk.cpu.finished, desk.cpu.work.completed, desk.cpu.work.resent) == (True, desk.units, 0)
    assert done == [desk.units]
    assert all(not load for card in desk.cpu.cards for load in card.load.values())


# ------------------------------------------------------------------------------------------------------ nothing lost


def at(desk: Desk, card: int, gpu: int) -> set[int]:
    """The units that have just gone to a GPU."""
    return {w.unit for w in desk.work() if (w.card, w.destination) == (card, gpu)}


def test_units_of_a_gpu_that_is_no_longer_counted_go_to_others(few: Desk) -> None:
    few.count()
    had = at(few, A, 2)
    few.report(A, 0, 1, members=(0, 1, 3))
    again = few.work()
    assert had == {w.unit for w in again}
    assert {w.attempt for w in again} == {2}
    assert (A, 2) not in places(again)
    few.report(A, 0, 1, members=(0, 1, 3))
    assert few.work() == [], "they are sent again once"


def test_units_go_out_again_when_their_time_is_up(few: Desk) -> None:
    few.count()
    first = few.work()
    few.kernel.run(PATIENCE)
    assert few.work() == []
    few.kernel.run(2 * PATIENCE)
    again = few.work()
    assert {(w.unit, w.attempt) for w in again} == {(w.unit, 2) for w in first}
    before = {w.unit: (w.card, w.destination) for w in first}
    assert all(before[w.unit] != (w.card, w.destination) for w in again)


@pytest.mark.parametrize("degraded", [(), (2,)])
def test_a_time_limit_allows_for_the_link_the_queue_and_a_degraded_gpu(degraded: tuple[int, ...]) -> None:
    """By the table of docs/reference/host.md."""
    desk = Desk(units=SIZE)
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1, members=())
    desk.claim(A, 0, 1)
    desk.report(A, 0, 1, degraded=degraded)
    ahead = [flits(64) * (place + 1) for place in range(SIZE)]  # they leave the CPU one after the other
    limits = [PATIENCE + 4 * ahead[gpu] + (4 if gpu in degraded else 1) * 5 * (32 + 64 // 8) for gpu in range(SIZE)]
    first = {w.destination: w.unit for w in desk.work()}
    for gpu, limit in sorted(enumerate(limits), key=lambda each: each[1]):
        desk.kernel.run(limit - 1)
        assert first[gpu] not in {w.unit for w in desk.work()}
        desk.kernel.run(limit)
        assert first[gpu] in {w.unit for w in desk.work()}
    desk.close()


def test_a_time_limit_grows_with_each_attempt_up_to_the_eighth() -> None:
    """By the table of docs/reference/host.md: a unit that only takes long comes to its end at last."""
    desk = Desk(units=1)
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1, members=())
    desk.claim(A, 0, 1)
    desk.report(A, 0, 1)
    once, now = PATIENCE + 4 * flits(64) + 5 * (32 + 64 // 8), 0
    for attempt in range(1, 11):
        assert [work.attempt for work in desk.work()] == [attempt]
        desk.renew(A, 0, 1)
        desk.report(A, 0, 1)
        now += once * min(attempt, 8)
        desk.kernel.run(now - 1)
        assert desk.work() == []
        desk.kernel.run(now)
    desk.close()


@pytest.mark.parametrize(("attempt", "next_one"), [(2**15 - 1, 2**15), (2**16 - 1, 0)])
def test_the_number_of_an_attempt_has_sixteen_bits(few: Desk, attempt: int, next_one: int) -> None:
    few.cpu._out._attempts[0] = attempt
    few.count()
    first = next(w for w in few.work() if w.unit == 0)
    assert first.attempt == attempt
    few.refuse(first)
    assert [w.attempt for w in few.work() if w.unit == 0] == [next_one]


def test_it_is_worth_waiting_until_a_unit_has_been_everywhere_at_its_last_time_limit() -> None:
    desk = Desk(units=1)
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1, members=())
    desk.claim(A, 0, 1)
    assert desk.cpu.worth_waiting == 0
    desk.report(A, 0, 1)
    once = PATIENCE + 4 * flits(64) + 5 * (32 + 64 // 8)
    assert desk.cpu.worth_waiting == (SIZE + 1) * 8 * once
    desk.close()


def test_what_waited_at_another_gpus_link_is_not_allowed_for() -> None:
    desk = Desk(units=1)
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1, members=())
    desk.claim(A, 0, 1)
    desk.report(A, 0, 1)
    desk.release(A, 0, 1)
    desk.work()
    desk.claim(A, 1, 2)
    desk.report(A, 1, 2)
    assert [(work.source, work.attempt) for work in desk.work()] == [(1, 2)]
    limit = 2 * (PATIENCE + 4 * flits(64) + 5 * (32 + 64 // 8))
    desk.kernel.run(limit - 1)
    assert desk.work() == []
    desk.kernel.run(limit)
    assert [work.attempt for work in desk.work()] == [3]
    desk.close()


def test_attempts_change_lanes() -> None:
    """The shorter one first."""
    desk = Desk(units=2 * SIZE)
    desk.count()
    work = desk.work()
    for unit in work:
        desk.refuse(unit)
    again = desk.work()
    assert {w.attempt for w in again} >= {2}
    for w in (*work, *again):
        shorter_is_ccw = (w.destination - w.source) % SIZE > SIZE // 2
        assert bool(w.flags & wire.Flag.CCW) == (shorter_is_ccw != (w.attempt % 2 == 0))
    desk.close()


def test_attempts_are_numbered_one_by_one() -> None:
    desk = Desk(units=1)
    for card in (A, B):
        desk.claim(card, 0, 1)
        desk.report(card, 0, 1, members=(1,) if card == A else ())
    for attempt in range(1, 40):
        (unit,) = desk.work()
        assert unit.attempt == attempt
        desk.refuse(unit)
    assert desk.cpu.work.resent == 39
    desk.close()


def test_a_unit_that_is_done_while_it_waits_to_go_out_again_does_not(desk: Desk) -> None:
    desk.count()
    first, *others = desk.work()
    desk.refuse(first)  # all others have a full window
    desk.result(first)
    while others:
        for unit in others:
            desk.result(unit)
        others = desk.work()
        assert first.unit not in {w.unit for w in others}
    assert (desk.cpu.finished, desk.cpu.work.late) == (True, 0)


def test_a_late_refusal_says_nothing_of_a_later_attempt_on_the_same_gpu() -> None:
    desk = Desk(units=1)
    for card in (A, B):
        desk.claim(card, 0, 1)
        desk.report(card, 0, 1, members=(1,) if card == A else ())
    (first,) = desk.work()
    desk.refuse(first)
    (again,) = desk.work()
    assert (again.card, again.destination, again.attempt) == (A, 1, 2)
    desk.refuse(first)
    assert (desk.work(), desk.cpu.work.refused) == ([], 1)
    desk.close()


@pytest.mark.parametrize("across", [0, 25, 60, 100])
def test_so_many_percent_enter_by_the_other_card(across: int) -> None:
    desk = Desk(units=400, across=across)
    desk.count()
    crossed = 0
    while work := desk.work():
        crossed += sum(unit.card != unit.source_card for unit in work)
        for unit in work:
            desk.result(unit)
    assert abs(crossed - 4 * across) <= 8
    assert desk.cpu.work.crossed == crossed
    desk.close()


def test_a_further_attempt_takes_the_direct_way() -> None:
    desk = Desk(units=2 * SIZE, across=100)
    desk.count()
    crossed = next(w for w in desk.work() if w.card != w.source_card)
    desk.refuse(crossed)
    (again,) = desk.work()
    assert (again.unit, again.source_card) == (crossed.unit, again.card)
    desk.close()


def test_the_time_limit_of_an_old_attempt_says_nothing_of_the_new_one(few: Desk) -> None:
    few.count()
    first = few.work()[0]
    few.kernel.run(PATIENCE - 100)
    few.refuse(first)
    (again,) = few.work()
    few.kernel.run(PATIENCE + 1000)  # the first attempt's limit has passed
    assert again.unit not in {w.unit for w in few.work()}
    few.kernel.run(4 * PATIENCE)
    assert again.unit in {w.unit for w in few.work()}


@pytest.mark.parametrize("how", ["lapse", "release"])
def test_when_the_entry_role_is_lost_its_units_go_to_the_other_card(few: Desk, how: str) -> None:
    few.count()
    had = {w.unit for w in few.work() if w.card == A}
    if how == "release":
        few.release(A, 0, 1)
    else:
        few.kernel.run(LEASE - 1)
        few.work()
        few.renew(B, 0, 1)
        few.kernel.run(LEASE)
    again = few.work()
    assert {w.unit for w in again} >= had
    assert {w.card for w in again} == {B}
    assert (few.a.entry, few.a.members, few.a.count, few.a.reachable) == (None, (), 0, False)


def test_units_that_came_by_another_card_go_out_again_when_either_card_is_lost() -> None:
    desk = Desk(units=2 * SIZE, across=100)
    desk.count()
    first = desk.work()
    assert all(w.card != w.source_card for w in first[1:])
    desk.release(B, 0, 1)
    again = desk.work()
    assert sorted(w.unit for w in again) == list(range(2 * SIZE)), "also those of card A that came by card B"
    assert {(w.card, w.source_card) for w in again} == {(A, A)}
    desk.close()


def test_one_card_does_all_the_work_when_the_other_is_lost(desk: Desk) -> None:
    desk.count()
    work = [w for w in desk.work() if w.card == B]
    desk.release(A, 0, 1)
    while work:
        for unit in work:
            desk.result(unit)
        work = desk.work()
    assert desk.cpu.finished
    assert desk.b.completed == desk.units


def test_the_next_entry_gpu_gets_work_when_it_has_counted_the_card(few: Desk) -> None:
    few.count()
    few.work()
    few.release(A, 0, 1)
    few.claim(A, 1, 2)
    assert (few.a.entry, few.a.epoch, few.a.members) == (1, 2, ())
    assert {w.card for w in few.work()} == {B}
    few.report(A, 0, 1)
    assert few.cpu.work.fenced == 1
    few.report(A, 1, 2, members=(1, 2, 3))
    few.report(B, 0, 1, members=())
    again = few.work()
    assert places(again) <= {(A, 1), (A, 2), (A, 3)}
    assert {(w.source_card, w.source, w.epoch) for w in again} == {(A, 1, 2)}


def test_a_card_that_reports_no_more_is_given_up_and_its_units_go_to_the_other(few: Desk) -> None:
    few.count()
    for cycle in range(LEASE // 2, 4 * SILENCE, LEASE // 2):
        few.kernel.run(cycle)
        few.renew(A, 0, 1)
        few.renew(B, 0, 1)
        few.report(B, 0, 1)
        assert few.a.reachable == (cycle < SILENCE)
    assert few.a.entry == 0
    few.work()
    few.kernel.run(few.kernel.now + 9 * PATIENCE)
    assert {w.card for w in few.work()} == {B}


def test_of_a_card_that_is_lost_nothing_is_said_that_was_true_before(few: Desk) -> None:
    few.claim(A, 0, 1)
    few.report(A, 0, 1, members=(0, 1, 3), degraded=(1,))
    assert (few.a.count, few.a.degraded, few.a.boundaries, few.a.reachable) == (3, {1}, (3,), True)
    few.release(A, 0, 1)
    assert (few.a.count, few.a.weight, few.a.members, few.a.reachable) == (0, 0, (), False)
    assert (few.a.degraded, few.a.boundaries, few.a.slow_link, few.a.noisy_link) == (frozenset(), (), None, None)


def test_nobody_gets_work_before_every_card_has_reported_or_had_the_time_to(desk: Desk) -> None:
    desk.claim(A, 0, 1)
    desk.report(A, 0, 1)
    for cycle in (SILENCE // 2, SILENCE - 1):
        desk.kernel.run(cycle)
        desk.renew(A, 0, 1)
        desk.report(A, 0, 1)
        assert desk.work() == []
    desk.kernel.run(SILENCE)
    assert (desk.a.share, desk.b.share) == (desk.units, 0)
    assert {w.card for w in desk.work()} == {A}


def test_what_the_other_card_brings_along_is_shared_out_anew(desk: Desk) -> None:
    desk.claim(A, 0, 1)
    desk.report(A, 0, 1)
    desk.kernel.run(LEASE - 1)
    desk.renew(A, 0, 1)
    desk.report(A, 0, 1)
    desk.kernel.run(SILENCE)
    assert len(desk.work()) == SIZE * 4
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1)
    assert len(desk.work()) == (desk.units - SIZE * 4) // 2


# --------------------------------------------------------------------------------------------------- who gets how many


def test_no_gpu_has_more_than_the_window_and_a_degraded_one_has_one(desk: Desk) -> None:
    desk.claim(A, 0, 1)
    desk.report(A, 0, 1, degraded=(3,))
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1)
    work = desk.work()
    had = {place: sum((w.card, w.destination) == place for w in work) for place in places(work)}
    assert had == {(card, gpu): 1 if (card, gpu) == (A, 3) else 4 for card in (A, B) for gpu in range(SIZE)}
    unit = next(w for w in work if (w.card, w.destination) == (B, 1))
    desk.result(unit)
    assert [(w.card, w.destination) for w in desk.work()] == [(B, 1)]


def test_a_card_lost_twice_without_a_result_gets_units_one_by_one_until_one_comes(desk: Desk) -> None:
    desk.count()
    given = [w for w in desk.work() if w.card == A]
    had = [len(given)]
    for epoch in (2, 3, 4):
        desk.release(A, (epoch - 2) % 2, epoch - 1)
        desk.claim(A, (epoch - 1) % 2, epoch)
        desk.report(A, (epoch - 1) % 2, epoch)
        given = [w for w in desk.work() if w.card == A]
        had.append(len(given))
    assert had == [SIZE * 4, SIZE * 4, SIZE, SIZE]
    desk.result(given[0])
    assert len(desk.work()) == SIZE * 4 - (SIZE - 1)


def test_a_card_lost_without_units_gets_all_that_it_may_have(desk: Desk) -> None:
    for epoch in (1, 2, 3):
        desk.claim(A, epoch % 2, epoch)
        desk.report(A, epoch % 2, epoch)
        if epoch < 3:
            desk.release(A, epoch % 2, epoch)
    desk.claim(B, 0, 1)
    desk.report(B, 0, 1)
    assert len([w for w in desk.work() if w.card == A]) == SIZE * 4


def test_a_gpu_that_is_wrong_too_often_gets_no_work_for_a_while(desk: Desk) -> None:
    desk.count()
    mine = [w for w in desk.work() if (w.card, w.destination) == (A, 2)]
    for number, unit in enumerate(mine[:STRIKES], 1):
        desk.result(unit, wrong=True)
        assert ((A, 2) in places(desk.work())) == (number < STRIKES)
    desk.report(A, 0, 1)
    assert (A, 2) not in places(desk.work())
    desk.kernel.run(BARRED)
    assert (A, 2) not in places(desk.work())
    desk.kernel.run(BARRED + 1)
    assert (A, 2) in places(desk.work())


def test_the_numbers_are_those_of_the_docs() -> None:
    """docs/reference/host.md: three wrong results in a row, and 20,000 cycles."""
    assert (STRIKES, BARRED) == (3, 20_000)


def test_a_right_result_wipes_the_strikes_out(desk: Desk) -> None:
    desk.count()
    mine = [w for w in desk.work() if (w.card, w.destination) == (A, 2)]
    for unit, wrong in zip(mine, (True, True, False, True), strict=True):
        desk.work()
        desk.result(unit, wrong=wrong)
    assert (A, 2) in places(desk.work())
