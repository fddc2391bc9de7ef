"""Campaigns and their results in one sqlite file, which outlives whatever happens to those who write it.

Results are committed in batches; what was committed is there after a kill, a full disk or a power cut, once.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from ringhil.emulator.campaign.explore import ExploreError
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.rows import (
    COLUMNS,
    Row,
    StoredCampaign,
    campaign_of,
    row_of,
    row_values,
    values_of,
)
from ringhil.emulator.campaign.explore.space import Case
from ringhil.emulator.documents import explained
from ringhil.emulator.files import check_file, open_database, reason_of

__all__ = ["Row", "Store", "StoredCampaign"]

VERSION = 3
_ADDED = {1: "sort TEXT NOT NULL DEFAULT ''", 2: "lasts INTEGER"}  # to results, since that version
_MAGIC = b"SQLite format 3\0"
_FOREIGN = "not a store of campaigns; name one that `ringhil explore --store` has made"
_APPLICATION = 0x72696E67  # "ring": says whose file it is
_BUSY = 10.0  # seconds to wait for another writer
_TABLES = """
CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    scenario_hash TEXT NOT NULL,
    scenario TEXT NOT NULL,
    rtl TEXT NOT NULL,
    version TEXT NOT NULL,
    seed INTEGER NOT NULL,
    arguments TEXT NOT NULL,
    space TEXT NOT NULL
);
CREATE TABLE results (
    campaign INTEGER NOT NULL REFERENCES campaigns(id),
    number INTEGER NOT NULL,
    key TEXT NOT NULL,
    class TEXT NOT NULL,
    place TEXT NOT NULL,
    phase INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    schedule TEXT NOT NULL,
    verdict TEXT NOT NULL,
    failures TEXT NOT NULL,
    violated TEXT,
    detected INTEGER,
    located INTEGER,
    recovered INTEGER,
    detection INTEGER,
    recovery INTEGER,
    bound INTEGER,
    transits REAL,
    slowest TEXT,
    cycles INTEGER,
    until INTEGER,
    sort TEXT NOT NULL DEFAULT '',
    lasts INTEGER,
    PRIMARY KEY (campaign, key)
) WITHOUT ROWID;
"""


class Store:
    """The results of campaigns, in a file.

    The file at `path`, made when it is not there, or `:memory:`. One writer at a time; any number of readers.

    Raises ExploreError when it can't be used, or written any more. What it held then, it holds still.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False) -> None:
        self.path = str(path)
        self._columns = COLUMNS
        self._within = False  # a transaction that takes others in
        with self._explained():
            self._refuse_foreign()
            self._db = self._open(read_only)
            try:
                self._check(read_only)
            except BaseException:
                self._db.close()
                self._remove_empty()
                raise

    def _refuse_foreign(self) -> None:
        """Sqlite would take a file that is shorter than its header for an empty one, and write to it."""
        path = Path(self.path)
        try:
            check_file(path)
        except OSError as error:
            raise ExploreError(f"{self.path}: {reason_of(error)}") from None
        try:
            with path.open("rb") as file:
                found = file.read(len(_MAGIC))
        except OSError:
            return  # not there yet; or sqlite says what is wrong with it
        if found not in (b"", _MAGIC):
            raise ExploreError(f"{self.path}: {_FOREIGN}")

    def _remove_empty(self) -> None:
        """What a disk that is full has left of a store that was to be made: opened again, it would be one."""
        with suppress(OSError):
            if Path(self.path).stat().st_size == 0:
                Path(self.path).unlink()

    def _open(self, read_only: bool) -> sqlite3.Connection:
        if not read_only:
            return open_database(self.path, patience=_BUSY)
        db = open_database(self.path, "mode=ro", patience=_BUSY)
        try:
            db.execute("PRAGMA schema_version")
        except sqlite3.OperationalError:
            # Where nothing may be written, a file that nobody writes to can be read all the same.
            db.close()
            db = open_database(self.path, "immutable=1")
        return db

    def _check(self, read_only: bool) -> None:
        number = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        empty = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if number == 0 and empty and not read_only:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._write(
                _TABLES.split(";"), f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {VERSION}"
            )
        elif number != _APPLICATION:
            raise ExploreError(f"{self.path}: {_FOREIGN}")
        elif version in _ADDED and read_only:
            self._columns = COLUMNS.replace("lasts", "NULL AS lasts")
            if version == 1:
                self._columns = self._columns.replace("sort", "'' AS sort")
        elif version in _ADDED:
            added = [f"ALTER TABLE results ADD COLUMN {what}" for since, what in _ADDED.items() if since >= version]
            self._write(added, f"PRAGMA user_version = {VERSION}")
        elif version != VERSION:
            raise ExploreError(f"{self.path}: a store of version {version}; this ringhil reads versions 1 to {VERSION}")
        if not read_only:
            self._db.execute("PRAGMA synchronous = NORMAL")

    def _write(self, tables: Iterable[str], *more: str) -> None:
        with self._transaction():
            for statement in (*tables, *more):
                self._db.execute(statement)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._within:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """What is written within is kept as a whole, or not at all."""
        with self._explained(), self._transaction():
            self._within = True
            try:
                yield
            finally:
                self._within = False

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ExploreError(f"{self.path}: {_reason(error)}") from error
        except ValidationError as error:
            raise ExploreError(f"{self.path}: spoilt: {explained(error)}") from None

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    # ----------------------------------------------------------------------------------------------- campaigns

    def begin(self, campaign: StoredCampaign, *, fresh: bool = False) -> int:
        """Number of a campaign: the last one with the same cases on the same RTL goes on, unless `fresh`."""
        arguments = json.dumps(campaign.arguments, sort_keys=True)
        same = (campaign.scenario_hash, campaign.rtl, campaign.version, campaign.seed, arguments)
        with self._explained(), self._transaction():
            found = self._db.execute(
                "SELECT max(id) FROM campaigns "
                "WHERE scenario_hash = ? AND rtl = ? AND version = ? AND seed = ? AND arguments = ?",
                same,
            ).fetchone()[0]
            if found is not None and not fresh:
                return int(found)
            return int(
                self._db.execute(
                    "INSERT INTO campaigns (scenario_hash, rtl, version, seed, arguments, name, scenario, space) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                    (*same, campaign.name, campaign.scenario, json.dumps(campaign.space)),
                ).fetchone()[0]
            )

    def campaigns(self) -> dict[int, StoredCampaign]:
        """All campaigns by number."""
        columns = "id, name, scenario_hash, scenario, rtl, version, seed, arguments, space"
        with self._explained():
            rows = self._db.execute(f"SELECT {columns} FROM campaigns ORDER BY id").fetchall()
            return {number: campaign_of(values) for number, *values in rows}

    # ------------------------------------------------------------------------------------------------- results

    def done(self, campaign: int) -> set[str]:
        """Keys of the cases that have a result."""
        with self._explained():
            rows = self._db.execute("SELECT key FROM results WHERE campaign = ?", (campaign,))
            return {key for (key,) in rows}

    def add(self, campaign: int, results: Iterable[tuple[int, Case, CaseResult]]) -> None:
        """Keep results, all of them or none; one that is there already stays as it is."""
        rows = [(campaign, *row_values(number, case, result)) for number, case, result in results]
        marks = ", ".join("?" * (1 + len(COLUMNS.split(","))))
        with self._explained(), self._transaction():
            self._db.executemany(f"INSERT OR IGNORE INTO results (campaign, {COLUMNS}) VALUES ({marks})", rows)

    def add_rows(self, campaign: int, rows: Iterable[Row]) -> str | None:
        """The same of results of another store. Key of the first one that is there already, and otherwise."""
        marks = ", ".join("?" * (1 + len(COLUMNS.split(","))))
        insert = f"INSERT OR IGNORE INTO results (campaign, {COLUMNS}) VALUES ({marks})"
        with self._explained(), self._transaction():
            for row in rows:
                if self._db.execute(insert, (campaign, *values_of(row))).rowcount == 0:
                    (there,) = self.rows(campaign, "key = ?", (row.key,))
                    if there != row:
                        return row.key
        return None

    def rows(
        self, campaign: int, where: str = "", values: tuple[object, ...] = (), order: str = "number", limit: int = -1
    ) -> Iterator[Row]:
        """Results of a campaign. `where` and `order` are SQL over the columns, never a user's words; -1: no limit."""
        condition = f"AND ({where})" if where else ""
        question = f"SELECT {self._columns} FROM results WHERE campaign = ? {condition} ORDER BY {order} LIMIT ?"
        with self._explained():
            for row in self._db.execute(question, (campaign, *values, limit)):
                yield row_of(row)

    def count(self, campaign: int, where: str = "", values: tuple[object, ...] = ()) -> int:
        """Number of such results."""
        condition = f"AND ({where})" if where else ""
        with self._explained():
            question = f"SELECT count(*) FROM results WHERE campaign = ? {condition}"
            return int(self._db.execute(question, (campaign, *values)).fetchone()[0])


def _reason(error: sqlite3.Error) -> str:
    text = str(error)
    known = {
        "unable to open database file": "cannot be opened or made; name a file in a folder that can be written to",
        "file is not a database": _FOREIGN,
        "database or disk is full": "the disk is full; results up to the last batch are kept, the same command goes on",
        "disk I/O error": "cannot be written any more; results up to the last batch are kept, the same command goes on",
        "attempt to write a readonly database": "cannot be written to; name a file that may be",
        "database is locked": "another process is writing to it",
    }
    return known.get(text, text)
