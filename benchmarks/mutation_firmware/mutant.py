"""One mistake in a Python source: a piece of its text that is another one."""

import difflib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """`file`: path in the project; `start`, `end`: bytes of its text that `after` takes the place of; `function`: the
    one that they stand in, with its class, or "" outside of any; `line`: of the file, from 1."""

    file: str
    start: int
    end: int
    line: int
    function: str
    operator: str
    before: str
    after: str

    @property
    def key(self) -> str:
        """Tells it from every other mutant of the same sources."""
        return f"{self.file}:{self.start}-{self.end} {self.operator} {self.after}"

    @property
    def module(self) -> str:
        """Name under which Python imports the file."""
        parts = Path(self.file).with_suffix("").parts
        return ".".join(("ringhil", *(parts[:-1] if parts[-1] == "__init__" else parts)))

    def applied(self, text: str) -> str:
        """The file's text with the mistake in it."""
        data = text.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()

    def diff(self, text: str) -> str:
        """The changed lines, as `diff -U0` has them."""
        lines = difflib.unified_diff(
            text.splitlines(), self.applied(text).splitlines(), self.file, self.file, lineterm="", n=0
        )
        return "\n".join(list(lines)[2:])

    def source_line(self, text: str) -> str:
        """The whole line in which it begins."""
        return text.splitlines()[self.line - 1].strip()
