"""A run that is played and recorded by a process of its own, while the recording is looked at."""

import os
import signal
import time
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.engine.library import Library
from ringhil.emulator.scenario import Scenario
from ringhil.emulator.trace.recording import Recording

if TYPE_CHECKING:
    from ringhil.emulator.server.firmware_choice import FirmwareChoice

_QUIET = 10.0  # seconds
_BATCH = 256  # rows: of so many the list grows


class Growing:
    """Begins at once; the recording is there. Raises DebugError where the run can't begin."""

    def __init__(self, path: Path, scenario: Scenario, library: Library, firmware: "FirmwareChoice") -> None:
        context = get_context("fork")
        self._line, theirs = context.Pipe()
        ours = (path, scenario, library, firmware)
        self._process = context.Process(target=_play, args=(*ours, theirs, self._line), daemon=True)
        self._process.start()
        theirs.close()
        self.failed = self._said()  # None: all is well
        if self.failed is not None:
            self.close()
            raise DebugError(self.failed)

    def _said(self) -> str | None:
        try:
            found: str | None = self._line.recv()
        except EOFError:
            return "the process that played the run has died"
        return found

    @property
    def process(self) -> int:
        """Its number."""
        return self._process.pid or 0

    def over(self) -> bool:
        """Whether the run has ended, well or not: then `failed` says why."""
        if not self._line.poll():
            return False
        self.failed = self._said()
        return True

    def close(self) -> None:
        """Whatever it has come to, it ends."""
        self._line.close()
        self._process.kill()
        self._process.join()
        self._process.close()


class OthersGrowing:
    """A recording that another program writes, such as `ringhil serve --record`, as far as it can be told from outside:
    it is over when the recording says so, or nothing was written for a while."""

    failed: str | None = None

    def __init__(self, recording: Recording) -> None:
        self._recording, self._path = recording, recording.path

    def over(self) -> bool:
        """Whether no more is to come. Raises RecordingError."""
        if self._recording.complete or self._recording.cut_off or self._recording.over():
            return True
        try:
            return time.time() - self._path.stat().st_mtime > _QUIET
        except OSError:
            return True


def _play(
    path: Path, scenario: Scenario, library: Library, firmware: "FirmwareChoice", line: Connection, other: Connection
) -> None:
    """Says None when it has begun, and again when it has ended; otherwise why it hasn't."""
    from ringhil.emulator.debug.recorder import RunRecorder  # not needed to follow what others record
    from ringhil.emulator.judge.run import Run

    other.close()  # or the line would never end
    Thread(target=_end_with, args=(line,), daemon=True).start()
    try:
        run = Run(scenario, library, firmware=firmware)
        try:
            with RunRecorder(path, run, firmware=firmware.given, choice=firmware, batch=_BATCH) as recorder:
                line.send(None)
                recorder.end(run.run())
        finally:
            run.close()
        line.send(None)
    except Exception as error:
        line.send(str(error) or type(error).__name__)


def _end_with(line: Connection) -> None:
    """A run that nobody looks at any more, as whoever did was killed, would fill the disk."""
    with suppress(EOFError, OSError):
        line.recv()
    os.kill(os.getpid(), signal.SIGKILL)
