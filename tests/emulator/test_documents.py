"""Whatever stands in a file that is read back, it is taken or refused in one line, without a traceback."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulator.campaign.explore.reported import PASSED, PLAN, campaign, filled, space
from tests.emulator.coverage.built import unhurried

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.store import Store
from ringhil.emulator.coverage import CoverageError, FunctionalCoverage, waivers
from ringhil.emulator.documents import one

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
COVERAGE = {
    "format": "ringhil functional coverage",
    "version": 1,
    "crosses": [
        {
            "name": "c",
            "axes": [["a", ["x", "y"]], ["b", ["1"]]],
            "ignore": [{"when": [["a", ["y"]]], "reason": "no"}],
            "hits": [[0, 0, 3]],
        }
    ],
}
WAIVERS = {
    "format": waivers.FORMAT,
    "version": waivers.VERSION,
    "waivers": [{"file": "a.sv", "text": "x", "toggle": "now_i", "bits": [4, 5], "reason": "never"}],
}
READERS: list[tuple[Any, Callable[[Path], object]]] = [(COVERAGE, FunctionalCoverage.load), (WAIVERS, waivers.load)]


def places(found: Any) -> list[tuple[Any, Any]]:
    """Every container in a document, with each of its keys."""
    keys = list(found) if isinstance(found, dict) else list(range(len(found))) if isinstance(found, list) else []
    return [(found, key) for key in keys] + [place for key in keys for place in places(found[key])]


def taken_or_refused_in_one_line(path: Path, load: Callable[[Path], object]) -> None:
    said = f"{path}: "
    try:
        load(path)
    except (CoverageError, ExploreError) as error:
        said = str(error)
    assert said.startswith(f"{path}: ")
    assert len(said.splitlines()) == 1


@unhurried
@given(st.data(), st.sampled_from(READERS))
def test_a_document_with_something_else_in_it(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, reader: tuple[Any, Callable[[Path], object]]
) -> None:
    document, path = json.loads(json.dumps(reader[0])), tmp_path_factory.mktemp("spoilt") / "f.json"
    where, key = data.draw(st.sampled_from(places(document)))
    where[key] = data.draw(VALUES)
    path.write_text(json.dumps(document))
    taken_or_refused_in_one_line(path, reader[1])


@unhurried
@given(st.binary(max_size=40), st.sampled_from(READERS), st.integers(0, 200))
def test_bytes_that_were_never_a_document(
    tmp_path_factory: pytest.TempPathFactory,
    noise: bytes,
    reader: tuple[Any, Callable[[Path], object]],
    at: int,
) -> None:
    path = tmp_path_factory.mktemp("noise") / "f.json"
    whole = json.dumps(reader[0]).encode()
    path.write_bytes(whole[:at] + noise + whole[at:])
    taken_or_refused_in_one_line(path, reader[1])


def test_the_documents_that_are_spoilt_above_are_good(tmp_path: Path) -> None:
    for document, load in READERS:
        (tmp_path / "f.json").write_text(json.dumps(document))
        assert load(tmp_path / "f.json")


COLUMNS = [
    *(
        ("results", name)
        for name in ("number", "phase", "schedule", "verdict", "failures", "detected", "recovery", "key")
    ),
    *(("campaigns", name) for name in ("arguments", "space", "seed")),
]


def everything(path: Path) -> object:
    """What a store holds."""
    with Store(path, read_only=True) as store:
        return store.campaigns(), list(store.rows(1))


@pytest.mark.parametrize(("word", "said"), [("election", "an election"), ("statistics", "a statistics")])
def test_words_have_their_article(word: str, said: str) -> None:
    assert one(word) == said


@unhurried
@given(st.data())
def test_a_store_with_something_else_in_it(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("store") / "s.sqlite"
    with Store(path) as store:
        filled(store, campaign(PLAN), [(next(iter(space(PLAN))), PASSED)])
    scalars = st.none() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=9) | st.binary(max_size=9)
    value = data.draw(scalars | VALUES.map(json.dumps))
    table, column = data.draw(st.sampled_from(COLUMNS))
    db = sqlite3.connect(path)
    try:
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))
        db.commit()
    except (sqlite3.Error, UnicodeEncodeError):
        return  # the database itself refuses it
    finally:
        db.close()
    taken_or_refused_in_one_line(path, everything)
