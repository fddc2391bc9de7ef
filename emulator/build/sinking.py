"""Moves what only one branch uses into that branch: it isn't evaluated while the branch isn't taken.

A statement moves if nothing else reads what it writes, neither a condition nor a statement on the way nor what comes
after, and if nothing on the way changes what it reads or writes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ringhil.emulator.build.emitted_code import If, Simple, Statement


def sink(statements: Sequence[Statement], live: frozenset[str]) -> tuple[Statement, ...]:
    """The statements in an order that does the same with less; `live` is what is read after them."""
    items: list[_Item | None] = [_Item.of(statement) for statement in statements]
    # The last first, so that what a statement needs can follow it.
    for at in range(len(items) - 1, -1, -1):
        mine = items[at]
        assert mine is not None
        user = None if mine.writes & live else _user(mine, items[at + 1 :])
        if user is not None:
            branch = items[at + 1 + user]
            assert branch is not None
            items[at + 1 + user] = _Item.of(_put(mine, branch.statement))
            items[at] = None
    answer: list[Statement] = []
    for item in reversed([item for item in items if item is not None]):
        statement = item.statement
        if isinstance(statement, If):
            then, other = sink(statement.then, live), sink(statement.other, live)
            statement = If(statement.code, statement.reads, then, other)
        answer.append(statement)
        # What a branch reads of its own writes counts too: less moves for it, nothing wrong does.
        live = live - item.sure | item.reads
    return tuple(reversed(answer))


def reads(statement: Statement) -> frozenset[str]:
    """All that a statement may read."""
    if isinstance(statement, Simple):
        return statement.reads
    return statement.reads.union(*map(reads, (*statement.then, *statement.other)))


def writes(statement: Statement) -> frozenset[str]:
    """All that a statement may write."""
    if isinstance(statement, Simple):
        return statement.writes | statement.may_write
    return frozenset[str]().union(*map(writes, (*statement.then, *statement.other)))


def _sure(statement: Statement) -> frozenset[str]:
    """What a statement writes for sure and as a whole."""
    if isinstance(statement, Simple):
        return statement.writes
    then, other = (frozenset[str]().union(*map(_sure, branch)) for branch in (statement.then, statement.other))
    return then & other


@dataclass(frozen=True)
class _Item:
    statement: Statement
    reads: frozenset[str]
    writes: frozenset[str]
    sure: frozenset[str]

    @classmethod
    def of(cls, statement: Statement) -> "_Item":
        return cls(statement, reads(statement), writes(statement), _sure(statement))


def _user(mine: _Item, later: Sequence[_Item | None]) -> int | None:
    """Where the `if` is that alone uses what a statement writes, and may have it; None: nowhere."""
    there = ((i, item) for i, item in enumerate(later) if item is not None)
    for i, item in there:
        if mine.writes & item.reads:
            statement = item.statement
            if isinstance(statement, Simple) or mine.writes & statement.reads:
                return None
            both = _uses(statement.then, mine) and _uses(statement.other, mine)
            return None if both or _read_after(mine.writes - item.sure, there) else i
        if mine.writes & item.writes or mine.reads & item.writes:
            return None
    return None


def _uses(branch: Sequence[Statement], mine: _Item) -> bool:
    return any(mine.writes & reads(statement) for statement in branch)


def _read_after(places: frozenset[str], later: Iterable[tuple[int, _Item]]) -> bool:
    for _, item in later:
        if places & item.reads:
            return True
        places -= item.sure
        if not places:
            return False
    return False


def _put(mine: _Item, into: Statement) -> If:
    assert isinstance(into, If)
    if _uses(into.then, mine):
        return If(into.code, into.reads, (mine.statement, *into.then), into.other)
    return If(into.code, into.reads, into.then, (mine.statement, *into.other))
