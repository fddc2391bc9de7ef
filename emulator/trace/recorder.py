"""Writes a recording: JSON lines, the first one says what was run, each other one is a frame.

| key of a frame | meaning |
|---|---|
| cycle | when its last flit was there (`to_*`), or from when on it was to be sent (`from_*`) |
| gpu | at which GPU, such as "a.3" |
| way | "to_firmware", "from_firmware", "to_cpu", "from_cpu" |
| port | mailbox port; with `to_cpu` the virtual channel (0 control, 1 data); with `from_cpu` always 0 |
| bad | true when it arrived damaged |
| frame | its bytes, hexadecimal |

The same scenario, seed and RTL give the same file, byte for byte.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import AtomicFile, reason_of, shown

FORMAT = "ringhil recording"
VERSION = 1


class RecordingError(RinghilError, ValueError):
    """The recording can't be written; the message says why."""


class Seen(Protocol):
    """A frame, as the kernel tells of it; this room lies below the kernel."""

    @property
    def WAY(self) -> str: ...
    @property
    def cycle(self) -> int: ...
    @property
    def cell(self) -> int: ...
    @property
    def port(self) -> int: ...
    @property
    def frame(self) -> bytes: ...
    @property
    def bad(self) -> bool: ...


class Recorder:
    """Have `frame` called with every frame (`Stream.listen_to_frames`); call `commit` when the run is over."""

    def __init__(
        self,
        path: Path,
        *,
        name: str,
        seed: int,
        rtl: str,
        gpus: Sequence[str],
        hashes: Mapping[str, str] | None = None,
    ) -> None:
        self._path, self._gpus = path, gpus
        try:
            self._file = AtomicFile(path)
        except OSError as error:
            raise RecordingError(f"{shown(path)}: cannot be written: {reason_of(error)}") from None
        head = {
            "format": FORMAT,
            "version": VERSION,
            "name": name,
            "seed": seed,
            "rtl": rtl,
            "hashes": dict(hashes or {}),
        }
        self._write({**head, "gpus": list(gpus)})

    def frame(self, seen: Seen) -> None:
        """Write down one frame."""
        row = {"cycle": seen.cycle, "gpu": self._gpus[seen.cell], "way": seen.WAY, "port": seen.port}
        row["frame"] = seen.frame.hex()
        self._write({**row, "bad": True} if seen.bad else row)

    def _write(self, row: dict[str, object]) -> None:
        assert self._file.file is not None
        try:
            self._file.file.write(json.dumps(row, separators=(",", ":")) + "\n")
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RecordingError(f"{shown(self._path)}: cannot be written: {reason_of(error)}") from None

    def commit(self) -> None:
        """The run is over: the file appears."""
        try:
            self._file.commit()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RecordingError(f"{shown(self._path)}: cannot be written: {reason_of(error)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.__exit__(kind, error, tb)
