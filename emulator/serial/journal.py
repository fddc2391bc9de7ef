"""A live session as `serve --record` of earlier versions has written it; it is still replayed. Today a session is a
recording (`trace/recording/`).

JSON lines. The first one holds the server's file and what it ran on; then come, each with its cycle,

| key | |
|---|---|
| `opened`, `in`, `out`, `closed` | of a client: see `clients.py` |

| `gpu` | its firmware, on a board, was `asked` this and has `answered` that, hexadecimal; null: it was gone |
| `gpu` | its hardware, outside, is gone from this cycle on; `lost`: what was the matter |
| `gpu` | its hardware, outside, did what ours doesn't: `differed` the place, `value` what was there |

The last line says how it ended: `end` the cycle,
`verdict` the judge's, `frames` the SHA-256 of every frame that was seen, with cycle, GPU, way, port and whether it
was damaged, and `sum` that of all lines, its own without it. Lines are written as they come: of a process that is
killed, all but the last one is there.
"""

import hashlib
import json
from typing import Any

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.kernel.observations import FrameSeen

FORMAT = "ringhil live session"
VERSION = 4
VERSIONS = (1, 2, 3, 4)  # that are read; the first has no room, left and sum, two no boards, three no hardware outside


class JournalError(RinghilError):
    """A journal can't be written, or is none; one line says where, and why."""


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
