"""What came in from outside while a server was served, and what went out: a live session that replays without clients.

JSON lines. The first one holds the server's file and what it ran on; then come, each with its cycle,

| key | |
|---|---|
| `opened` | a client comes, to this card; `room`: how many bytes may wait for it |
| `in` | bytes of a client's take effect, hexadecimal |
| `out` | bytes leave for a client |
| `closed` | a client goes; `left`: bytes that waited for it |

| `gpu` | its firmware, on a board, was `asked` this and has `answered` that, hexadecimal; null: it was gone |
| `gpu` | its hardware, outside, is gone from this cycle on; `lost`: what was the matter |
| `gpu` | its hardware, outside, did what ours doesn't: `differed` the place, `value` what was there |

`client` numbers the clients, in the order in which they came. The last line says how it ended: `end` the cycle,
`verdict` the judge's, `frames` the SHA-256 of every frame that was seen, with cycle, GPU, way, port and whether it
was damaged, and `sum` that of all lines, its own without it. Lines are written as they come: of a process that is
killed, all but the last one is there.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ringhil.emulator.engine.engine import NodeDiffered
from ringhil.emulator.files import STDOUT, open_growing
from ringhil.emulator.judge.run import Run
from ringhil.emulator.kernel.observations import FrameSeen
from ringhil.emulator.scenario import dumps
from ringhil.emulator.serial.wire import CardEnd
from ringhil.emulator.server.observations import NodeLost

FORMAT = "ringhil live session"
VERSION = 4
VERSIONS = (1, 2, 3, 4)  # that are read; the first has no room, left and sum, two no boards, three no hardware outside


class JournalError(Exception):
    """A journal can't be written, or is none; one line says where, and why."""


def header(run: Run, clock: int | None, firmware: Sequence[str] = (), nodes: Sequence[str] = ()) -> dict[str, Any]:
    """What a session runs on. `firmware`: whose runs where, `nodes`: whose hardware is outside; as it was written."""
    scenario = run.scenario.anywhere()
    rtl, text = run.engine.library.rtl, dumps(scenario)
    about = {"ringhil": version("ringhil"), "rtl": rtl, "name": scenario.name, "scenario": text, "clock": clock or 0}
    return {**about, "firmware": list(firmware), "nodes": list(nodes)}


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


class LinesSum:
    """The hash of all lines, as far as they have come."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def line(self, line: str) -> None:
        """One more."""
        self._hash.update(line.encode())

    def with_last(self, line: str) -> str:
        """In hexadecimal, with this one behind the others."""
        whole = self._hash.copy()
        whole.update(line.encode())
        return whole.hexdigest()


def written(row: dict[str, Any]) -> str:
    """A row as a line."""
    return json.dumps(row, separators=(",", ":")) + "\n"


class Journal:
    """Writes one. Raises JournalError."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path, self._sum = path, LinesSum()
        if path == STDOUT:
            raise JournalError("-: a session goes to a file; standard output says where the ports are")
        try:
            self._file = open_growing(path)
        except OSError as error:
            raise self._failed(error) from error
        self.write({"format": FORMAT, "version": VERSION, **header})
        self._clients = 0

    def write(self, row: dict[str, Any]) -> None:
        """One line, which is there at once."""
        line = written(row)
        self._sum.line(line)
        try:
            self._file.write(line.encode())
            self._file.flush()
        except OSError as error:
            with suppress(OSError):  # what is left would be written again at the end
                self._file.close()
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> JournalError:
        return JournalError(f"{self._path}: cannot be written: {error.strerror}")

    def exchanges(self, gpu: str, now: Callable[[], int]) -> Callable[[bytes, bytes | None], None]:
        """Writes down what a board is asked and answers."""

        def exchanged(asked: bytes, answered: bytes | None) -> None:
            said = None if answered is None else answered.hex()
            self.write({"cycle": now(), "gpu": gpu, "asked": asked.hex(), "answered": said})

        return exchanged

    def hardware(self, run: Run) -> None:
        """Writes down of hardware outside what can't be computed: when it was lost, and where it isn't as ours."""
        gpu_of = run.server.wiring.gpu_of

        def lost(seen: NodeLost) -> None:
            self.write({"cycle": seen.cycle, "gpu": str(gpu_of(seen.cell)), "lost": seen.why})

        def differed(seen: NodeDiffered) -> None:
            gpu = str(gpu_of(seen.cell))
            self.write({"cycle": seen.cycle, "gpu": gpu, "differed": seen.place, "value": seen.value})

        run.observations.listen(NodeLost, lost)
        run.observations.listen(NodeDiffered, differed)

    def end(self, row: dict[str, Any]) -> None:
        """The last line."""
        self.write({**row, "sum": self._sum.with_last(written(row))})

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

    def __init__(self, port: CardEnd, journal: Journal, card: str, now: Callable[[], int], room: int) -> None:
        self._port, self._journal, self._now = port, journal, now
        self._client = journal.number()
        self._write(opened=card, room=room)

    @property
    def full(self) -> bool:
        """As the port has it."""
        return self._port.full

    @property
    def waiting(self) -> int:
        """As the port has it."""
        return self._port.waiting

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
        self._write(closed=True, left=self._port.waiting)
        self._port.close()

    def _write(self, **what: object) -> None:
        self._journal.write({"cycle": self._now(), "client": self._client, **what})
