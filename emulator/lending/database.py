"""Where loans and usage are kept: SQLite, MariaDB or PostgreSQL, by URL.

| URL | database |
|---|---|
| `sqlite:///lending.db` | a file, made when it isn't there; four slashes: an absolute path |
| `mariadb+pymysql://USER:PASSWORD@HOST/NAME` | MariaDB; `mysql+pymysql:` is the same |
| `postgresql+psycopg://USER:PASSWORD@HOST/NAME` | PostgreSQL |

Each module puts its tables on `METADATA` when it is imported; `open_database` makes those that aren't there. A change
of what a table holds makes `SCHEMA` one more. Importing this needs SQLAlchemy, and says so in one line without it.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from ringhil.emulator.errors import RinghilError, printable

SCHEMA = 1
PATIENCE = 5.0  # seconds that a statement waits for other writers, and a server's answer
_AGAIN = 0.05  # seconds
_MOST = 200  # characters of a driver's words
_MOST_URL = 2000
_ALLOWED = "sqlite:///FILE, mariadb+pymysql://USER:PASSWORD@HOST/NAME or postgresql+psycopg://USER:PASSWORD@HOST/NAME"
_DIALECTS = ("sqlite", "mysql", "mariadb", "postgresql")


class LendingDatabaseError(RinghilError, OSError):
    """A database that can't be opened, read or written, or isn't one of ours: one line, without its password."""


try:
    from sqlalchemy import (
        Column,
        Connection,
        Engine,
        Integer,
        MetaData,
        String,
        Table,
        Text,
        create_engine,
        event,
        select,
    )
    from sqlalchemy.dialects.mysql import MEDIUMTEXT, VARCHAR
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError
except ImportError:
    raise LendingDatabaseError(
        "the package sqlalchemy is missing; install it with: pip install 'ringhil[lending]'"
    ) from None

METADATA = MetaData()
NAME_LENGTH = 64
# For columns: a name as it is. MariaDB would take `a.3` and `A.3` for one.
NAME = String(NAME_LENGTH).with_variant(VARCHAR(NAME_LENGTH, collation="utf8mb4_bin"), "mysql", "mariadb")
DOCUMENT = Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")  # up to 16 MB
_SCHEMA = Table("lending_schema", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))


class LendingDatabase:
    """One that is open. `name`: its URL as people are told it, without the password. `engine`: SQLAlchemy's. May be
    used from several threads: a connection belongs to who asked for it."""

    def __init__(self, url: URL, patience: float) -> None:
        """Opens nothing yet. `patience`: seconds. Raises LendingDatabaseError for a driver that isn't there."""
        self._url, self._patience = url, patience
        self._is_file = url.get_backend_name() == "sqlite"
        self.name = url.set(query={}).render_as_string(hide_password=True)
        self.engine = self._engine(patience)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction that writes: all of it counts when the block ends well, nothing otherwise. Raises
        LendingDatabaseError."""
        with self._transaction(reads=False) as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One that only reads: it sees one state, and keeps no writer of SQLite's waiting. Raises
        LendingDatabaseError."""
        with self._transaction(reads=True) as connection:
            yield connection

    def close(self) -> None:
        """Closes its connections; it may be used again."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self, *, make: bool) -> None:
        """Checks the schema; `make`: and makes what isn't there. Raises LendingDatabaseError."""
        file = self._url.database or ""
        if not (make or file.startswith("file:") or not self._is_file or Path(file).exists()):
            raise LendingDatabaseError(f"{self.name}: there is no such file; ringhil lend serve makes it")
        until = time.monotonic() + self._patience
        while True:
            try:
                return self._prepare(make)
            except SQLAlchemyError as error:
                # On a server another process may make the same tables at this moment.
                if not make or self._is_file or time.monotonic() > until:
                    raise LendingDatabaseError(f"{self.name}: {self._reason(error)}") from None
            time.sleep(_AGAIN)

    def _prepare(self, make: bool) -> None:
        with self._connect() as connection, connection.execution_options(ringhil_reads=not make).begin():
            there = connection.dialect.has_table(connection, _SCHEMA.name)
            found = connection.execute(select(_SCHEMA.c.version)).scalars().all() if there else []
            if found and max(found) != SCHEMA:
                how = "use the ringhil that wrote it" if max(found) > SCHEMA else "begin a new one"
                raise LendingDatabaseError(f"{self.name}: found schema {max(found)}; allowed is {SCHEMA}: {how}")
            if make:
                METADATA.create_all(connection)
                if not found:
                    connection.execute(_SCHEMA.insert().values(version=SCHEMA))
            elif not found:
                raise LendingDatabaseError(f"{self.name}: found nothing of ringhil's; ringhil lend serve puts it there")

    def _connect(self) -> Connection:
        try:
            return self.engine.connect()
        except (SQLAlchemyError, OSError, RuntimeError, ValueError) as error:  # drivers don't keep to their own
            raise LendingDatabaseError(f"{self.name}: {self._reason(error)}") from None

    @contextmanager
    def _transaction(self, *, reads: bool) -> Iterator[Connection]:
        with self._connect() as connection:
            try:
                with connection.execution_options(ringhil_reads=reads).begin():
                    yield connection
            except SQLAlchemyError as error:
                raise LendingDatabaseError(f"{self.name}: {self._reason(error)}") from None

    def _engine(self, patience: float) -> Engine:
        backend, driver = self._url.get_backend_name(), self._url.get_driver_name()
        more: dict[str, Any] = {}
        if backend == "sqlite":
            more["timeout"] = patience
        elif driver == "pymysql":
            more |= dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), patience)
        elif driver == "psycopg":
            more |= {"connect_timeout": max(2, round(patience)), "tcp_user_timeout": round(1000 * patience)}
        try:
            engine = create_engine(self._url, connect_args=more, pool_pre_ping=backend != "sqlite")
        except ImportError:
            package = {"psycopg": "psycopg[binary]"}.get(driver, driver)
            raise LendingDatabaseError(
                f"{self.name}: its driver is missing; install it with: pip install {package!r}"
            ) from None
        except (SQLAlchemyError, TypeError, ValueError) as error:
            raise LendingDatabaseError(f"{self.name}: {self._reason(error)}; allowed is {_ALLOWED}") from None
        if backend == "sqlite":
            event.listen(engine, "connect", partial(_connected, patience))
            event.listen(engine, "begin", _begun)
        return engine

    def _reason(self, error: Exception) -> str:
        """A driver's own words, on one line and without the password."""
        cause: object = getattr(error, "orig", None) or error
        words: tuple[Any, ...] = getattr(cause, "args", ())
        text = str(words[1] if len(words) == 2 and isinstance(words[0], int) else cause)  # PyMySQL: (number, text)
        first = next((line.strip() for line in text.splitlines() if line.strip()), type(cause).__name__)
        if self._url.password:
            first = first.replace(str(self._url.password), "***")
        return printable(first[:_MOST])


