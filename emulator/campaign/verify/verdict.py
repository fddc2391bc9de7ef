"""What came of one variant of one scenario file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringhil.emulator.judge.findings import Finding
from ringhil.emulator.judge.outcome import VerdictWord


@dataclass(frozen=True)
class Failure:
    """One reason why a verdict is not PASS.

    `kind`: "expectation", the name of an invariant, "input" (a file that can't be used) or "process" (it died).
    `line`, `column`: of the scenario file; None: no place in it is to blame. `at`: cycle, where one can be told.
    `sort`: the same for all that show the same mistake, most likely. `source`: the line of the judge that found it.
    `notes`: what else helps to understand it. `lasts`: whether it was still so when the run ended; None: it can't be
    told.
    """

    kind: str
    text: str
    line: int | None = None
    column: int | None = None
    at: int | None = None
    sort: str = ""
    source: str | None = None
    notes: tuple[str, ...] = ()
    lasts: bool | None = None

    def __post_init__(self) -> None:
        if not self.sort:  # nobody knows better than that the same was said
            object.__setattr__(self, "sort", f"{self.kind}: {self.text}")

    def to_json(self) -> dict[str, Any]:
        """The verdict for the document of `ringhil verify --json`."""
        where = {"line": self.line, "column": self.column, "at": self.at}
        more = {"notes": list(self.notes), "lasts": self.lasts, "sort": self.sort, "source": self.source}
        return {"kind": self.kind, "text": self.text, **where, **more}


@dataclass(frozen=True)
class Verdict:
    """The verdict of variant `number` of `file`; `variant` is "" for a file without a sweep, else "gpu=a.3,at=2000".

    `state`: PASS, FAIL, or ERROR: it could not be played. `unjudged`: what the run couldn't tell, and why.
    `line`: where the scenario's failing part stands, else its beginning. `seconds` are of the wall clock: the only part
    that differs from run to run. `left`: folder with what is needed to play it again.
    `alone`: it follows from nothing but the file, the RTL, the firmware and ringhil.
    """

    file: Path
    number: int
    variant: str
    parameters: tuple[tuple[str, str], ...]
    name: str
    state: VerdictWord
    seed: int | None
    cycles: int
    seconds: float
    failures: tuple[Failure, ...]
    replay: str
    left: Path | None = None
    note: str = ""  # what is wrong with what was left, or why there is nothing
    no_page: str = ""  # why no page of its recording was left with it
    unjudged: tuple[Finding, ...] = ()
    scenario: str = ""  # its hash
    known: str = ""  # why it is no news that it has failed
    alone: bool = False
    kept: bool = False  # it was not played again: nothing has changed since

    @property
    def bad(self) -> bool:
        """It has not passed, and that is news."""
        return self.state != VerdictWord.PASS and not self.known

    @property
    def id(self) -> str:
        """The variant's name among all: `dir/dead.yaml[gpu=a.3,at=2000]`."""
        return identity(self.file, self.variant)

    @property
    def main(self) -> Failure | None:
        """The failure that stands for all: the first that lasts, else the first."""
        return next((f for f in self.failures if f.lasts), next(iter(self.failures), None))

    @property
    def line(self) -> int:
        """The first line that is to blame."""
        return next((f.line for f in self.failures if f.line is not None), 1)

    def to_json(self) -> dict[str, Any]:
        """The verdict for the document of `ringhil verify --json`."""
        return {
            "id": self.id,
            "file": self.file.as_posix(),
            "variant": self.variant,
            "parameters": dict(self.parameters),
            "name": self.name,
            "verdict": self.state,
            "scenario": self.scenario or None,
            "known": self.known or None,
            "kept": self.kept,
            "seed": self.seed,
            "cycles": self.cycles,
            "seconds": self.seconds,
            "failures": [failure.to_json() for failure in self.failures],
            "not_judged": [str(each) for each in self.unjudged],
            "replay": self.replay,
            "left": None if self.left is None else self.left.as_posix(),
            "no_page": self.no_page or None,
            "note": self.note or None,
        }


def identity(file: Path, variant: str) -> str:
    """See `Verdict.id`."""
    return f"{file.as_posix()}[{variant}]" if variant else file.as_posix()
