"""What came in from outside while a server was served, and what went out: a live session that replays without clients.

JSON lines. The first one holds the server's file and what it ran on; then come, each with its cycle,

| key | |
|---|---|
| `opened` | a client comes, to this card |
| `in` | bytes of a client's take effect, hexadecimal |
| `out` | bytes leave for a client |
| `closed` | a client goes |

`client` numbers the clients, in the order in which they came. The last line says how it ended: `end` the cycle,
`verdict` the judge's, and `frames` the SHA-256 of every frame that was seen, with cycle, GPU, way, port and whether it
was damaged. Lines are written as they come: of a process that is killed, all but the last one is there.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from ringhil.emulator.judge.run import Run
from ringhil.emulator.kernel.observations import FrameSeen
from ringhil.emulator.scenario import dumps
from ringhil.emulator.serial.wire import CardEnd

FORMAT = "ringhil live session"
VERSION = 1


class JournalError(Exception):
    """A journal can't be written, or is none; one line says where, and why."""


def header(run: Run, clock: int | None) -> dict[str, Any]:
    """What a session runs on."""
    scenario = run.scenario
    work = scenario.workload
    if work is not None and work.data is not None:
        scenario = replace(scenario, workload=replace(work, data=work.data.resolve()))
    rtl, text = run.engine.library.rtl, dumps(scenario)
    return {"ringhil": version("ringhil"), "rtl": rtl, "name": scenario.name, "scenario": text, "clock": clock or 0}


class FramesSeen:
    """The hash of all frames of a run, as far as it has come."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def frame(self, seen: FrameSeen) -> None:
        """One more."""
        about = f"{seen.cycle} {seen.cell} {seen.WAY} {seen.port} {int(seen.bad)}"
        self._hash.update(f"{about} {seen.frame.hex()}\n".encode())

    def hexdigest(self) -> str:
        """In hexadecimal."""
        return self._hash.hexdigest()


class Journal:
    """Writes one. Raises JournalError."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path = path
        try:
            self._file: IO[str] = path.open("w", encoding="utf-8")
        except OSError as error:
            raise JournalError(f"{path}: cannot be written: {error.strerror}") from error
        self.write({"format": FORMAT, "version": VERSION, **header})
        self._clients = 0

    def write(self, row: dict[str, Any]) -> None:
        """One line, which is there at once."""
        try:
            self._file.write(json.dumps(row, separators=(",", ":")) + "\n")
            self._file.flush()
        except OSError as error:
            raise JournalError(f"{self._path}: cannot be written: {error.strerror}") from error

    def number(self) -> int:
        """Of the next client, from 1."""
        self._clients += 1
        return self._clients

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()


class JournalledPort:
    """A port of a card, of which everything is written down; `now` gives the cycle."""

    def __init__(self, port: CardEnd, journal: Journal, card: str, now: Callable[[], int]) -> None:
        self._port, self._journal, self._now = port, journal, now
        self._client = journal.number()
        self._write(opened=card)

    @property
    def full(self) -> bool:
        """As the port has it."""
        return self._port.full

    def receive(self, data: bytes) -> None:
        """These bytes have come, now."""
        self._write(**{"in": data.hex()})
        self._port.receive(data)

    def take(self, most: int) -> bytes:
        """Up to `most` bytes to be sent."""
        data = self._port.take(most)
        if data:
            self._write(out=data.hex())
        return data

    def close(self) -> None:
        """The client has gone."""
        self._write(closed=True)
        self._port.close()

    def _write(self, **what: object) -> None:
        self._journal.write({"cycle": self._now(), "client": self._client, **what})
