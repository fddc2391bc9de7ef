"""What a client has launched: a recording, or the run of a server's file, which is recorded first."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import Library
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.scenario import load
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.trace.recording import Recording

_MOST_BRANCHES = 1000


class Offer(NamedTuple):
    """What the command line has said: `file`, `firmware` and how RTL is built. `fixed`: whoever connects may launch
    nothing else, and have no file written or read by its name."""

    file: Path | None
    firmware: FirmwareChoice
    library: Callable[[Callable[[str], None]], Library]
    fixed: bool = False


class Launched:
    """Raises RinghilError. `say` tells people of what takes long."""

    def __init__(
        self,
        offer: Offer,
        program: str | None,
        firmware: list[str],
        branches: str | None,
        folder: str,
        say: Callable[[str], None],
    ) -> None:
        if offer.fixed and (program or firmware or branches):
            raise DebugError(
                "found program, firmware or branches; over TCP what is launched stands on the command line"
            )
        file = Path(program) if program else offer.file
        if file is None:
            raise DebugError("program: found none; needed is a recording or a server's file")
        self.file, self._folder, self._branches = file, folder, branches
        self._firmware = firmware_of(firmware) if firmware else offer.firmware
        if self._firmware.boards:
            raise DebugError("firmware: a board can't go back; classes and libraries can")
        self._library = offer.library(say)
        recording = file
        if not Recording.is_one(file):
            server = load(file)
            recording = Path(folder, "recorded")
            recording.unlink(missing_ok=True)
            say(f"playing {file}\n")
            record_run(recording, server, self._library, self._firmware)
        self._recording = recording
        self.session = DebugSession(recording, self._library, firmware=self._firmware)

    def branch(self) -> Path:
        """Goes on with another way, which begins with what was set here; the file in which that is, beside what was
        launched. Raises DebugError."""
        place = Path(self._branches) if self._branches else self.file.parent
        names = (place / f"{self.file.stem}.branch-{number}.rec" for number in range(1, _MOST_BRANCHES))
        path = next((name for name in names if not name.exists()), None)
        if path is None:
            raise DebugError(f"{place}: has {_MOST_BRANCHES - 1} branches of {self.file.stem} already; delete some")
        try:
            self.session.branch(path)
            other = DebugSession(path, self._library, firmware=self._firmware)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        other.here = next(other.recording.all(self.session.number, self.session.number), None)
        self.session.close()
        self.session = other
        return path

    def close(self) -> None:
        """End what plays it."""
        self.session.close()
