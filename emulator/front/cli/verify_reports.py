"""The files that `ringhil verify` reports to: there with the verdicts of this very run, or not at all."""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from ringhil.emulator.campaign.verify import VerifyReport
from ringhil.emulator.campaign.verify.annotations import code_quality, workspace
from ringhil.emulator.campaign.verify.discover import looks_like_scenario
from ringhil.emulator.campaign.verify.junit import junit as as_junit
from ringhil.emulator.campaign.verify.outputs import Output
from ringhil.emulator.front.cli.apart import check_apart


class Reports:
    """`junit`, `codequality`: where they go, if anywhere. `places`: JUnit says where in a file each failure is.
    Closed with `opened`."""

    def __init__(self, opened: ExitStack, junit: Path | None, codequality: Path | None, *, places: bool) -> None:
        self._stack, self._junit, self._codequality, self._places = opened, junit, codequality, places
        self._files: tuple[Output | None, Output | None] | None = None

    def open(self, read: Iterable[Path]) -> None:
        """Raises UsageError for one that would take the place of what is `read`, VerifyError for one that can't be
        written."""
        check_apart(read, junit=self._junit, codequality=self._codequality)
        self._files = self._output(self._junit), self._output(self._codequality)

    def open_early(self, paths: Iterable[Path]) -> None:
        """The same before it is known what is read below `paths`; nothing that may be a scenario is touched."""
        if self._files is None:
            mine = (path for path in (self._junit, self._codequality) if path is not None)
            self.open([*paths, *(path for path in mine if path.is_file() and looks_like_scenario(path))])

    def write(self, report: VerifyReport) -> None:
        """All of them. Raises VerifyError."""
        assert self._files is not None
        xml, quality = self._files
        if xml is not None:
            xml.write(as_junit(report, places=self._places))
        if quality is not None:
            quality.write(code_quality(report, workspace(os.environ)))

    def _output(self, path: Path | None) -> Output | None:
        return None if path is None else self._stack.enter_context(Output(path))
