"""A recording that is walked through: messages one by one, forwards and backwards, and all that GPUs and CPU knew then.

Messages and events are read from the recording; the run is played only where its state is asked for. The state of a
message is that after its cycle: all that happens in it has been done.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ringhil.emulator.debug.condition import Condition
from ringhil.emulator.debug.looking import SteppedRun
from ringhil.emulator.debug.past import MOST_MEMORY, Past
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.replaying import scenario_of
from ringhil.emulator.debug.told import Told, decoded
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS


class DebugSession:
    """Before the first message, at first. Raises RecordingError and DebugError."""

    def __init__(
        self, path: Path, library: Library, *, firmware: FirmwareChoice = OURS, memory: int = MOST_MEMORY
    ) -> None:
        self.recording = Recording(path)
        self.here: Told | None = None
        scenario = scenario_of(self.recording)
        self._past: Past | None = None
        self._make = lambda: SteppedRun(Run(scenario, library, firmware=firmware))
        self._memory = memory
        self._other = _other(self.recording, library, firmware)

    @property
    def cycle(self) -> int:
        """Of the message or event that it is at; 0 before the first."""
        return 0 if self.here is None else self.here.cycle

    @property
    def number(self) -> int:
        """The same, its number."""
        return 0 if self.here is None else self.here.number

    # ------------------------------------------------------------------------------------------------- to and fro

    def step(self, messages: int = 1) -> bool:
        """So many messages on; False: there are not so many, and it is at the last one."""
        return self._move(self.recording.messages(self.number + 1), messages)

    def back(self, messages: int = 1) -> bool:
        """So many messages back; False: there are not so many, and it is before the first one."""
        if self._move(self.recording.messages_back(self.number - 1), messages):
            return True
        self.here = None
        return False

    def _move(self, way: Iterator[RecordedMessage], messages: int) -> bool:
        for passed, message in enumerate(way, 1):
            self.here = message
            if passed == messages:
                return True
        return False

    def until(self, condition: Condition) -> bool:
        """On to the next message or event of which this holds; False: there is none, and it stays where it is."""
        return self._find(self.recording.all(self.number + 1), condition)

    def back_until(self, condition: Condition) -> bool:
        """Back to the one before of which this holds; False: there is none, and it stays where it is."""
        return self._find(self.recording.all_back(self.number - 1), condition)

    def _find(self, way: Iterator[Told], condition: Condition) -> bool:
        found = next((told for told in way if condition(self.fields(told))), None)
        if found is None:
            return False
        self.here = found
        return True

    # ------------------------------------------------------------------------------------------------ what is there

    def fields(self, told: Told) -> dict[str, Any]:
        """What conditions are about: `number`, `cycle`, `gpu`, `kind`, of a message `way`, and its own fields."""
        about: dict[str, Any] = {"number": told.number, "cycle": told.cycle}
        if told.cell is not None:
            about["gpu"] = self.recording.gpus[told.cell]
        if isinstance(told, RecordedMessage):
            kind, found = decoded(told.frame)
            way = {"port": told.port, "bad": bool(told.bad), "way": WAYS[told.way]}
            return {**found, **about, "kind": kind, **way}
        return {**json.loads(told.fields), **about, "kind": told.kind}

    def registers(self, gpu: str) -> dict[str, int]:
        """Of a GPU such as `a.3`, by name. Raises DebugError."""
        found: dict[str, int] = self._ask("registers", gpu)
        return found

    def firmware(self, gpu: str) -> dict[str, Any] | None:
        """What a GPU's firmware has in its memory; None: it has none, or has failed. Raises DebugError."""
        found: dict[str, Any] | None = self._ask("firmware", gpu)
        return found

    def card(self, name: str) -> dict[str, Any]:
        """What the CPU knows of a card. Raises DebugError."""
        found: dict[str, Any] = self._ask("card", name)
        return found

    def _ask(self, what: str, *values: Any) -> Any:
        if self._other is not None:
            raise DebugError(self._other)
        if self._past is None:
            self._past = Past(self._make, self._memory)
        self._past.seek(0 if self.here is None else self.cycle + 1)
        return self._past.ask(what, *values)

    def close(self) -> None:
        """End all processes, close the file."""
        if self._past is not None:
            self._past.close()
        self.recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _other(recording: Recording, library: Library, firmware: FirmwareChoice) -> str | None:
    """Why the run can't be played as it was; messages and events can be walked through all the same."""
    about = recording.about
    recorded, given = ([f"--firmware {each}" for each in said] for said in (about.firmware, firmware.given))
    if library.rtl != about.rtl:
        return f"no state: {recording.path} was recorded on the RTL {about.rtl}; this one is {library.rtl}"
    if recorded != given:
        was, now = (" ".join(options) or "our firmware" for options in (recorded, given))
        return f"no state: {recording.path} was recorded with {was}; found {now}"
    return None
