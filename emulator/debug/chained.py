"""A run that is played again, held against the hashes of its recording as it goes."""

from collections.abc import Mapping

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import hardware, next_state
from ringhil.emulator.events.hardware import FrameSeen
from ringhil.emulator.judge.run import Run
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.trace.recording.writer import Chain, fields_as_text

WHY_OTHER = "another version of ringhil has made the recording, or --firmware does otherwise each time that it runs"
_OTHER = f"up to cycle {{}} the run isn't what was recorded: {WHY_OTHER}"
_WAY = {name: number for number, name in enumerate(WAYS)}


class Chained:
    """From the start of a run. `states`: number and hash by cycle. `number`: of messages and events until now."""

    def __init__(self, run: Run, states: Mapping[int, tuple[int, bytes]]) -> None:
        self._run, self._states = run, states
        self.chain, self.number = Chain(), 0
        self._told = Chain()  # the same without states
        self._wrong: str | None = None
        run.observations.listen_to_frames(self._message)
        run.server.tell_recorded(self._event)
        run.kernel.remind(next_state(0), self._look)

    def _message(self, seen: FrameSeen) -> None:
        self.number += 1
        for chain in (self.chain, self._told):
            chain.message(seen.cycle, seen.cell, _WAY[seen.WAY], seen.port, bool(seen.bad), seen.frame)

    def _event(self, cycle: int, cell: int | None, kind: str, fields: dict[str, object]) -> None:
        self.number += 1
        text = fields_as_text(fields)
        for chain in (self.chain, self._told):
            chain.event(cycle, cell, kind, text)

    def _look(self) -> None:
        now = self._run.kernel.now
        found = self.number, self.chain.state(now, hardware(self._run.engine))
        if self._states.get(now, found) != found and self._wrong is None:
            self._wrong = _OTHER.format(now)
        self._run.kernel.remind(next_state(now), self._look)

    def check_all(self, recording: Recording) -> None:
        """Every message and event until now. Raises DebugError when the recording has others."""
        recorded = Chain()
        for told in recording.all(1, self.number):
            if isinstance(told, RecordedMessage):
                recorded.message(told.cycle, told.cell, told.way, told.port, bool(told.bad), told.frame)
            else:
                recorded.event(told.cycle, told.cell, told.kind, told.fields)
        if recorded.state(0, b"") != self._told.copy().state(0, b""):
            raise DebugError(_OTHER.format(self._run.kernel.now))

    def check(self) -> None:
        """Raises DebugError when it has come to something else."""
        if self._wrong is not None:
            raise DebugError(self._wrong)
