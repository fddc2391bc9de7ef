"""What `ringhil verify` reports: for people, and in files: there with the verdicts of this very run, or not at all."""

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from ringhil.emulator.campaign.verify import VerifyReport
from ringhil.emulator.campaign.verify.annotations import code_quality, workspace
from ringhil.emulator.campaign.verify.discover import looks_like_scenario
from ringhil.emulator.campaign.verify.junit import junit as as_junit
from ringhil.emulator.campaign.verify.junit import lines
from ringhil.emulator.campaign.verify.report import told_of
from ringhil.emulator.campaign.verify.verdict import Verdict
from ringhil.emulator.files import NobodyReadsError
from ringhil.emulator.front.cli.written import Output, check_apart
from ringhil.emulator.pages.verdicts import marked, ok
from ringhil.emulator.server.hashes import short


class Reports:
    """`junit`, `codequality`: where they go, if anywhere. `places`: JUnit says where in a file each failure is.
    Closed with `opened`."""

    def __init__(self, opened: ExitStack, junit: Path | None, codequality: Path | None, *, places: bool) -> None:
        self._stack, self._junit, self._codequality, self._places = opened, junit, codequality, places
        self._outputs: dict[Path, Output] = {}

    def open(self, read: Iterable[Path]) -> None:
        """Waits for whoever reads a FIFO. Raises UsageError for one that would take the place of what is `read`,
        ClickException for one that can't be written."""
        self._open(read, wait=True)

    def open_early(self, paths: Iterable[Path]) -> None:
        """The same once it is to end, and before it is known what is read below `paths`: nothing that may be a scenario
        is touched, and a FIFO that nobody reads gets no report."""
        mine = [path for path in (self._junit, self._codequality) if path is not None and path not in self._outputs]
        if mine:
            self._open([*paths, *(path for path in mine if path.is_file() and looks_like_scenario(path))], wait=False)

    def write(self, report: VerifyReport) -> None:
        """All that are open. Raises ClickException."""
        if self._junit in self._outputs:
            self._outputs[self._junit].write(as_junit(report, places=self._places))
        if self._codequality in self._outputs:
            self._outputs[self._codequality].write(code_quality(report, workspace(os.environ)))

    def _open(self, read: Iterable[Path], *, wait: bool) -> None:
        check_apart(read, junit=self._junit, codequality=self._codequality)
        for path in (self._junit, self._codequality):
            if path is not None and path not in self._outputs:
                with suppress(NobodyReadsError):
                    self._outputs[path] = self._stack.enter_context(Output(path, wait=wait))


_NAMED = 5  # variants that are known to fail for one reason
MOST = 20  # ways to fail that are shown, and variants that are named for each


def _named(others: Sequence[Verdict]) -> str:
    """Those that fail as the one above does, each by its name."""
    names = ", ".join(verdict.id for verdict in others[:MOST])
    more = f" and {len(others) - MOST:,} more; --junit and --json have them all" if len(others) > MOST else ""
    return f"{'does' if len(others) == 1 else f'do {len(others):,} more:'} {names}{more}"


def show(report: VerifyReport, console: Console) -> None:
    """A report for people: what failed and how to play it again, then one line."""
    bad, sorts = report.bad(), report.sorts()
    for _, verdicts in sorts[:MOST]:
        first, *others = verdicts
        console.print(f"{marked(first.state, first.state.upper())} {escape(first.id)}", soft_wrap=True)
        for line in lines(first):
            console.print(f"  {line}", markup=False, soft_wrap=True)
        if others:
            console.print(f"  so {_named(others)}", markup=False, soft_wrap=True)
    if len(bad) > 1:
        console.print(f"{len(bad):,} did not pass, in {len(sorts):,} way{'' if len(sorts) == 1 else 's'}:")
        for sort, verdicts in sorts[:MOST]:
            console.print(f"  {len(verdicts):,} x {sort}", markup=False, soft_wrap=True)
        if len(sorts) > MOST:
            console.print(f"  ... and {len(sorts) - MOST:,} more ways; --junit and --json have them all")
    for why in dict.fromkeys(verdict.known for verdict in report.known):
        mine = [verdict for verdict in report.known if verdict.known == why]
        names = ", ".join(verdict.id for verdict in mine[:_NAMED]) + (", ..." if len(mine) > _NAMED else "")
        count = f"{len(mine):,} variants, " if len(mine) > 1 else ""
        console.print(f"known to fail: {count}{escape(names)}: {escape(why)}", soft_wrap=True)
    for text in report.stale:
        console.print(f"{ok(False)} {escape(text)}", soft_wrap=True)
    for text in report.idle:
        console.print(f"known, and {escape(text)}", soft_wrap=True)
    never = report.never_judged()
    for file, text in never[:MOST]:
        console.print(
            f"{marked('not judged', 'not judged:')} {escape(file.as_posix())}: {escape(text)}", soft_wrap=True
        )
    if len(never) > MOST:
        console.print(f"... and {len(never) - MOST:,} more; --json has them all")
    if report.passed_over:
        console.print(told_of(report.passed_over), markup=False, soft_wrap=True)
    if bad:
        console.print(f"ringhil {report.version}: {short(report.hashes)}", markup=False, soft_wrap=True)
    console.print(marked(report.verdict, report.summary), soft_wrap=True)
