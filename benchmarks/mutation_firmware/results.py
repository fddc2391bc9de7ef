"""Results of a campaign, a line of JSON each: what was asked first, then each mutant's fate as soon as it is known.

A campaign that is ended goes on from its file. A mutant may have several lines: the last one counts.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.mutation_firmware.found import Fate, Found
from benchmarks.mutation_firmware.mutant import Mutant


class ResultsError(Exception):
    """A file that isn't what it should be; the message says where, and what is allowed."""


def fingerprint(texts: Mapping[str, str]) -> str:
    """Of the sources that are mutated."""
    found = hashlib.sha256()
    for file, text in sorted(texts.items()):
        found.update(f"{file}\n{text}\n".encode())
    return found.hexdigest()[:16]


class Results:
    """The file `path`, made if there is none. Raises ResultsError when it belongs to other sources."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._path = path
        self.lines: dict[str, dict[str, Any]] = {}
        self.seconds = 0.0  # processor time of all results
        try:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
            if lines and not lines[-1].endswith("\n"):  # it was killed while it wrote
                path.write_text("".join(lines[:-1]), encoding="utf-8")
                lines.pop()
            if not lines:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(head) + "\n", encoding="utf-8")
                return
        except OSError as error:
            raise ResultsError(f"{path}: cannot be used: {error.strerror}") from None
        found = [_parsed(path, number, line) for number, line in enumerate(lines, 1)]
        for name, value in head.items():
            if found[0].get(name) != value:
                raise ResultsError(
                    f"{path}: line 1: {name} is {found[0].get(name)!r}, but now {value!r}; name another file with --out"
                )
        for number, line in enumerate(found[1:], 2):
            if not isinstance(line.get("mutant"), str) or not isinstance(line.get("found"), dict):
                raise ResultsError(f"{path}: line {number}: no result; name another file with --out")
            self.lines[line["mutant"]] = line
            self.seconds += line["seconds"]

    def add(self, fate: Fate, text: str, seconds: float) -> None:
        """Write one down; `text`: of its file, without the mistake; `seconds` of processor time."""
        mutant = fate.mutant
        line: dict[str, Any] = {
            "mutant": mutant.key,
            "line": mutant.line,
            "function": mutant.function,
            "diff": mutant.diff(text),
            "visible": fate.visible,
            "deep": fate.deep,
            "found": {name: found.to_json() for name, found in fate.found.items()},
            "seconds": round(seconds, 1),
        }
        self.lines[mutant.key] = line
        self.seconds += line["seconds"]
        with self._path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def fate(self, mutant: Mutant) -> Fate | None:
        """Of a mutant that has a result."""
        line = self.lines.get(mutant.key)
        if line is None:
            return None
        return Fate(mutant, {name: _found(entry) for name, entry in line["found"].items()}, line.get("deep") is True)


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ResultsError(f"{path}: line {number}: no JSON object; name another file with --out")
    return found


def _found(entry: Mapping[str, Any]) -> Found:
    return Found(entry["by"], entry["why"], entry["played"], entry["differs"], entry["hung"])
