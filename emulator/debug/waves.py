"""Waves of a recorded run, or of a part of it: it is played again, and compared with what was recorded."""

from collections.abc import Callable
from pathlib import Path

from ringhil.emulator.debug.replaying import RunReplay, why_not
from ringhil.emulator.engine.library import Library
from ringhil.emulator.events.hardware import Advanced
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording
from ringhil.emulator.trace.waves.fst import WindowWriter

Progress = Callable[[int, int], None]  # cycles that were played, and those that are to be


def window(recording: Recording, around: int | None, cycles: int) -> tuple[int, int]:
    """First and last cycle of `cycles` around a moment, as many of them as the run has; None: all of it. Raises
    RecordingError."""
    told = None if recording.outcome is None else recording.outcome.get("cycles")
    last = max(recording.last_cycle, told if isinstance(told, int) else 0)
    if around is None:
        return 0, last
    if around > last:
        raise RecordingError(f"{recording.path}: ends in cycle {last}; found {around}")
    start = max(0, around - cycles // 2)
    return start, min(start + cycles, last)


def write_waves(
    recording: Recording,
    path: Path,
    library: Library,
    cycles: tuple[int, int],
    *,
    firmware: FirmwareChoice = OURS,
    marked: int | None = None,
    on_progress: Progress = lambda done, total: None,
) -> None:
    """The wires of all links in these cycles, the last one included, as FST; `marked`: where the marker of its viewer
    is. Raises RecordingError and WaveError."""
    other = why_not(recording, library, firmware)
    if other is not None:
        raise RecordingError(f"no waves: {other}")
    first, last = cycles
    replay = RunReplay(recording, library, firmware=firmware)
    run = replay.played
    cards = [card.name for card in run.scenario.server.cards]

    def advanced(_: Advanced) -> None:
        writer.drain()
        on_progress(run.kernel.now, last)

    with WindowWriter(path, run.engine, cards, first) as writer:
        writer.marked = marked
        run.observations.listen(Advanced, advanced)
        played = replay.run(last, writer.commit)
    if played.difference is not None:
        raise RecordingError(f"no waves: {recording.path}: is not what is played: {played.difference.text}")
