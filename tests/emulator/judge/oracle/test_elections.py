"""Who may hold a role, against many elections played with dice by the rules in the text."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.judge.oracle import RoleTruth

TIME = 100  # what an election takes at most
HISTORIES = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.tuples(st.integers(1, 2 * TIME), st.frozensets(st.integers(0, size - 1))), min_size=1, max_size=6
    ).map(lambda steps: (size, steps))
)
History = tuple[int, list[tuple[int, frozenset[int]]]]


def epoch_for(rank: int, above: int, members: int) -> int:
    return next(e for e in range(above + 1, above + members + 1) if (e - 1) % members == rank)


def play(size: int, changes: list[tuple[int, frozenset[int]]], until: int, dice: random.Random) -> tuple[object, int]:
    """The holder at cycle `until` and its epoch: a vacant role is taken by one of those who can, after a while."""
    holder, epoch, able, due = None, 0, frozenset(range(size)), dice.randrange(1, TIME)
    events = dict(changes)
    for now in range(until + 1):
        if now in events:
            able = events[now]
            if holder is not None and holder not in able:
                holder = None
            if holder is None:
                due = now + dice.randrange(1, TIME)
        if holder is None and able and now >= due:
            # At power-up the first one listed, if nothing has come in between.
            holder = 0 if not epoch and not any(at <= now for at in events) else dice.choice(sorted(able))
            epoch = epoch_for(holder, epoch, size)
    return holder, epoch


@given(HISTORIES, st.integers(0, 2**32))
def test_no_election_ends_otherwise(history: History, seed: int) -> None:
    size, steps = history
    role, now, changes = RoleTruth(tuple(range(size)), TIME), 0, []
    for wait, able in steps:
        now += wait
        changes.append((now, able))
        role.change(able, now, now + TIME)
    dice = random.Random(seed)
    for _ in range(5):
        holder, epoch = play(size, changes, now + TIME, dice)
        assert holder in role.holders
        assert holder is None or epoch >= role.lowest(now + TIME)


@given(HISTORIES)
def test_what_is_settled_is_known(history: History) -> None:
    """With time between the events the holder changes only when it can't go on, and the set says who can follow."""
    size, steps = history
    role, now = RoleTruth(tuple(range(size)), TIME), TIME
    holders: frozenset[int | None] = frozenset({0})
    for _, able in steps:
        now += TIME
        role.change(able, now, now + TIME)
        if not able:
            holders = frozenset({None})
        elif not holders <= able:
            holders = frozenset(able)
        assert role.holders == holders
        assert role.settled(now + TIME)


def test_the_first_listed_holds_it_from_power_up_and_gets_it_not_back() -> None:
    role = RoleTruth((4, 7), TIME)
    assert (role.holders, role.lowest(0), role.lowest(TIME)) == ({4}, 0, 1)
    role.change([7], 500, 600)
    assert (role.holders, role.lowest(599), role.lowest(600)) == ({7}, 1, 2)
    role.change([4, 7], 1000, 1100)
    assert role.holders == {7}
    role.change([4], 2000, 2100)
    assert (role.holders, role.lowest(2100)) == ({4}, 3)
    role.change([], 3000, 3100)
    assert (role.holders, role.lowest(3100)) == ({None}, 3)


def test_back_before_it_was_replaced() -> None:
    """It may have kept the role, so no new epoch has to be there."""
    role = RoleTruth((0, 1), TIME)
    role.change([1], 500, 600)
    role.change([0, 1], 510, 610)
    assert (role.holders, role.lowest(10_000)) == ({0, 1}, 1)


def test_luck_and_leaving_it_to_others() -> None:
    role = RoleTruth((0, 1, 2), TIME)
    role.change([1, 2], 500, 600, gave_up=True)
    assert role.holders == {1, 2}
    role.change([0, 1, 2], 1000, 1100, luck=True)
    assert role.holders == {0, 1, 2}


def test_epochs_rise_by_rank() -> None:
    """Member i of m claims epochs e with (e - 1) mod m = i."""
    role, low = RoleTruth((0, 1, 2), TIME), [1]
    for number, gpu in enumerate((2, 1, 0), start=1):
        role.change([gpu], 1000 * number, 1000 * number + TIME)
        low.append(role.lowest(1000 * number + TIME))
    assert low == [1, 3, 5, 7]
    assert all(b > a for a, b in pairwise(low))
