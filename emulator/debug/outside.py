"""What boards and hardware outside did in a recorded run: it runs again without them.

Of a board that runs a GPU's firmware it is what it was asked and has answered; of a GPU's hardware, where it did
otherwise than ours, and when it was lost.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from ringhil.emulator.engine.engine import NodeDiffered
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.recorded import recorded_nodes, with_recorded
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.serial.replaying import OUTSIDE, Exchanged, LostHardware
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.node_choice import NodeChoice
from ringhil.emulator.server.observations import NodeLost
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording, RecordingWriter
from ringhil.emulator.trace.recording.tables import About


def write_outside(run: Run, writer: RecordingWriter, firmware: FirmwareChoice) -> None:
    """Have it written down from now on."""
    gpu_of = run.server.wiring.gpu_of

    def lost(seen: NodeLost) -> None:
        writer.outside({"cycle": seen.cycle, "gpu": str(gpu_of(seen.cell)), "lost": seen.why})

    def differed(seen: NodeDiffered) -> None:
        gpu = str(gpu_of(seen.cell))
        writer.outside({"cycle": seen.cycle, "gpu": gpu, "differed": seen.place, "value": seen.value})

    run.observations.listen(NodeLost, lost)
    run.observations.listen(NodeDiffered, differed)
    for gpu, board in firmware.boards.items():
        board.on_exchange = _exchanges(run, writer, gpu)


def _exchanges(run: Run, writer: RecordingWriter, gpu: str) -> Callable[[bytes, bytes | None], None]:
    def exchanged(asked: bytes, answered: bytes | None) -> None:
        said = None if answered is None else answered.hex()
        writer.outside({"cycle": run.kernel.now, "gpu": gpu, "asked": asked.hex(), "answered": said})

    return exchanged


class RecordedOutside:
    """Of a recording; as `loop.recorded` reads it."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @property
    def header(self) -> About:
        """What was run."""
        return self._recording.about

    def rows(self) -> Iterator[tuple[int, Any]]:
        """Each with its number. Raises RecordingError where they are damaged."""
        for number, text in self._recording.outside():
            try:
                row = OUTSIDE.validate_json(text)
                if isinstance(row, Exchanged) and row.answered is None:
                    row = row.model_copy(update={"why": self._why(row.gpu)})
                yield number, row
            except ValidationError:
                raise RecordingError(
                    f"{self._recording.path}: is damaged: outside {number}: found {text[:100]}"
                ) from None

    def _why(self, gpu: str) -> str | None:
        """A board was gone: as the firmware's loss was told then, without where it was missed."""
        told = self._recording.last_event("FirmwareLost")
        while told is not None and (told.cell is None or self._recording.gpus[told.cell] != gpu):
            told = self._recording.last_event("FirmwareLost", told.number - 1)
        return None if told is None else str(json.loads(told.fields).get("why")).partition(": ")[2]

    def choices(self, firmware: FirmwareChoice) -> tuple[FirmwareChoice, NodeChoice]:
        """What was chosen, and for boards that were not, what answers as they did."""
        return with_recorded(self, firmware), recorded_nodes(self)

    def losses(self) -> list[tuple[int, str, str]]:
        """Cycle, GPU and why, of hardware that was lost."""
        if not self.header.nodes:
            return []
        return [(row.cycle, row.gpu, row.lost) for _, row in self.rows() if isinstance(row, LostHardware)]


def play_to(run: Run, cycle: int | None, losses: list[tuple[int, str, str]]) -> None:
    """Play up to a cycle, None: to where the last of these is; those that come before it are taken off the list."""
    while losses and (cycle is None or losses[0][0] < cycle):
        at, gpu, why = losses.pop(0)
        run.run_to(at)
        run.server.lose(run.server.wiring.cell_of(GpuRef.parse(gpu)), why)
    if cycle is not None:
        run.run_to(cycle)


def close_boards(firmware: FirmwareChoice) -> str | None:
    """The run is over: what a recorded board should have been asked, and wasn't, or the other way round."""
    for board in firmware.boards.values():
        with suppress(OSError):
            board.close()
    return next((board.difference for board in firmware.boards.values() if board.difference is not None), None)
