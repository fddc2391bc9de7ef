"""Writes sessions as earlier versions did, which still are to be replayed."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ringhil.emulator.engine.engine import NodeDiffered
from ringhil.emulator.files import open_growing
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import dumps
from ringhil.emulator.serial.journal import FORMAT, JournalError, LinesSum, written
from ringhil.emulator.server.observations import NodeLost

VERSION = 4


def header(run: Run, clock: int | None, firmware: Sequence[str] = (), nodes: Sequence[str] = ()) -> dict[str, Any]:
    """What a session runs on. `firmware`: whose runs where, `nodes`: whose hardware is outside; as it was written."""
    scenario = run.scenario.anywhere()
    rtl, text = run.engine.library.rtl, dumps(scenario)
    about = {"ringhil": version("ringhil"), "rtl": rtl, "name": scenario.name, "scenario": text, "clock": clock or 0}
    return {**about, "firmware": list(firmware), "nodes": list(nodes)}


class Journal:
    """Writes one. Raises JournalError."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path, self._sum = path, LinesSum()
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
