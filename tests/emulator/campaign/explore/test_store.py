"""What was committed is there, once, whatever happens to the file and to those who write it."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.query import Wanted, chosen, find
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.space import Case, Schedule
from ringhil.emulator.campaign.explore.store import Store, StoredCampaign
from ringhil.emulator.scenario import GpuRef, TimelineEvent

CAMPAIGN = StoredCampaign("ring", "sha256:1", "server: {}\n", "sha256:2", "0.3", 7, {"depth": 1}, {"single faults": 3})
RESULT = CaseResult(
    "fail", ("a wrong count", "no end"), "wrong_count", True, False, None, 3, 40, 50, 1.25, "fault dead a.1"
)


def case(number: int, place: str = "a.1", cls: str = "dead") -> Case:
    event = TimelineEvent(1000 + number, "fault", "dead", GpuRef("a", 1), None, 0)
    return Case(f"{number}: {cls} {place} +0 left", cls, place, number, Schedule((event,)))


def stored(path: Path | str, results: dict[int, CaseResult]) -> Store:
    store = Store(path)
    number = store.begin(CAMPAIGN)
    store.add(number, [(n, case(n), result) for n, result in results.items()])
    return store


def test_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    stored(tmp_path / "s", {1: RESULT, 2: CaseResult("pass")}).close()
    with Store(tmp_path / "s", read_only=True) as store:
        assert store.campaigns() == {1: CAMPAIGN}
        first, second = store.rows(1)
        assert (first.result, second.result) == (RESULT, CaseResult("pass"))
        assert (first.number, first.key, first.cls, first.place, first.phase) == (1, case(1).key, "dead", "a.1", 1)
        assert first.schedule == '[{"at": 1001, "fault": "dead", "gpu": "a.1"}]'
        assert store.done(1) == {case(1).key, case(2).key}


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(("version", "newer"), [(1, ("lasts", "sort")), (2, ("lasts",))])
def test_a_store_of_an_earlier_version_is_read(
    tmp_path: Path, version: int, newer: tuple[str, ...], read_only: bool
) -> None:
    """What it lacks, nobody knows; and it goes on."""
    new = replace(RESULT, sort="x", lasts=True)
    store = stored(tmp_path / "s", {1: new})
    for column in newer:
        store._db.execute(f"ALTER TABLE results DROP COLUMN {column}")
    store._db.execute(f"PRAGMA user_version = {version}")
    store.close()
    with Store(tmp_path / "s", read_only=read_only) as again:
        known = {"sort": "", "lasts": None}
        assert [row.result for row in again.rows(1)] == [replace(new, **{name: known[name] for name in newer})]
        if not read_only:
            again.add(1, [(2, case(2), new)])
            assert [row.result for row in again.rows(1, "number = 2")] == [new]


def test_a_result_is_kept_once_and_stays_as_it_was_first() -> None:
    with stored(":memory:", {1: RESULT}) as store:
        store.add(1, [(1, case(1), CaseResult("pass")), (2, case(2), CaseResult("pass"))])
        assert [row.result for row in store.rows(1)] == [RESULT, CaseResult("pass")]


def test_the_same_campaign_goes_on_and_another_one_does_not() -> None:
    with Store(":memory:") as store:
        assert store.begin(CAMPAIGN) == store.begin(CAMPAIGN) == 1
        assert store.begin(CAMPAIGN, fresh=True) == 2
        assert store.begin(CAMPAIGN) == 2
        for change in ({"rtl": "sha256:3"}, {"seed": 8}, {"version": "0.4"}, {"arguments": {"depth": 2}}):
            other = StoredCampaign(**{**vars(CAMPAIGN), **change})
            assert store.begin(other) not in (1, 2)


def test_a_full_store_is_said_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    store = stored(tmp_path / "s", {1: RESULT})
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 2}")

    def fill() -> None:
        for batch in range(100):
            store.add(1, [(n, case(n), RESULT) for n in range(2 + 50 * batch, 52 + 50 * batch)])

    with pytest.raises(ExploreError, match="the disk is full; results up to the last batch are kept"):
        fill()
    whole = [row.number for row in store.rows(1)]
    assert whole == list(range(1, len(whole) + 1))
    assert len(whole) % 50 == 1  # batches are there whole, or not at all
    store.close()
    with Store(tmp_path / "s") as again:
        assert again._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert [row.number for row in again.rows(1)] == whole
        again.add(1, [(900, case(900), RESULT)])


def test_a_killed_writer_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    store = stored(tmp_path / "s", {1: RESULT})
    store._db.execute("BEGIN IMMEDIATE")
    store._db.execute("DELETE FROM results")
    # As after a kill: what is on the disk now, with the log beside it.
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"t{suffix}").write_bytes((tmp_path / f"s{suffix}").read_bytes())
    store._db.execute("ROLLBACK")
    store.close()
    with Store(tmp_path / "t") as killed:
        assert [row.result for row in killed.rows(1)] == [RESULT]


FOREIGN = {
    "text": "this is no database, and longer than the header of one: " + "x" * 100,
    "short": "x",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_sort_is_refused_and_left_alone(tmp_path: Path, name: str) -> None:
    file = tmp_path / "s"
    file.write_text(FOREIGN[name])
    with pytest.raises(ExploreError, match="not a store of campaigns"):
        Store(file)
    assert file.read_text() == FOREIGN[name]
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "s") as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()
    before = (tmp_path / "s").read_bytes()
    for read_only in (False, True):
        with pytest.raises(ExploreError, match="not a store of campaigns"):
            Store(tmp_path / "s", read_only=read_only)
    assert (tmp_path / "s").read_bytes() == before


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    store = stored(tmp_path / "s", {1: RESULT})
    store._db.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(ExploreError, match="a store of version 99; this ringhil reads versions 1 to 3"):
        Store(tmp_path / "s")


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExploreError, match="cannot be opened or made"):
        Store(tmp_path / "none" / "s")
    with pytest.raises(ExploreError, match="it is a folder; name a file"):
        Store(tmp_path)


def test_cases_are_found_by_what_is_asked_for() -> None:
    with stored(":memory:", {}) as store:
        fast = CaseResult("pass", recovery=10, bound=20)
        slow = CaseResult("pass", recovery=30, bound=90)
        cases = [case(1, "a.1"), case(2, "a.2"), case(3, "a.1, a.2", "dead + hang"), case(4, "a.12")]
        store.add(1, list(zip(range(1, 5), cases, (fast, slow, RESULT, CaseResult("pass")), strict=True)))

        def numbers(**wanted: object) -> list[int]:
            return [row.number for row in find(store, 1, Wanted(**wanted))[0]]  # type: ignore[arg-type]

        assert numbers(place="a.1") == [1, 3]
        assert numbers(place="a.2") == [2, 3]
        assert numbers(place="a.*") == [1, 2, 3, 4]
        assert numbers(cls="dead") == [1, 2, 4]
        assert numbers(verdict="fail") == [3]
        assert numbers(key="2: *") == [2]
        assert numbers(order="recovery") == [3, 2, 1, 4]
        assert numbers(order="bound") == [3, 1, 2, 4]
        assert numbers(cls="' OR 1 --") == []
        assert find(store, 1, Wanted(limit=2))[1] == 4
        assert chosen(store, None) == 1
        with pytest.raises(ExploreError, match="no campaign 5; there are 1"):
            chosen(store, 5)
        later = store.begin(CAMPAIGN, fresh=True)
        assert (chosen(store, None), chosen(store, 1)) == (later, 1)
