"""What a campaign's results add up to, and what two campaigns differ in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.query import compare
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.store import Row
from ringhil.emulator.campaign.explore.summary import by_class, joined, rate_bound


def row(number: int, result: CaseResult, cls: str = "dead", key: str | None = None) -> Row:
    return Row(number, key or f"{number}: {cls}", cls, "a.1", number, 1, '[{"at": 9}]', result)


RESULTS = st.builds(
    CaseResult,
    st.sampled_from(["pass", "fail", "error", "hung"]),
    detected=st.one_of(st.none(), st.booleans()),
    located=st.one_of(st.none(), st.booleans()),
    recovered=st.one_of(st.none(), st.booleans()),
    recovery=st.one_of(st.none(), st.integers(0, 1000)),
    bound=st.integers(1, 1000),
)
ROWS = st.lists(st.tuples(RESULTS, st.sampled_from(["dead", "hang", "dead + hang"])), max_size=30).map(
    lambda found: [row(n, result, cls) for n, (result, cls) in enumerate(found)]
)


def tells(result: CaseResult) -> bool:
    """It has a recovery, and no event beside it that was never seen to be over."""
    return result.recovery is not None and (result.recovered is not False or result.recovery > (result.bound or 0))


@given(ROWS)
def test_every_case_counts_in_its_class_and_in_the_whole(rows: list[Row]) -> None:
    classes = by_class(rows)
    whole = joined("all", classes)
    for summary, mine in [(whole, rows), *((c, [r for r in rows if r.cls == c.cls]) for c in classes)]:
        assert summary.cases == len(mine)
        assert summary.failed == sum(r.result.verdict == "fail" for r in mine)
        assert summary.errors == sum(r.result.verdict in ("error", "hung") for r in mine)
        assert summary.to_locate == sum(r.result.located is not None for r in mine)
        assert summary.located == sum(r.result.located is True for r in mine)
        shares = [r.result.recovery / (r.result.bound or 1) for r in mine if tells(r.result)]
        if not shares:
            assert (summary.recovery, summary.worst) == (None, None)
        else:
            assert summary.recovery is not None
            assert summary.bound is not None
            assert summary.recovery / summary.bound == max(shares)
        clean = not summary.failed and not summary.errors
        assert (summary.failure_rate_bound is not None) == (clean and bool(mine))


@given(st.integers(1, 10**6))
def test_the_rate_is_the_one_at_which_no_failure_is_a_chance_of_one_in_twenty(cases: int) -> None:
    rate = rate_bound(cases)
    assert rate is not None
    assert (1 - rate) ** cases == pytest.approx(0.05, rel=1e-6)
    assert rate <= 3 / cases  # the rule of three is a little above


def test_no_case_says_nothing_about_a_rate() -> None:
    assert rate_bound(0) is None


def test_a_comparison_names_what_changed() -> None:
    old = [
        row(1, CaseResult("pass", recovery=100)),
        row(2, CaseResult("pass", recovery=100)),
        row(3, CaseResult("fail", violated="wrong_count")),
        row(4, CaseResult("fail", violated="wrong_count")),
        row(5, CaseResult("pass", recovery=50)),
        row(6, CaseResult("pass")),
    ]
    new = [
        row(1, CaseResult("fail", violated="one_grant", recovery=100)),
        row(2, CaseResult("pass", recovery=130)),
        row(3, CaseResult("pass")),
        row(4, CaseResult("fail", violated="no_orphan")),
        row(5, CaseResult("pass", recovery=40)),
        row(7, CaseResult("pass")),
    ]
    found = compare(old, new)
    assert [(c.key, c.old, c.new) for c in found.worse] == [("1: dead", "pass", "fail: one_grant")]
    assert [c.key for c in found.better] == ["3: dead"]
    assert [(c.old, c.new) for c in found.other] == [("fail: wrong_count", "fail: no_orphan")]
    assert [(c.key, c.old, c.new) for c in found.slower] == [("2: dead", 100, 130)]
    assert (found.both, found.faster) == (5, 1)
    assert (found.only_old, found.only_new) == (("6: dead",), ("7: dead",))
    assert compare(old, new, tolerance=30).slower == ()
    same = compare(new, new)
    with pytest.raises(ExploreError, match="nothing can be compared"):
        compare(old, [row(9, CaseResult("pass"))])
    assert (same.worse, same.better, same.other, same.slower, same.faster) == ((), (), (), (), 0)
