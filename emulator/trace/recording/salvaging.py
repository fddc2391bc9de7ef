"""What is left of a recording that was cut off, by a disk that was full or a copy that broke off: all rows up to the
first one that isn't there, as a recording that breaks off.

A file of SQLite's says at its beginning how long it is. A copy that is filled up with zeros to that length can be read
up to the first row whose page is missing.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ringhil.emulator.files import open_database
from ringhil.emulator.trace.recording.tables import INDEXES, TABLES

_HEADER, _PAGE_SIZE, _PAGES = 100, slice(16, 18), slice(28, 32)  # of a file of SQLite's, in bytes
_Row = tuple[Any, ...]


def salvaged(path: Path, folder: Path) -> Path | None:
    """A new recording in `folder`; None: this one wasn't cut off, or not even what was run is there."""
    page, pages = _pages(path)
    there = path.stat().st_size
    if there >= page * pages:
        return None
    filled, found = folder / "filled", folder / "found"
    try:
        shutil.copyfile(path, filled)
        os.truncate(filled, there - there % page)  # of a page nothing counts that isn't whole
        os.truncate(filled, page * pages)
        with (
            closing(open_database(filled)) as source,
            closing(open_database(found)) as target,
        ):
            source.execute("PRAGMA trusted_schema = OFF")
            _copy(source, target)
    except (OSError, sqlite3.Error, UnicodeDecodeError):
        return None
    finally:
        filled.unlink(missing_ok=True)
    return found


def _pages(path: Path) -> tuple[int, int]:
    """The size of the pages of a file of SQLite's, and how many it says to have."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    size = int.from_bytes(header[_PAGE_SIZE])
    return 65_536 if size == 1 else size, int.from_bytes(header[_PAGES])


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    gpus, ways = (source.execute(f"SELECT * FROM {table}").fetchall() for table in ("gpus", "ways"))
    about = source.execute("SELECT header FROM about").fetchall()  # what came of it is written last
    last = min(_last(source, "messages"), _last(source, "events"))
    for whose in ("application_id", "user_version"):
        target.execute(f"PRAGMA {whose} = {source.execute(f'PRAGMA {whose}').fetchone()[0]}")
    target.execute("BEGIN")
    for statement in TABLES.split(";"):
        target.execute(statement)
    target.executemany("INSERT INTO about VALUES (?, NULL)", about)
    target.executemany("INSERT INTO gpus VALUES (?, ?)", gpus)
    target.executemany("INSERT INTO ways VALUES (?, ?)", ways)
    until = _known_outside(source)
    for table, number, cycle, columns in (("messages", 0, 1, 8), ("events", 0, 1, 5), ("states", 1, 0, 3)):
        rows = (row for row in _rows(source, table) if row[number] <= last and row[cycle] < until)
        target.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", rows)
    target.executemany("INSERT INTO outside VALUES (?, ?)", _rows(source, "outside"))
    for statement in INDEXES.split(";"):
        target.execute(statement)
    target.execute("COMMIT")


def _last(source: sqlite3.Connection, table: str) -> float:
    """The number up to which nothing is missing."""
    last = 0
    try:
        for row in source.execute(f"SELECT number FROM {table} NOT INDEXED ORDER BY number"):
            last = row[0]
    except sqlite3.DatabaseError:
        return last
    return float("inf")


def _known_outside(source: sqlite3.Connection) -> float:
    """The cycle before which all that came from outside is known."""
    if _last(source, "outside") == float("inf"):
        return float("inf")
    cycle = 0
    for _, fields in _rows(source, "outside"):
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            cycle = max(cycle, int(json.loads(fields)["cycle"]))
    return cycle


def _rows(source: sqlite3.Connection, table: str) -> Iterator[_Row]:
    """In their order, up to the first one that isn't there."""
    try:
        yield from source.execute(f"SELECT * FROM {table} ORDER BY 1")
    except sqlite3.DatabaseError:
        return
