"""The UI from its beginning to its end."""

from pathlib import Path

from ringhil.emulator.debug.growing import Growing
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import Library
from ringhil.emulator.front.tui.app import StepScreen
from ringhil.emulator.scenario import Scenario
from ringhil.emulator.server.firmware_choice import FirmwareChoice

_MEMORY = 1 << 29  # bytes of the moments of each of the two sessions


def step(
    path: Path, library: Library, firmware: FirmwareChoice, scenario: Scenario | None = None, first: int = 1
) -> None:
    """Show a recording from its message or event `first` on; with a scenario, one that is made meanwhile. Raises
    DebugError and RecordingError, also where the run broke off."""
    growing = None if scenario is None else Growing(path, scenario, library, firmware)
    try:
        screen = StepScreen(
            path, lambda: DebugSession(path, library, firmware=firmware, memory=_MEMORY), growing, first
        )
        try:
            screen.run()
        finally:
            screen.close()
        if growing is not None and growing.failed is not None:
            raise DebugError(growing.failed)
        if screen.rows.damaged is not None:
            raise screen.rows.damaged
    finally:
        if growing is not None:
            growing.close()
