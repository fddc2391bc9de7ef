"""The backlog is a queue of unit numbers that takes no more memory for many than for few."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ringhil.emulator.host.policy.policy import Backlog


class AgainstAList(RuleBasedStateMachine):
    """The same as a plain list of all numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.backlog, self.model = Backlog(), list[int]()
        self.next = 0

    @rule(units=st.integers(0, 20))
    def add(self, units: int) -> None:
        self.backlog.add(self.next, self.next + units)
        self.model += range(self.next, self.next + units)
        self.next += units + 3

    @rule()
    def pop(self) -> None:
        assert self.backlog.pop() == (self.model.pop(0) if self.model else None)

    @rule(units=st.integers(0, 50))
    def take(self, units: int) -> None:
        taken = [n for start, end in self.backlog.take(units) for n in range(start, end)]
        assert taken == self.model[:units]
        del self.model[:units]

    @rule(units=st.integers(0, 50))
    def take_and_put_back(self, units: int) -> None:
        for start, end in self.backlog.take(units):
            self.backlog.add(start, end)
        self.model = self.model[units:] + self.model[:units]

    @invariant()
    def as_long_as_the_list(self) -> None:
        assert len(self.backlog) == len(self.model)


TestAgainstAList = AgainstAList.TestCase


def test_four_thousand_million_units_are_one_range() -> None:
    backlog = Backlog()
    backlog.add(0, 2**32 - 1)
    assert backlog.take(2**31) == [(0, 2**31)]
    assert backlog.pop() == 2**31
    assert len(backlog) == 2**31 - 2


@pytest.mark.parametrize(("start", "end"), [(0, 0), (5, 5), (7, 3)])
def test_an_empty_range_is_nothing(start: int, end: int) -> None:
    backlog = Backlog()
    backlog.add(start, end)
    assert (len(backlog), backlog.pop(), backlog.take(1)) == (0, None, [])
