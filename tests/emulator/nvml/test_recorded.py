"""A session that is monitored and recorded replays with what monitoring has asked, and without anybody who looks."""

import json
import signal
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from tests.command import ringhil

from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.replaying import RunReplay, RunReplayed
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.nvml.listener import samples_every
from ringhil.emulator.nvml.usage import UsageSampler
from ringhil.emulator.nvml.views import views_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.recording import RecordedMessage, Recording
from ringhil.protocol import codec
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import Compute

from .served import TEXT, Monitored

CLOCK = 200_000
LOOKS = """
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(4)
print(json.dumps([n.nvmlDeviceGetUtilizationRates(gpu).gpu for _ in range(20)][-1]))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    with Monitored(folder, TEXT, "--clock", str(CLOCK), "--record", str(folder / "r")) as served:
        assert served.python(LOOKS) > 0
        assert served.end(signal.SIGINT) == (0, "")
    return folder / "r"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("clock", [0, 1_000_000])
def test_also_without_a_clock_and_by_the_default_period(tmp_path: Path, clock: int) -> None:
    """0: the ring runs as fast as it can."""
    run, period = Run(loads(TEXT), cells_library()), samples_every(clock or None)
    UsageSampler(run.server, views_of(run.server), period)
    with RunRecorder(tmp_path / "r", run, clock=clock, samples=period) as recorder:
        run.start()
        run.run_to(2 * period + 1000)
        recorder.session_ends()
        run.end_at(run.kernel.now)
        recorder.end(run.finish())
    run.close()
    with Recording(tmp_path / "r") as recording:
        assert recording.about.samples == period > 1 << 16
    assert replayed(tmp_path / "r").difference is None


def test_there_are_six_samples_in_a_second_but_never_one_in_less_than_1000_cycles() -> None:
    found = [samples_every(clock) for clock in (None, 1, 1000, 6000, 60_000, 1_000_000, 1 << 32)]
    assert found == [166_667, 1000, 1000, 1000, 10_000, 166_666, 166_667]


def replayed(path: Path) -> RunReplayed:
    with Recording(path) as recording:
        return RunReplay(recording, cells_library()).run()


def test_it_replays_identically(recorded: Path) -> None:
    found = replayed(recorded)
    assert (found.difference, found.complete, found.verdict) == (None, True, "pass")
    done = ringhil("replay", recorded)
    assert done.stdout.startswith("identical: ")


def test_what_was_asked_is_in_it_at_even_distances(recorded: Path) -> None:
    with Recording(recorded) as recording:
        assert recording.about.samples == samples_every(CLOCK)
        asked = [message.cycle for message in recording.messages() if _asks_run_time(message)]
    rounds = [cycle for before, cycle in pairwise([-samples_every(CLOCK), *asked]) if cycle - before > 1000]
    assert len(rounds) > 1
    # A command waits until its context has an answer to the one before.
    assert all(abs(after - before - samples_every(CLOCK)) < 1000 for before, after in pairwise(rounds))


def _asks_run_time(message: RecordedMessage) -> bool:
    if message.way != 3 or message.kind != Work.KIND:  # from the CPU
        return False
    work = codec.decode(message.frame, link=False)
    return isinstance(work, Work) and work.compute == Compute.QUERY.code and work.payload[:4] == bytes(4)


def test_without_its_samples_it_would_differ(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_bytes(recorded.read_bytes())
    with closing(sqlite3.connect(path)) as db, db:
        (text,) = db.execute("SELECT header FROM about").fetchone()
        db.execute("UPDATE about SET header = ?", (json.dumps({**json.loads(text), "samples": None}),))
    assert replayed(path).difference is not None


@pytest.mark.rest
def test_it_is_stepped_and_branched_with_them(recorded: Path, tmp_path: Path) -> None:
    with DebugSession(recorded, cells_library()) as session:
        last = session.recording.last_cycle
        session.go(last // 2)
        before = session.registers("b.1")
        session.go(last)
        session.registers("b.1")
        session.go(last // 2)
        assert session.registers("b.1") == before
        assert session.branch(tmp_path / "branch") == "pass"
    assert replayed(tmp_path / "branch").difference is None
