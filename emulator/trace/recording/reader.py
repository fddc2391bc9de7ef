"""Reads a recording: by number, by cycle, by kind, with little memory however long it is."""

import json
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from heapq import merge
from itertools import chain, zip_longest
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from ringhil.emulator.children import made_folder, remove_folder
from ringhil.emulator.documents import explained
from ringhil.emulator.files import open_database, open_input, reason_of
from ringhil.emulator.trace.recorder import FORMAT, RecordingError
from ringhil.emulator.trace.recording.salvaging import salvaged
from ringhil.emulator.trace.recording.tables import APPLICATION, MAGIC, VERSIONS, WAYS, About

_LAST = 2**63 - 1
_PAGE = 1000  # rows
# Types of the rows; a damaged file may have any.
_MESSAGE = (int, int, int, int, int, int, int, bytes)
_EVENT = ((int, int, int, str, str), (int, int, type(None), str, str))
_STATE = (int, int, bytes)
_KEYS = {"messages": "number", "events": "number", "states": "cycle", "outside": "number"}
_number = attrgetter("number")
_LINES = f'{{"format":"{FORMAT}"'.encode()  # longer than MAGIC
_ANEW = "record the run anew: `ringhil run SERVER.yaml --record FILE.rec`"
_WANTED = "name a file that `ringhil run --record` or `serve --record` has made"


class RecordedMessage(NamedTuple):
    """A frame in a recording.

    A frame, as `events.hardware.FrameSeen` has it; `way`: a number of `tables.WAYS`, `kind`: its first byte.
    """

    number: int
    cycle: int
    cell: int
    way: int
    port: int
    bad: int
    kind: int
    frame: bytes


class RecordedEvent(NamedTuple):
    """An event in a recording.

    What was said or done; `cell` None: by the CPU, or a file. `fields`: JSON.
    """

    number: int
    cycle: int
    cell: int | None
    kind: str
    fields: str

    @property
    def said(self) -> dict[str, Any]:
        """Its fields by name. `peer`: the GPU that it speaks of, as `gpu` is everywhere the one where it was said."""
        found: dict[str, Any] = json.loads(self.fields)
        here = self.cell is not None
        return {"peer" if name == "gpu" and here else name: value for name, value in found.items()}


class RecordedState(NamedTuple):
    """The hash of all that had happened before a cycle, up to `number`, and of all hardware in it."""

    cycle: int
    number: int
    hash: bytes


