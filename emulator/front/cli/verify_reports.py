"""The files that `ringhil verify` reports to: there with the verdicts of this very run, or not at all."""

import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from ringhil.emulator.campaign.verify import VerifyReport
from ringhil.emulator.campaign.verify.annotations import code_quality, workspace
from ringhil.emulator.campaign.verify.discover import looks_like_scenario
from ringhil.emulator.campaign.verify.junit import junit as as_junit
from ringhil.emulator.campaign.verify.outputs import Output
from ringhil.emulator.files import NobodyReadsError
from ringhil.emulator.front.cli.written import check_apart


class Reports:
    """`junit`, `codequality`: where they go, if anywhere. `places`: JUnit says where in a file each failure is.
    Closed with `opened`."""

    def __init__(self, opened: ExitStack, junit: Path | None, codequality: Path | None, *, places: bool) -> None:
        self._stack, self._junit, self._codequality, self._places = opened, junit, codequality, places
        self._outputs: dict[Path, Output] = {}

    def open(self, read: Iterable[Path]) -> None:
        """Waits for whoever reads a FIFO. Raises UsageError for one that would take the place of what is `read`,
        VerifyError for one that can't be written."""
        self._open(read, wait=True)

    def open_early(self, paths: Iterable[Path]) -> None:
        """The same once it is to end, and before it is known what is read below `paths`: nothing that may be a scenario
        is touched, and a FIFO that nobody reads gets no report."""
        mine = [path for path in (self._junit, self._codequality) if path is not None and path not in self._outputs]
        if mine:
            self._open([*paths, *(path for path in mine if path.is_file() and looks_like_scenario(path))], wait=False)

    def write(self, report: VerifyReport) -> None:
        """All that are open. Raises VerifyError."""
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
