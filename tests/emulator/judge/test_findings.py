"""Findings are values: they sort by promise and template, say where they are from, and survive a process."""

import pickle
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.judge.findings import Finding, FindingList, Name, Value, joined, numbered, say

NAMES = st.sampled_from(["a.3", "west-2.17", "b.0"]).map(Name)


def _found(gpu: Name, found: int, expected: int, cycle: int) -> Finding:
    wrong = FindingList()
    refused = say("was refused for {found} cycles, must be {expected}", found=found, expected=expected)
    wrong.tell(cycle, "{} at cycle {}: {}", gpu, cycle, refused)
    return wrong[0].of("lease_terms", ("a", "b"))


@given(NAMES, NAMES, st.lists(st.integers(0, 10**9), min_size=6, max_size=6))
def test_names_and_numbers_make_no_sort(one: Name, other: Name, n: list[int]) -> None:
    first, second = _found(one, *n[:3]), _found(other, *n[3:])
    assert first.sort == second.sort == "lease_terms: GPU at cycle N: was refused for N cycles, must be N"
    assert (str(first), first.at, first.place) == (f"{one} at cycle {n[2]}: {first.text.values[2]}", n[2], one)
    document = first.to_json()
    assert (document["found"], document["expected"], document["place"]) == (n[0], n[1], str(one))


@given(st.sampled_from([None, True, False]), st.sampled_from([None, True, False]))
def test_what_lasts_is_another_sort_than_what_passes(one: bool | None, other: bool | None) -> None:
    found = [replace(_found(Name("a.1"), 1, 2, 3), lasts=lasts) for lasts in (one, other)]
    assert (found[0].sort == found[1].sort) == (one is other)
    assert [each.to_json()["lasts"] for each in found] == [one, other]


def test_words_do() -> None:
    kinds = {say("{} of {} at {}", word, Name(gpu), 10).kind for word in ("dead", "slow") for gpu in ("a.3", "b.1")}
    assert kinds == {"dead of GPU at N", "slow of GPU at N"}
    assert say("{} waits for {}", Name("a.1-a.2"), Value("1 or 2")).kind == "LINK waits for []"
    assert say("suspects are {}", [1, 2]).kind == "suspects are []"


def test_of_several_statements_the_first_makes_the_sort() -> None:
    count, members = say("count {}, not {}", 5, 6), say("members {}, not {}", [0], [1])
    both = joined([count, members])
    assert both == "count 5, not 6; members [0], not [1]"
    assert both is not None
    assert both.kind == count.kind
    assert joined([]) is None


def test_a_gpu_that_is_told_by_numbers_has_its_name_as_place() -> None:
    found = Finding(say("context {} of {} stays", 2, numbered((1, 3)))).of("memory_isolated", ("a", "west"))
    assert (str(found), found.place) == ("context 2 of GPU 3, card 1 stays", "west.3")
    assert found.sort == "memory_isolated: context N of GPU stays"


def test_a_finding_names_the_line_that_says_it_not_the_one_that_files_it() -> None:
    first = _found(Name("a.1"), 1, 2, 3)
    assert first.source is not None
    file, _, line = first.source.rpartition(":")
    assert Path(file).samefile(__file__)
    assert "was refused for" in Path(file).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def test_a_finding_comes_whole_out_of_another_process() -> None:
    found = _found(Name("a.1"), 1, 2, 3)
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.sort, again.source, again.to_json()) == (found, found.sort, found.source, found.to_json())