class Recording:
    """Reads a recording: messages, events and states.

    The file at `path`; one that was cut off breaks off with the last row before which nothing is missing. Raises
    RecordingError for what is none; while it is read, where it is damaged. `file`: what is read.
    """

    @staticmethod
    def is_one(path: Path) -> bool:
        """Whether a file begins as a recording does. Raises RecordingError, also for one as JSON lines, which is what
        0.4 wrote: it holds the frames alone."""
        try:
            with open_input(path) as file:
                head = file.read(len(_LINES))
                if head == _LINES:
                    raise RecordingError(f"{path}: is a recording as JSON lines, for reading alone; {_ANEW}")
                return head.startswith(MAGIC)
        except OSError as error:
            raise RecordingError(f"{path}: cannot be read: {reason_of(error)}") from None

    def __init__(self, path: Path) -> None:
        self.path, self.file, self._process = path, path, os.getpid()
        self._inherited: list[sqlite3.Connection] = []
        self._forget: Callable[[], object] = lambda: None  # the copy that is read of one that was cut off
        if not self.is_one(path):
            raise RecordingError(f"{path}: is no recording; {_WANTED}")
        try:
            self._begin()
        except RecordingError:
            if not self._salvage():
                raise
            self._begin()

    def _begin(self) -> None:
        with self._sound():
            self._db = self._open()
        try:
            with self._sound():
                self._read_head()
        except BaseException:
            self._db.close()
            raise

    def _salvage(self) -> bool:
        """Whether something is left of a file that was cut off."""
        folder = made_folder("ringhil-cut-")
        self._forget = weakref.finalize(self, _remove, folder, os.getpid())
        found = salvaged(self.path, Path(folder))
        if found is None:
            self._forget()
            return False
        self.file = found
        return True

    def _open(self) -> sqlite3.Connection:
        """To be read only; one whose writer was killed in the middle of a batch is put in order first."""
        journal = Path(f"{self.file}-journal").exists()
        db = open_database(self.file, "mode=rw" if journal else "mode=ro")
        db.execute("PRAGMA trusted_schema = OFF")
        return db

    def _read_head(self) -> None:
        number = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if number != APPLICATION:
            raise RecordingError(f"{self.path}: is no recording; {_WANTED}")
        if version not in VERSIONS:
            read = ", ".join(map(str, VERSIONS))
            raise RecordingError(f"{self.path}: is version {version} of the format; this program reads {read}")
        header, outcome = self._db.execute("SELECT header, outcome FROM about").fetchone() or (None, None)
        try:
            self.about = About.model_validate_json(header or "")
        except ValidationError as error:
            raise RecordingError(f"{self.path}: about: {explained(error)}") from None
        self.outcome: dict[str, Any] | None = self._document(outcome)
        names = [name for (name,) in self._db.execute("SELECT name FROM gpus ORDER BY cell")]
        if not all(isinstance(name, str) and name.isprintable() for name in names):
            raise RecordingError(f"{self.path}: gpus: found {names!r}"[:200])
        self.gpus: list[str] = names

    def _document(self, text: object) -> dict[str, Any] | None:
        """What came of the run; None: the recording breaks off."""
        found = None if text is None else self._json(text)
        if text is not None and found is None:
            raise RecordingError(f"{self.path}: about: outcome: found {str(text)[:48]!r}; wanted is a JSON document")
        return found

    @staticmethod
    def _json(text: object) -> dict[str, Any] | None:
        try:
            found = json.loads(str(text))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    @property
    def cut_off(self) -> bool:
        """Whether the file is shorter than it says to be: what is missing had been there."""
        return self.file != self.path

    @property
    def complete(self) -> bool:
        """Whether the run came to its end; otherwise it was killed, or has not ended yet."""
        return self.outcome is not None

    def over(self) -> bool:
        """Whether the run has come to its end by now, while `outcome` is that of when the file was opened."""
        return bool(self._one("SELECT outcome IS NOT NULL FROM about"))

    def follow(self, wait: Callable[[], bool]) -> Iterator[RecordedMessage | RecordedEvent]:
        """Messages and events as they are written, until the run is over, or until `wait` says that nobody wants more;
        it is called whenever all that is there has been given. Raises RecordingError where it is damaged."""
        done = 0
        while True:
            over = self.over()
            # A batch is there whole or not at all, so all before a number that is there is there, too.
            last = self.last_number
            yield from self.all(done + 1, last)
            done = last
            if over or not wait():
                return

    def __len__(self) -> int:
        """The number of messages."""
        return int(self._one("SELECT count(*) FROM messages") or 0)

    @property
    def last_cycle(self) -> int:
        """The last one of which anything is told."""
        columns = (f"SELECT cycle FROM {table} ORDER BY number DESC LIMIT 1" for table in ("messages", "events"))
        return max(int(self._one(column) or 0) for column in columns)

    @property
    def last_number(self) -> int:
        """Of messages and events."""
        columns = (f"SELECT max(number) FROM {table}" for table in ("messages", "events"))
        return max(int(self._one(column) or 0) for column in columns)

    def at(self, cycle: int) -> RecordedMessage | RecordedEvent | None:
        """The last message or event of this cycle, or before it. Raises RecordingError where it is damaged."""
        number = 0
        for table in ("messages", "events"):
            number = max(number, self._last_before(table, cycle))
        return next(self.all(number, number), None)

    def _last_before(self, table: str, cycle: int) -> int:
        """Number of the last row of a cycle or before: numbers rise with cycles, so it is looked for by halves."""
        low, high = 0, int(self._one(f"SELECT max(number) FROM {table}") or 0)
        while low < high:
            middle = (low + high + 1) // 2
            with self._sound():
                row = self._db.execute(
                    f"SELECT number, cycle FROM {table} WHERE number <= ? ORDER BY number DESC LIMIT 1", (middle,)
                ).fetchone()
            if row is not None and not isinstance(row[1], int):
                raise self._no_row(table.removesuffix("s"), row)
            if row is None or row[1] <= cycle:
                low = middle
            else:
                high = row[0] - 1
        row_number = self._one(f"SELECT max(number) FROM {table} WHERE number <= {low}")
        return int(row_number or 0)

    def messages(self, first: int = 0, last: int = _LAST) -> Iterator[RecordedMessage]:
        """Those with these numbers, in order. Raises RecordingError where they are damaged."""
        return map(self._message, self._rows("messages", first, last))

    def messages_back(self, last: int = _LAST) -> Iterator[RecordedMessage]:
        """Those with numbers up to `last`, the last one first. Raises RecordingError where they are damaged."""
        return map(self._message, self._rows("messages", 0, last, back=True))

    def events(self, first: int = 0, last: int = _LAST) -> Iterator[RecordedEvent]:
        """Those with these numbers, in order. Raises RecordingError where they are damaged."""
        return map(self._event, self._rows("events", first, last))

    def all(self, first: int = 0, last: int = _LAST) -> Iterator[RecordedMessage | RecordedEvent]:
        """Messages and events, in order. Raises RecordingError where they are damaged."""
        return merge(self.messages(first, last), self.events(first, last), key=_number)

    def all_back(self, last: int = _LAST) -> Iterator[RecordedMessage | RecordedEvent]:
        """Messages and events up to `last`, the last one first. Raises RecordingError where they are damaged."""
        events = map(self._event, self._rows("events", 0, last, back=True))
        return merge(self.messages_back(last), events, key=_number, reverse=True)

    def unlike(self, other: "Recording") -> int | None:
        """The lowest number under which the two don't have the same row; None: they have the same under all. Nothing is
        decoded. Raises RecordingError where they are damaged."""
        found = []
        for table in ("messages", "events"):
            pages = zip_longest(self._pages(table, 0, _LAST), other._pages(table, 0, _LAST))
            here, there = next((pair for pair in pages if pair[0] != pair[1]), (None, None))
            pair = next((pair for pair in zip_longest(here or (), there or ()) if pair[0] != pair[1]), ())
            found += [row[0] for row in pair if row is not None]
        return min(found, default=None)

    def last_event(self, kind: str, last: int = _LAST) -> RecordedEvent | None:
        """The last one of a kind with a number up to `last`. Raises RecordingError where it is damaged."""
        query = "SELECT * FROM events WHERE kind = ? AND number <= ? ORDER BY number DESC LIMIT 1"
        with self._sound():
            row = self._db.execute(query, (kind, last)).fetchone()
        return None if row is None else self._event(row)

    def events_of(self, kinds: Sequence[str], first: int, most: int) -> list[RecordedEvent]:
        """So many at most of these kinds, from a number on. Raises RecordingError where they are damaged."""
        marks = ", ".join("?" * len(kinds))
        query = f"SELECT * FROM events WHERE kind IN ({marks}) AND number >= ? ORDER BY number LIMIT ?"
        with self._sound():
            rows = self._db.execute(query, (*kinds, first, most)).fetchall()
        return [self._event(row) for row in rows]

    def messages_of(self, cell: int, first: int, last: int) -> Iterator[RecordedMessage]:
        """Those of a GPU with these numbers, in order. Raises RecordingError where they are damaged."""
        query = f"SELECT * FROM messages WHERE cell = ? AND number BETWEEN ? AND ? ORDER BY number LIMIT {_PAGE}"
        while True:
            with self._sound():
                rows = self._db.execute(query, (cell, first, last)).fetchall()
            yield from map(self._message, rows)
            if len(rows) < _PAGE:
                return
            first = rows[-1][0] + 1

    def _message(self, row: tuple[Any, ...]) -> RecordedMessage:
        if tuple(map(type, row)) != _MESSAGE or not (0 <= row[2] < len(self.gpus) and 0 <= row[3] < len(WAYS)):
            raise self._no_row("message", row)
        return RecordedMessage._make(row)

    def _event(self, row: tuple[Any, ...]) -> RecordedEvent:
        types, cell = tuple(map(type, row)), row[2]
        if types not in _EVENT or not (cell is None or 0 <= cell < len(self.gpus)) or self._json(row[4]) is None:
            raise self._no_row("event", row)
        if not row[3].isidentifier():
            raise self._no_row("event", row)
        return RecordedEvent._make(row)

    def said(self, event: RecordedEvent) -> dict[str, Any]:
        """What an event says, `gpu` by its name also where it says a number and that of its card."""
        found = event.said
        card, gpu = found.get("card"), found.get("gpu")
        if type(card) is int and type(gpu) is int:
            cards = dict(enumerate(dict.fromkeys(name.partition(".")[0] for name in self.gpus)))
            found["gpu"] = f"{cards.get(card)}.{gpu}"
        return found

    def states(self) -> Iterator[RecordedState]:
        """The chain of hashes."""
        for row in self._rows("states", 0, _LAST):
            if tuple(map(type, row)) != _STATE:
                raise self._no_row("state", row)
            yield RecordedState._make(row)

    def outside(self) -> Iterator[tuple[int, str]]:
        """What came from outside, as JSON. Raises RecordingError where it is damaged."""
        for row in self._rows("outside", 0, _LAST):
            if tuple(map(type, row)) != (int, str):
                raise self._no_row("outside", row)
            yield row[0], row[1]

    def _no_row(self, what: str, row: tuple[Any, ...]) -> RecordingError:
        return RecordingError(f"{self.path}: is damaged: {what} {row[0]!r}: found {str(row)[:100]}")

    def _one(self, query: str) -> Any:
        with self._sound():
            row = self._db.execute(query).fetchone()
        return None if row is None else row[0]

    def _rows(self, table: str, first: int, last: int, *, back: bool = False) -> Iterator[tuple[Any, ...]]:
        """Rows by the first column of a table."""
        return chain.from_iterable(self._pages(table, first, last, back=back))

    def _pages(self, table: str, first: int, last: int, *, back: bool = False) -> Iterator[list[tuple[Any, ...]]]:
        """The same, a page at a time: nothing stays open between them."""
        order = "DESC" if back else "ASC"
        query = (
            f"SELECT * FROM {table} WHERE {_KEYS[table]} BETWEEN ? AND ? ORDER BY {_KEYS[table]} {order} LIMIT {_PAGE}"
        )
        while True:
            with self._sound():
                rows = self._here().execute(query, (first, last)).fetchall()
            yield rows
            if len(rows) < _PAGE:
                return
            if back:
                last = rows[-1][0] - 1
            else:
                first = rows[-1][0] + 1

    def _here(self) -> sqlite3.Connection:
        """Of this process: one that was forked must not use that of its parent."""
        if os.getpid() != self._process:
            self._inherited.append(self._db)  # to close it would end the parent's locks
            self._db, self._process = self._open(), os.getpid()
        return self._db

    @contextmanager
    def _sound(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise RecordingError(f"{self.path}: is damaged: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()
        self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _remove(folder: str, process: int) -> None:
    """By the process that has made it: others that were forked from it still read it."""
    if os.getpid() == process:
        remove_folder(folder)