def open_database(url: str, *, make: bool = True, patience: float = PATIENCE) -> LendingDatabase:
    """The database at `url`, with all tables of `METADATA`; without `make` one that has them already, which may be
    read-only. `patience`: seconds to wait for another writer, or for a server's answer. Raises LendingDatabaseError,
    one line without the password."""
    try:
        parsed = make_url(url[:_MOST_URL])
    except (ArgumentError, ValueError):
        raise LendingDatabaseError(f"database: found {_shown(url)!r}; allowed is {_ALLOWED}") from None
    if parsed.get_backend_name() not in _DIALECTS:
        raise LendingDatabaseError(f"database: found {parsed.drivername!r}; allowed is {_ALLOWED}")
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise LendingDatabaseError(f"database: found {parsed.drivername}: in memory; allowed is {_ALLOWED}")
    database = LendingDatabase(parsed, patience)
    try:
        database.prepare(make=make)
    except LendingDatabaseError:
        database.close()
        raise
    return database


def _shown(text: str) -> str:
    """What is no URL, without what could be a password."""
    before, at, after = text.rpartition("@")
    return (before.split(":")[0] + ":***@" + after if at else text)[:40]


def _connected(patience: float, connection: Any, _: object) -> None:
    """Of SQLite: readers don't wait for a writer, and what was committed outlives a loss of power."""
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            break
        except sqlite3.OperationalError as error:
            # SQLite doesn't wait by itself for somebody else who does the same to a new file.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_AGAIN)
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begun(connection: Connection) -> None:
    reads = connection.get_execution_options().get("ringhil_reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
