"""Points of the RTL that can't be reached, each with the reason.

A file of them is JSON:

    {"format": "ringhil coverage waivers", "version": 1, "waivers": [
      {"file": "link_tx.sv", "text": "if (silent_i) begin", "reason": "..."},
      {"file": "*", "text": "input logic [63:0] now_i,", "toggle": "now_i", "bits": [40, 63], "reason": "..."}]}

| name | meaning |
|---|---|
| file | name of a file of the RTL |
| text | a line of it, blanks squeezed |
| toggle | optional: the waiver is for toggles of these signals, otherwise for the line and its branches |
| bits | optional, with toggle: only these bits, first and last |
| reason | why no run can reach it |

In `file`, `text` and `toggle`, `*` stands for anything, every other character for itself. A waiver that fits no line,
or only points that were reached, is an error: nothing stays waived by accident.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringhil.emulator.coverage.errors import CoverageError, shown, size

FORMAT = "ringhil coverage waivers"
VERSION = 1
MAX_BYTES = 2**20
DEFAULT = Path(__file__).with_name("waivers.json")  # those of our own RTL

_BIT = re.compile(r"(.*)\[(\d+)\]")


@dataclass(frozen=True)
class Waiver:
    """`number` is its place in the file, from 1."""

    number: int
    file: str
    text: str
    reason: str
    toggle: str | None = None
    bits: tuple[int, int] | None = None

    def fits_file(self, name: str) -> bool:
        """Whether it is about this file."""
        return _fits(self.file, name)

    def fits_line(self, text: str) -> bool:
        """Whether it is about this line."""
        return _fits(" ".join(self.text.split()), " ".join(text.split()))

    def fits_toggle(self, signal: str) -> bool:
        """Whether it is about this signal, such as `at_q[5]` or `ctl_o`."""
        if self.toggle is None:
            return False
        bit = _BIT.fullmatch(signal)
        if bit is None or not _fits(self.toggle, bit[1]):
            return self.bits is None and _fits(self.toggle, signal)
        return self.bits is None or self.bits[0] <= int(bit[2]) <= self.bits[1]

    @property
    def signals(self) -> str:
        """Whose toggles are waived; empty for a waiver of a line."""
        bits = f"[{self.bits[1]}:{self.bits[0]}]" if self.bits else ""
        return f"{self.toggle}{bits}" if self.toggle else ""

    def __str__(self) -> str:
        what = f", toggles of {self.signals}" if self.toggle else ""
        return f"waiver {self.number} ({self.file}: {self.text}{what})"


def load(path: Path) -> tuple[Waiver, ...]:
    """Read a file of waivers; raises CoverageError."""
    size(path, MAX_BYTES)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CoverageError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CoverageError(f"{path}: not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(document, dict) or document.keys() != {"format", "version", "waivers"}:
        raise CoverageError(f"{path}: found {shown(document)}; allowed are format, version and waivers")
    if document["format"] != FORMAT or document["version"] != VERSION or not isinstance(document["waivers"], list):
        found = (document["format"], document["version"])
        raise CoverageError(f"{path}: format and version are {shown(found)}; allowed are {FORMAT!r}, {VERSION}")
    return tuple(_waiver(row, number, path) for number, row in enumerate(document["waivers"], 1))


def _waiver(row: Any, number: int, path: Path) -> Waiver:
    needed, allowed = {"file", "text", "reason"}, {"file", "text", "reason", "toggle", "bits"}
    where = f"{path}: waiver {number}"
    if not isinstance(row, dict) or not needed <= row.keys() <= allowed:
        found = sorted(row) if isinstance(row, dict) else row
        raise CoverageError(f"{where}: found {shown(found)}; allowed are file, text, reason and toggle, bits")
    for name in row.keys() - {"bits"}:
        if not isinstance(row[name], str) or not row[name].strip() or not row[name].isprintable():
            raise CoverageError(f"{where}: {name} is {shown(row[name])}; allowed is a line of text")
    return Waiver(number, row["file"], row["text"], row["reason"], row.get("toggle"), _bits(row, where))


def _bits(row: dict[str, Any], where: str) -> tuple[int, int] | None:
    if "bits" not in row:
        return None
    match row["bits"]:
        case [int(first), int(last)] if 0 <= first <= last and "toggle" in row:
            return first, last
    raise CoverageError(f"{where}: bits is {shown(row['bits'])}; allowed are a first and a last bit, with toggle")


def unused(waivers: Iterable[Waiver], used: Iterable[Waiver], judged: Iterable[str]) -> list[Waiver]:
    """Those of `waivers` that were of no use, of those that are about the files that were `judged`."""
    idle, names = set(waivers) - set(used), list(judged)
    return sorted((w for w in idle if any(w.fits_file(name) for name in names)), key=lambda w: w.number)


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), text, re.DOTALL) is not None
