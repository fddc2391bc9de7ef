"""A run that is written down as it goes, with the state of its hardware now and then."""

import json
import struct
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ringhil.emulator.debug.outside import write_outside
from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.outcome import Outcome, VerdictWord
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, dumps
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice, who
from ringhil.emulator.server.hashes import hashes
from ringhil.emulator.trace.recording import About, RecordingWriter
from ringhil.emulator.trace.recording.writer import BATCH, Chain
from ringhil.protocol.registers import ADDRESS

_NAMES = tuple(ADDRESS)
_ONE = struct.Struct(f"<{len(_NAMES)}I")


def hardware(engine: Engine) -> bytes:
    """Every register of every GPU at a moment: four bytes for each register, by GPU. To look changes nothing."""
    cells = range(engine.topology.cells)
    return b"".join(_ONE.pack(*(engine.peek(cell, name) for name in _NAMES)) for cell in cells)


STATES_EVERY = 1 << 16  # cycles


def outcome_document(outcome: Outcome, test: str | None = None) -> dict[str, Any]:
    """What came of a run, without how long it took, as it reads back from JSON. `test`: how the test that drove it
    failed: the run was not judged to its end, and must not be called good."""
    document = outcome.to_json()
    del document["engine"]
    if test is not None:
        document |= {"test": test, "verdict": VerdictWord.FAIL, "failures": [test, *outcome.failures]}
    found: dict[str, Any] = json.loads(json.dumps(document))
    return found


def next_state(now: int) -> int:
    """The next cycle in which all hardware is hashed."""
    return (now // STATES_EVERY + 1) * STATES_EVERY


def _about(
    run: Run,
    firmware: Sequence[str],
    nodes: Sequence[str],
    clock: int | None,
    samples: int | None,
    choice: FirmwareChoice,
) -> About:
    scenario = run.scenario.anywhere()
    return About(
        ringhil=version("ringhil"),
        rtl=run.engine.library.rtl,
        name=scenario.name,
        scenario=dumps(scenario),
        firmware=list(map(who, firmware)),
        nodes=list(nodes),
        clock=clock,
        samples=samples,
        hashes=hashes(scenario, run.engine.library.rtl, choice),
    )


def record_run(
    path: Path, scenario: Scenario, library: Library, firmware: FirmwareChoice = OURS, *, test: str | None = None
) -> Outcome:
    """Play a scenario, and write it down. `test`: see `outcome_document`. Raises RecordingError."""
    run = Run(scenario, library, firmware=firmware)
    try:
        with RunRecorder(path, run, firmware=firmware.given, choice=firmware) as recorder:
            outcome = run.run()
            recorder.end(outcome, test)
    finally:
        run.close()
    return outcome


class RunRecorder:
    """Before a run begins; call `end` with what came of it. Raises RecordingError.

    `firmware` and `nodes`: whose runs where, and whose hardware is outside, as it was written. `begun`: the run has
    come to where another recording has this number; see `RecordingWriter.go_on`. `about`: then that of the other.
    `choice`: whose firmware runs where, with the boards that do. `clock`: of a session with clients,
    and `samples`: see `About`. `batch`: of so many rows, which are then in the file.
    """

    def __init__(
        self,
        path: Path,
        run: Run,
        *,
        firmware: Sequence[str] = (),
        nodes: Sequence[str] = (),
        about: About | None = None,
        begun: tuple[Path, int, Chain] | None = None,
        choice: FirmwareChoice = OURS,
        clock: int | None = None,
        samples: int | None = None,
        batch: int = BATCH,
    ) -> None:
        wiring = run.server.wiring
        self._run = run
        self._writer = RecordingWriter(
            path,
            about or _about(run, firmware, nodes, clock, samples, choice),
            wiring.places.gpus,
            batch=batch,
        )
        if begun is not None:
            self._writer.go_on(*begun, run.kernel.now)
        self._looked: int | None = None  # the cycle of the last state
        write_outside(run, self._writer, choice)
        run.observations.listen_to_frames(self._writer.message)
        run.server.tell_recorded(self._writer.event)
        now = run.kernel.now  # what is to happen in it is still to come
        run.kernel.remind(next_state(max(0, now - 1)), self._look)

    @property
    def note(self) -> Callable[[dict[str, Any]], None]:
        """Writes down what came from outside, and when: a row with its `cycle`."""
        return self._writer.outside

    def save(self) -> None:
        """What has happened until now is in the file."""
        self._writer.save()

    def session_ends(self) -> None:
        """Its clients have gone, and time has passed up to now: the run is over in this cycle."""
        self.note({"cycle": self._run.kernel.now, "ended": True})

    def _look(self) -> None:
        now = self._looked = self._run.kernel.now
        self._writer.state(now, hardware(self._run.engine))
        self._run.kernel.remind(next_state(now), self._look)

    def end(self, outcome: Outcome, test: str | None = None) -> None:
        """The run is over. `test`: see `outcome_document`."""
        if self._looked != self._run.kernel.now:
            self._look()
        self._writer.end(outcome_document(outcome, test))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._writer.__exit__(kind, error, tb)
