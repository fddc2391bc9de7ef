"""The take-over on docs/explanation/elections.md happens: its cycles are those of a recording."""

import json
import re
from pathlib import Path

import pytest

from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import load
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol import codec
from ringhil.protocol.frames import Election
from ringhil.protocol.wire import Operation

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "elections.md"
SECTION = PAGE.read_text().split("## A take-over, cycle by cycle")[1].split("\n## ")[0]


class Told:
    """What a recording tells, by where it was and what it says."""

    def __init__(self, recording: Recording) -> None:
        self.events: list[tuple[int, str, str, dict[str, object]]] = []
        self.elections: list[tuple[int, str, str, Election]] = []
        for told in recording.all():
            gpu = "server" if told.cell is None else recording.gpus[told.cell]
            if isinstance(told, RecordedMessage):
                frame = codec.decode(told.frame, link=False)
                if isinstance(frame, Election):
                    self.elections.append((told.cycle, gpu, WAYS[told.way], frame))
            else:
                self.events.append((told.cycle, gpu, told.kind, json.loads(told.fields)))

    def event(self, where: str, kind: str, **fields: object) -> int:
        """The cycle of the first one."""
        return next(
            cycle
            for cycle, gpu, name, said in self.events
            if (gpu, name) == (where, kind) and fields.items() <= said.items()
        )

    def election(self, where: str, way: str, operation: Operation, after: int) -> tuple[int, int]:
        """Cycle and lease of the first one after a cycle."""
        return next(
            (cycle, frame.lease)
            for cycle, gpu, to, frame in self.elections
            if cycle > after and (gpu, to, frame.operation) == (where, way, operation.code)
        )


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The example that the page names, recorded."""
    (name,) = re.findall(r"`(examples/[^`]+)`", SECTION)
    file = tmp_path_factory.mktemp("take-over") / "run.rec"
    record_run(file, load(ROOT / name), cells_library())
    with Recording(file) as recording:
        return Told(recording)


def test_each_figure_is_that_of_the_run(told: Told) -> None:
    dead = told.event("server", "Struck", fault="dead", gpu="b.3")
    refused, left = told.election("b.2", "from_firmware", Operation.REFUSE, dead)
    granted = told.event("b.2", "Granted", role="boundary", epoch=2)
    claimed, _ = told.election("a.5", "from_firmware", Operation.CLAIM, refused + left)
    found = [
        [told.event("server", "Granted", role="entry", card=0, epoch=1), told.event("a.0", "Elected", role="entry")],
        [told.event("b.3", "Granted", role="boundary", epoch=1), told.event("a.4", "Elected", role="boundary")],
        [dead],
        [told.event("a.4", "Deposed", role="boundary")],
        [told.event("b.2", "PeerDown", role="boundary", gpu=3)],
        [refused, left],
        [claimed],
        [
            granted,
            told.election("a.5", "to_firmware", Operation.GRANT, granted)[0],
            told.event("a.5", "Elected", epoch=2),
        ],
        [told.event("server", "Struck", fault="dead", gpu="a.0")],
        [told.event("server", "Lapsed", role="entry", card=0)],
        [told.event("server", "Granted", role="entry", card=0, epoch=2), told.event("a.1", "Elected", role="entry")],
        [told.event("server", "Struck", clear="dead", gpu="a.0")],
    ]
    assert found == figures()


def figures() -> list[list[int]]:
    """Those of each row: the cycle, and what the text says; not numbers of GPUs and epochs."""
    rows = re.findall(r"^\| ([0-9,]+) \| (.+) \|$", SECTION, re.MULTILINE)
    number = re.compile(r"(?<![.\w])[0-9][0-9,]*[0-9](?![.\w])")
    return [[int(n.replace(",", "")) for n in (cycle, *number.findall(text))] for cycle, text in rows]
