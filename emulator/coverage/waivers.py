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

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.documents import Document, read

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
        """Signals whose toggles are waived; empty for a waiver of a line."""
        bits = f"[{self.bits[1]}:{self.bits[0]}]" if self.bits else ""
        return f"{self.toggle}{bits}" if self.toggle else ""

    def __str__(self) -> str:
        what = f", toggles of {self.signals}" if self.toggle else ""
        return f"waiver {self.number} ({self.file}: {self.text}{what})"


def _line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("a line of text")
    return text


_Line = Annotated[str, AfterValidator(_line)]
_Bit = Annotated[int, Field(ge=0)]


class _Row(Document):
    file: _Line
    text: _Line
    reason: _Line
    toggle: _Line = ""
    bits: tuple[_Bit, _Bit] = (0, 0)

    @field_validator("bits")
    @classmethod
    def _ordered(cls, bits: tuple[int, int], row: ValidationInfo) -> tuple[int, int]:
        if bits[0] > bits[1] or not row.data.get("toggle"):
            raise ValueError("a first and a last bit, with toggle")
        return bits


class _File(Document):
    format: Literal["ringhil coverage waivers"]
    version: Literal[1]
    waivers: list[_Row]


def load(path: Path) -> tuple[Waiver, ...]:
    """Read a file of waivers; raises CoverageError."""
    rows = read(path, _File, MAX_BYTES, CoverageError).waivers
    return tuple(
        Waiver(n, r.file, r.text, r.reason, r.toggle or None, r.bits if "bits" in r.model_fields_set else None)
        for n, r in enumerate(rows, 1)
    )


def unused(waivers: Iterable[Waiver], used: Iterable[Waiver], judged: Iterable[str]) -> list[Waiver]:
    """Those of `waivers` that were of no use, of those that are about the files that were `judged`."""
    idle, names = set(waivers) - set(used), list(judged)
    return sorted((w for w in idle if any(w.fits_file(name) for name in names)), key=lambda w: w.number)


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), text, re.DOTALL) is not None
