"""The database of loans and usage: which there are, and what is said of one that can't be used."""

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, Table, func, select

from ringhil.emulator.lending.database import METADATA, NAME, LendingDatabase, LendingDatabaseError, open_database

_WORD = Table(
    "test_words", METADATA, Column("place", Integer, primary_key=True, autoincrement=False), Column("word", NAME)
)


def _refused(url: str, make: bool = True) -> str:
    with pytest.raises(LendingDatabaseError) as refused:
        open_database(url, make=make, patience=0.1)
    text = str(refused.value)
    assert text.isprintable()
    return text


def _begin_and_fail(database: LendingDatabase, last: int | None) -> None:
    """A line that is there already, or an error of somebody else's."""
    with database.begin() as connection:
        connection.execute(_WORD.insert().values(place=9, word="lost"))
        if last is None:
            raise ZeroDivisionError
        connection.execute(_WORD.insert().values(place=last, word="is there already"))


def _fill(database: LendingDatabase) -> None:
    with database.begin() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1")
        for place in range(10_000):
            connection.execute(_WORD.insert().values(place=place, word="x" * 60))


def test_a_transaction_counts_whole_or_not_at_all(url: str) -> None:
    words = ["a.3", "A.3", "ä\N{SNOWMAN}", "'; DROP TABLE test_words; --"]
    with open_database(url) as database:
        with database.begin() as connection:
            connection.execute(_WORD.insert(), [{"place": n, "word": word} for n, word in enumerate(words)])
        for last, error in ((None, ZeroDivisionError), (0, LendingDatabaseError)):
            with pytest.raises(error):
                _begin_and_fail(database, last)
    with open_database(url, make=False) as again, again.read() as connection:
        assert connection.execute(select(_WORD.c.word).order_by(_WORD.c.place)).scalars().all() == words
        assert connection.scalar(select(func.count()).where(_WORD.c.word == "a.3")) == 1


def test_who_reads_does_not_wait_for_who_writes(url: str) -> None:
    with open_database(url, patience=0.5) as database, database.begin() as writer:
        writer.execute(_WORD.insert().values(place=1, word="x"))
        with database.read() as reader:
            assert reader.scalar(select(func.count()).select_from(_WORD)) == 0


def test_several_that_open_it_at_once_make_its_tables_once(url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        for database in pool.map(lambda _: open_database(url), range(4)):
            database.close()


def test_who_opens_a_new_file_waits_for_another_who_makes_it(tmp_path: Path) -> None:
    file = tmp_path / "lending.db"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LendingDatabaseError, match=r"database is locked$"):
        open_database(f"sqlite:///{file}", patience=0.2)
    ends = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    ends.start()
    open_database(f"sqlite:///{file}").close()
    ends.join()
    other.close()


@pytest.mark.parametrize(("version", "says"), [(2, "use the ringhil that wrote it"), (0, "begin a new one")])
def test_one_of_another_schema_is_left_as_it_is(tmp_path: Path, version: int, says: str) -> None:
    file = tmp_path / "lending.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE lending_schema (version INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO lending_schema VALUES (?)", (version,))
    for make in (True, False):
        assert _refused(f"sqlite:///{file}", make) == (
            f"sqlite:///{file}: found schema {version}; allowed is 1: {says}"
        )
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("lending_schema",)]


def test_what_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    text, empty, other = tmp_path / "text", tmp_path / "empty", tmp_path / "other.db"
    text.write_text("no database, for sure\n" * 100)
    empty.touch()
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (a)")
    assert _refused(f"sqlite:///{text}").endswith("file is not a database")
    assert _refused(f"sqlite:///{tmp_path}").endswith("unable to open database file")
    assert _refused(f"sqlite:///{tmp_path}/none/x.db").endswith("unable to open database file")
    assert "there is no such file" in _refused(f"sqlite:///{tmp_path}/none.db", make=False)
    assert not (tmp_path / "none.db").exists()
    for file in (empty, other):
        assert "found nothing of ringhil's" in _refused(f"sqlite:///{file}", make=False)
    for url in ("sqlite://", "sqlite:///:memory:"):
        assert "in memory" in _refused(url)


@settings(max_examples=20)
@given(st.text(max_size=40) | st.from_regex(r"(mysql|postgresql|x)(\+[a-z]{1,8})?://[!-~]{0,30}", fullmatch=True))
def test_whatever_url_is_given_is_opened_or_one_line(url: str) -> None:
    if not url.startswith("sqlite"):  # it would make a file
        _refused(url)


@pytest.mark.parametrize("driver", ["mariadb+pymysql", "postgresql+psycopg"])
def test_no_line_has_the_password(driver: str) -> None:
    assert "geheim" not in _refused(f"{driver}://me:geheim@127.0.0.1:1/x?password=geheim")
    assert "geheim" not in _refused("me:geheim@host/x")
    assert "geheim" not in _refused("oracle://me:geheim@host/x")


def test_a_database_that_is_full_or_read_only_says_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lending.db"
    with open_database(url, patience=0.1) as database:
        with pytest.raises(LendingDatabaseError) as full:
            _fill(database)
        assert str(full.value) == f"{url}: database or disk is full"
    with open_database(f"{url}?mode=ro&uri=true".replace("sqlite:///", "sqlite:///file:"), make=False) as database:
        with database.read() as connection:
            assert connection.scalar(select(func.count()).select_from(_WORD)) == 0
        with pytest.raises(LendingDatabaseError, match=r"readonly database$"), database.begin() as connection:
            connection.execute(_WORD.insert().values(place=1, word="x"))


_INSTALL = "install it with: pip install"
_MARIADB, _POSTGRESQL = "mariadb+pymysql://a@b/c", "postgresql+psycopg://a@b/c"


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("hidden", "url", "says"),
    [
        ("pymysql", _MARIADB, f"{_MARIADB}: its driver is missing; install it with: pip install 'pymysql'"),
        (
            "psycopg",
            _POSTGRESQL,
            f"{_POSTGRESQL}: its driver is missing; install it with: pip install 'psycopg[binary]'",
        ),
        ("sqlalchemy", "", "the package sqlalchemy is missing; install it with: pip install 'ringhil[lending]'"),
    ],
)
def test_a_missing_package_is_named(hidden: str, url: str, says: str) -> None:
    """In a process of its own, in which it can't be imported."""
    code = f"import sys\nsys.modules[{hidden!r}] = None\nfrom ringhil.emulator.front.cli.main import main\nmain()"
    words = ("lend", "usage", "--database", url or "sqlite:///x.db")
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"ringhil: {says}\n"
