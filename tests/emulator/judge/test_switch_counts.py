"""How often a context has come after another one, as the register shows it, and as it says itself."""

import pytest

from ringhil.emulator.judge.contexts.commands_seen import SeenCommand
from ringhil.emulator.judge.contexts.slices import SwitchCounts
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import Compute, Query, ResultStatus

from .playing import assert_named

GPU = 3
TWO = """
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
sharing:
  applications:
    x: {gpu: a.2, steps: 2, compute: 5000, wants: 9}
    y: {gpu: a.2, steps: 3, compute: 900, wants: 9}
"""


class Shown:
    """Turns of context 1, which is there from cycle 10 on, and what it says."""

    def __init__(self) -> None:
        self.told = list[str]()
        self.judge = SwitchCounts(lambda what, now: self.told.append(what))
        self._unit = 0
        self.turn(1, 2, switches=True)
        self.create(5, 10)

    def turn(self, began: int, ended: int, *, switches: bool, context: int = 1) -> None:
        self.judge.begins(context, began, switches=switches)
        self.judge.ends(context, ended)

    def send(self, compute: Compute, amount: int, now: int, context: int = 1) -> int:
        self._unit += 1
        self.judge.sent(SeenCommand(self._unit, 1, (0, GPU), context, compute, 5, amount, 0, 0, 0, 0), now)
        return self._unit

    def answer(self, unit: int, now: int, digest: int = 0, status: ResultStatus = ResultStatus.DONE) -> None:
        self.judge.answered(Result(0, 0, 9, 0, 1, unit, GPU, 1, status.code, 0, 0, digest, 16, 0), now)

    def create(self, now: int, done: int, status: ResultStatus = ResultStatus.DONE) -> None:
        self.answer(self.send(Compute.CREATE, 60, now), done, status=status)

    def says(self, switches: int, now: int, query: Query = Query.COUNTS, context: int = 1) -> list[str]:
        unit = self.send(Compute.QUERY, query.code, now, context)
        self.answer(unit, now + 5, switches << 32 | 4)
        return self.told


def test_turns_after_another_one_count_since_it_was_created() -> None:
    shown = Shown()
    shown.turn(20, 30, switches=True)
    shown.turn(31, 40, switches=False)
    shown.turn(41, 50, switches=True, context=2)
    shown.turn(51, 60, switches=True)
    assert shown.says(2, 61) == []
    for wrong in 1, 3:
        shown.told.clear()
        assert shown.says(wrong, 71) == [f"context 1 says that it had {wrong} turns after another one's; it was 2"]


def test_it_is_not_compared_while_a_turn_begins_or_ends() -> None:
    shown = Shown()
    shown.turn(20, 30, switches=True)
    assert shown.says(9, 30) == []
    shown.judge.begins(1, 40, switches=True)
    assert shown.says(9, 39) == []
    assert len(shown.says(9, 41)) == 1


def test_other_questions_and_refusals_say_nothing_of_it() -> None:
    shown = Shown()
    for query in Query:
        if query is not Query.COUNTS:
            assert shown.says(9, 20, query) == []
    shown.answer(shown.send(Compute.QUERY, Query.COUNTS.code, 20), 25, 9 << 32, ResultStatus.INVALID)
    assert shown.told == []
    assert shown.says(9, 30, context=2) == []  # nobody has seen it created


def test_it_counts_anew_when_it_is_created_anew() -> None:
    shown = Shown()
    shown.turn(20, 30, switches=True)
    shown.create(40, 45, ResultStatus.NO_MEMORY)
    assert shown.says(1, 50) == []
    shown.create(60, 65)
    assert shown.says(0, 70) == []
    assert len(shown.says(1, 80)) == 1


def test_a_command_that_goes_out_again_was_there_before() -> None:
    shown = Shown()
    query = SeenCommand(99, 1, (0, GPU), 1, Compute.QUERY, 5, Query.COUNTS.code, 0, 0, 0, 0)
    shown.judge.sent(query, 20)
    shown.turn(25, 30, switches=True)
    shown.judge.sent(query._replace(attempt=2), 40)
    shown.answer(99, 50)
    assert shown.told == []


def test_where_another_may_answer_nothing_is_known_for_good() -> None:
    shown = Shown()
    shown.judge.forget(for_good=True)
    shown.judge.forget()
    shown.create(50, 60)
    assert shown.says(9, 70) == []


@pytest.mark.parametrize("late", [False, True])
def test_after_what_makes_it_unknown_nothing_is_wrong_until_it_is_created_anew(late: bool) -> None:
    shown = Shown()
    unit = shown.send(Compute.CREATE, 60, 20) if late else 0
    shown.judge.forget()
    if late:
        shown.answer(unit, 30)
    assert shown.says(9, 40) == []
    shown.create(50, 60)
    assert len(shown.says(9, 70)) == 1


def test_in_a_run_they_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the judge sees one turn too few, as if the GPU had counted one too many."""

    def misses_one(patch: pytest.MonkeyPatch) -> None:
        begins = SwitchCounts.begins

        def seen(self: SwitchCounts, context: int, now: int, *, switches: bool) -> None:
            begins(self, context, now, switches=switches and context in self._last)

        patch.setattr(SwitchCounts, "begins", seen)

    assert_named(misses_one, TWO, "slice_kept", "turns after another one's; it was", monkeypatch)
