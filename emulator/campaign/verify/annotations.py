"""Failures where a pipeline shows them: beside the lines of a file.

| system | how |
|---|---|
| GitHub Actions | workflow commands, `::error file=...,line=...::...`, and a summary on the job's page |
| GitLab | a Code Quality report |

GitHub shows ten errors of a step. So what several variants of a file have failed at, at one line, is told once.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ringhil.emulator.campaign.verify.report import VerifyReport, told_of
from ringhil.emulator.campaign.verify.verdict import Failure, Verdict
from ringhil.emulator.pages import cell, code, render
from ringhil.emulator.pages.github import at_most, error

_ROOM = 900_000  # bytes of a job's summary for its rows: it may have 1 MiB
_CHARACTERS = 1000  # of one message beside a line
_NAMES = 11  # of variants that fail as the first one of a row does


@dataclass(frozen=True)
class Annotation:
    """One line of a file and what is wrong there; `variants`: ids of all that found it so."""

    file: Path
    line: int
    column: int | None
    kind: str
    text: str
    variants: tuple[str, ...]

    @property
    def message(self) -> str:
        """The text for people."""
        text = (
            self.text
            if self.kind in ("expectation", "input", "process", "interrupted")
            else f"{self.kind}: {self.text}"
        )
        swept = [v for v in self.variants if v != self.file.as_posix()]
        more = f", and {len(swept) - 1:,} more" if len(swept) > 1 else ""
        return f"{text} [{swept[0].removeprefix(self.file.as_posix())[1:-1]}{more}]" if swept else text


def marks(report: VerifyReport) -> list[Annotation]:
    """The annotations in the order of the verdicts; failures of one kind at one line are one. Then
    what an interrupted run has left."""
    places: dict[tuple[Path, int, str], list[tuple[Verdict, Failure]]] = {}
    unplayed = [Annotation(left.file, 1, None, "interrupted", left.text, ()) for left in report.unplayed]
    for verdict in report.bad():
        for failure in verdict.failures:
            key = (verdict.file, failure.line or 1, failure.kind)
            places.setdefault(key, []).append((verdict, failure))
    return [
        Annotation(
            file, line, found[0][1].column, kind, _told(found[0][1]), tuple(dict.fromkeys(v.id for v, _ in found))
        )
        for (file, line, kind), found in places.items()
    ] + unplayed


def _told(failure: Failure) -> str:
    """What was found, and the first thing that helps to understand it."""
    return "; ".join((failure.text, *failure.notes[:1]))


def github(report: VerifyReport, root: Path | None) -> list[str]:
    """Workflow commands; paths are relative to `root`, the working copy, where they lie in it."""
    errors = [
        error(f"ringhil: {mark.kind}", mark.message, file=_relative(mark.file, root), line=mark.line, col=mark.column)
        for mark in marks(report)
    ]
    errors += [error("ringhil verify", text) for text in report.of_no_file]
    return at_most(errors, "places")


def _relative(file: Path, root: Path | None) -> str:
    if root is not None:
        whole = file.absolute()
        if whole.is_relative_to(root):
            return whole.relative_to(root).as_posix()
    return PurePath(file).as_posix()


def summary(report: VerifyReport) -> str:
    """Markdown for the page of a job: a row for each way to fail, with all that one variant has failed at, whole."""
    rows: list[str] = []
    room, shown, sorts = _ROOM, 0, report.sorts()
    for _, verdicts in sorts:
        row = _row(verdicts)
        room -= len(row.encode("utf-8", errors="replace"))
        if room < 0:
            break
        rows.append(row)
        shown += len(verdicts)
    left = sum(len(verdicts) for _, verdicts in sorts) - shown
    notes = report.of_no_file + ([told_of(report.passed_over)] if report.passed_over else [])
    return render("verify.md.j2", report=report, rows=rows, left=left, sorts=sorts[: len(rows)], notes=notes)


def _row(verdicts: Sequence[Verdict]) -> str:
    first = verdicts[0]
    names = [first.id, *(verdict.id for verdict in verdicts[1 : _NAMES + 1])]
    names += [f"and {len(verdicts) - len(names):,} more"] if len(verdicts) > len(names) else []
    told = {failure.sort: failure for verdict in reversed(verdicts) for failure in verdict.failures}
    others = [failure for sort, failure in told.items() if sort not in {each.sort for each in first.failures}]
    what = [text for failure in (*first.failures, *others) for text in (failure.text, *failure.notes)]
    cells = ("<br>".join(map(cell, names)), str(first.line), "<br>".join(map(cell, what)), code(first.replay))
    return f"| {' | '.join(cells)} |"


def code_quality(report: VerifyReport, root: Path | None) -> str:
    """GitLab's Code Quality report (JSON)."""
    issues = []
    for mark in marks(report):
        path = _relative(mark.file, root)
        print_ = hashlib.sha256(json.dumps([path, mark.line, mark.kind]).encode()).hexdigest()
        issues.append(
            {
                "description": mark.message[:_CHARACTERS],
                "check_name": f"ringhil.{mark.kind}",
                "fingerprint": print_,
                "severity": "blocker" if mark.kind == "input" else "critical",
                "location": {"path": path, "lines": {"begin": mark.line}},
            }
        )
    return json.dumps(issues, indent=2) + "\n"


def workspace(environment: Mapping[str, str]) -> Path | None:
    """The working copy, by the variables that pipelines set."""
    name = environment.get("GITHUB_WORKSPACE") or environment.get("CI_PROJECT_DIR")
    return Path(name) if name else None
