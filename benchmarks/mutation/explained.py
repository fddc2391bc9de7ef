"""Survivors that are understood although no proof goes through: kept in `explained.json`, with reasons.

An entry is matched by the source, not by line numbers: `file`, a piece `line` of the source line, and optionally
`change`, a regular expression that is searched for in the mutant's text. `contract`: true when the contract leaves the
behaviour free, so that no rule may check it. All of them are still counted as survivors.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation.mutant import Mutant, source_line

_FILE = Path(__file__).with_name("explained.json")


@dataclass(frozen=True)
class Explained:
    """Why mutants of one place survive."""

    file: str
    line: str
    reason: str
    change: str = ""
    contract: bool = False

    def covers(self, mutant: Mutant, rtl: Path) -> bool:
        """The mutant is one of these."""
        return (
            mutant.file == self.file
            and self.line in source_line(rtl, mutant)
            and re.search(self.change, mutant.text) is not None
        )


def load(file: Path = _FILE) -> list[Explained]:
    """Raises ValueError: where, and what is wrong."""
    entries = json.loads(file.read_text(encoding="utf-8"))
    allowed = set(Explained.__dataclass_fields__)
    for number, entry in enumerate(entries):
        wrong = sorted(set(entry) - allowed) or sorted({"file", "line", "reason"} - set(entry))
        if wrong:
            raise ValueError(f"{file.name}: entry {number}: {', '.join(wrong)} unknown or missing")
    return [Explained(**entry) for entry in entries]


def reason(mutant: Mutant, rtl: Path, known: list[Explained]) -> str:
    """Of the first entry that covers the mutant; empty if none does."""
    for entry in known:
        if entry.covers(mutant, rtl):
            return ("free by contract: " if entry.contract else "") + entry.reason
    return ""
