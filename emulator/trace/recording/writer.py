"""Writes a recording. What has been written is there in batches, also when the writer is killed; the same run gives the
same file, byte for byte."""

import hashlib
import json
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ringhil.emulator.files import AtomicFile, check_file, open_database, reason_of
from ringhil.emulator.trace.recorder import RecordingError, Seen
from ringhil.emulator.trace.recording.tables import APPLICATION, INDEXES, MAGIC, TABLES, VERSION, WAYS, About

BATCH = 8192  # rows
_JOURNAL = "-journal"  # what SQLite keeps beside a file while it writes it
_HEADER, _OWNER = 100, slice(68, 72)  # of a file of SQLite's: bytes, and those that say whose it is
_WAY = {name: number for number, name in enumerate(WAYS)}
_HEAD = struct.Struct("<QIBBBI")


def fields_as_text(fields: dict[str, Any]) -> str:
    """As a recording keeps them: JSON."""
    return json.dumps(fields, separators=(",", ":"))


class Chain:
    """A hash of all that has happened, as far as it has come; each state goes into all that follow."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def copy(self) -> "Chain":
        """As far as it has come; from now on either goes on alone."""
        found = Chain()
        found._hash = self._hash.copy()
        return found

    def message(self, cycle: int, cell: int, way: int, port: int, bad: bool, frame: bytes) -> None:
        """One more."""
        self._hash.update(_HEAD.pack(cycle, cell, way, port, bad, len(frame)))
        self._hash.update(frame)

    def event(self, cycle: int, cell: int | None, kind: str, fields: str) -> None:
        """One more."""
        self._hash.update(f"{cycle} {cell} {kind} {fields}\n".encode())

    def state(self, cycle: int, state: bytes) -> bytes:
        """The hash with the state of all hardware in a cycle."""
        self._hash.update(cycle.to_bytes(8, "little") + state)
        return self._hash.digest()


class RecordingWriter:
    """Grows at `path`, from the beginning; a recording that stood there is gone. Call `end` when the run is over;
    without that it is one that breaks off. `batch`: so many rows are written together. Raises RecordingError."""

    def __init__(self, path: Path, about: About, gpus: Sequence[str], *, batch: int = BATCH) -> None:
        self._path, self._chain, self._batch = path, Chain(), batch
        self._messages: list[tuple[int, int, int, int, int, bool, int, bytes]] = []
        self._events: list[tuple[int, int, int | None, str, str]] = []
        self._states: list[tuple[int, int, bytes]] = []
        self._outside: list[tuple[str]] = []
        self._number = 0
        with self._explained():
            _check_replaced(path)
            # Beside its place: a disk without room for the beginning costs no recording of before.
            with AtomicFile(path, binary=True, beside=(_JOURNAL,)) as draft:
                draft.partial.touch(exist_ok=False)  # what forbids it is told in the system's words, not in SQLite's
                with closing(self._open(draft.partial)) as db:
                    _begin(db, about, gpus)
                Path(f"{os.path.realpath(path)}{_JOURNAL}").unlink(missing_ok=True)  # it would be played back
                draft.commit()
            self._db = self._open(path)

    @staticmethod
    def _open(path: Path) -> sqlite3.Connection:
        db = open_database(path)
        db.execute("PRAGMA synchronous = OFF")  # the system's crash may cost the last batches; one of ours costs none
        return db

    def go_on(self, source: Path, number: int, chain: Chain, cycle: int) -> None:
        """Begin with what another recording has up to this number, and states before a cycle; `chain`: what it has come
        to there."""
        self._number, self._chain = number, chain
        with self._explained():
            self._db.execute("ATTACH ? AS source", (str(source),))
            self._db.execute("BEGIN")
            for table in ("messages", "events"):
                self._db.execute(f"INSERT INTO {table} SELECT * FROM source.{table} WHERE number <= ?", (number,))
            # Nothing may have happened between the number and a state that is still to come.
            self._db.execute("INSERT INTO states SELECT * FROM source.states WHERE cycle < ?", (cycle,))
            self._db.execute(
                "INSERT INTO outside SELECT * FROM source.outside WHERE json_extract(fields, '$.cycle') < ?", (cycle,)
            )
            self._db.execute("COMMIT")
            self._db.execute("DETACH source")

    def message(self, seen: Seen) -> None:
        """A frame on its way between hardware and Python."""
        frame, way = seen.frame, _WAY[seen.WAY]
        self._number += 1
        row = (self._number, seen.cycle, seen.cell, way, seen.port, seen.bad, frame[0] if frame else 0, frame)
        self._messages.append(row)
        self._chain.message(seen.cycle, seen.cell, way, seen.port, seen.bad, frame)
        if len(self._messages) >= self._batch:
            self._flush()

    def event(self, cycle: int, cell: int | None, kind: str, fields: dict[str, Any]) -> None:
        """Something that was said or done: by the firmware of a GPU, or at one; `cell` None: by the CPU, or a file."""
        text = fields_as_text(fields)
        self._number += 1
        self._events.append((self._number, cycle, cell, kind, text))
        self._chain.event(cycle, cell, kind, text)
        if len(self._events) >= self._batch:
            self._flush()

    def outside(self, fields: dict[str, Any]) -> None:
        """What came from outside, with its `cycle` and, of boards and hardware, `gpu`."""
        self._outside.append((fields_as_text(fields),))
        if len(self._outside) >= self._batch:
            self._flush()

    def state(self, cycle: int, state: bytes) -> None:
        """How all hardware is in a cycle."""
        self._states.append((cycle, self._number, self._chain.state(cycle, state)))

    def save(self) -> None:
        """What has happened until now is in the file."""
        if self._messages or self._events or self._states or self._outside:
            self._flush()

    def _flush(self) -> None:
        with self._explained():
            self._db.execute("BEGIN")
            self._db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._messages)
            self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", self._events)
            self._db.executemany("INSERT INTO states VALUES (?, ?, ?)", self._states)
            self._db.executemany("INSERT INTO outside (fields) VALUES (?)", self._outside)
            self._db.execute("COMMIT")
        self._messages.clear()
        self._events.clear()
        self._states.clear()
        self._outside.clear()

    def end(self, outcome: dict[str, Any]) -> None:
        """The run is over, and this came of it."""
        self._flush()
        with self._explained():
            self._db.execute("BEGIN")
            for statement in INDEXES.split(";"):
                self._db.execute(statement)
            self._db.execute("UPDATE about SET outcome = ?", (json.dumps(outcome, separators=(",", ":")),))
            self._db.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RecordingError(f"{self._path}: cannot be written: {reason_of(error)}") from None
        except sqlite3.Error as error:
            moved = error.sqlite_errorcode == sqlite3.SQLITE_READONLY_DBMOVED
            why = "something else has put its own file there; name another one" if moved else str(error)
            raise RecordingError(f"{self._path}: cannot be written: {why}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """What has happened until now stays, whatever has ended it."""
        try:
            self.save()
        except RecordingError:
            if error is None:
                raise
        finally:
            self._db.close()


def _check_replaced(path: Path) -> None:
    """Only what is a recording, or empty, is replaced. Raises OSError."""
    check_file(path)
    if path.exists():
        with path.open("rb") as file:
            head = file.read(_HEADER)
        if head and (head[: len(MAGIC)] != MAGIC or head[_OWNER] != APPLICATION.to_bytes(4)):
            raise OSError(0, "it is a file that is no recording; name another")


def _begin(db: sqlite3.Connection, about: About, gpus: Sequence[str]) -> None:
    for pragma in ("page_size = 8192", f"application_id = {APPLICATION}"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("BEGIN")
    for statement in TABLES.split(";"):
        db.execute(statement)
    db.execute("INSERT INTO about VALUES (?, NULL)", (about.model_dump_json(),))
    db.executemany("INSERT INTO gpus VALUES (?, ?)", enumerate(gpus))
    db.executemany("INSERT INTO ways VALUES (?, ?)", enumerate(WAYS))
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")
