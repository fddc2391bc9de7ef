"""Survivors that are understood: kept in `kept.json`, with reasons.

An entry is matched by the source, not by line numbers: `file`, `function`, a piece `line` of the source line, and
`after`, a regular expression that the whole text of the mistake fits. `kind`:

| kind | says |
|---|---|
| `equivalent` | nothing that runs on it can tell it from what it should be |
| `allowed` | what it does otherwise keeps every documented promise |
| `performance` | the same, and it takes longer, or more messages |
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from benchmarks.mutation_firmware.mutant import Mutant

KINDS = ("equivalent", "allowed", "performance")
FILE = Path(__file__).with_name("kept.json")


@dataclass(frozen=True)
class Kept:
    """Why mutants of one place survive."""

    file: str
    function: str
    line: str
    after: str
    kind: str
    reason: str

    def covers(self, mutant: Mutant, text: str) -> bool:
        """The mutant, of a file with this text, is one of these."""
        return (
            (mutant.file, mutant.function) == (self.file, self.function)
            and self.line in mutant.source_line(text)
            and re.fullmatch(self.after, mutant.after, re.DOTALL) is not None
        )


def load(path: Path = FILE) -> list[Kept]:
    """Raises ValueError: where, what was found, what is allowed."""
    names = [field.name for field in fields(Kept)]
    found = []
    for number, entry in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        if not isinstance(entry, dict) or sorted(entry) != sorted(names):
            raise ValueError(f"{path.name}: entry {number}: an object with {', '.join(names)} is allowed")
        if entry["kind"] not in KINDS:
            raise ValueError(f"{path.name}: entry {number}: kind is {entry['kind']!r}; allowed are {', '.join(KINDS)}")
        found.append(Kept(**entry))
    return found


def reason(mutant: Mutant, texts: Mapping[str, str], known: Sequence[Kept]) -> Kept | None:
    """The first entry that covers the mutant."""
    return next((entry for entry in known if entry.covers(mutant, texts[mutant.file])), None)
