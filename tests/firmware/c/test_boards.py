"""Boards at the end of a serial line: the frames of a run are those of ours, whatever the line does; one that is pulled
out or hangs is a GPU that hangs."""

import json
import os
import pty
import random
import shutil
import sqlite3
import subprocess
import sys
import tty
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.command import refusal, ringhil

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop import board
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.scenario import Scenario, dumps, loads
from ringhil.emulator.server.firmware_choice import OURS, FirmwareChoice
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.line.firmware_loop import LoopType
from ringhil.protocol.line.framing import Unwrapper, wrap

from . import library
from .boards import after, process, wire

ROOT = Path(__file__).resolve().parents[3]
RING_OF_8 = """
server: {cards: {a: {gpus: 8, host_links: [0, 1, 2]}}}
timeline: [{at: 20000, fault: dead, gpu: a.0}]
expect:
  - {by: 40000, entry: {a: a.1}, count: {a: 7}}
until: 45000
"""


def played(scenario: Scenario, firmware: FirmwareChoice) -> tuple[list[tuple[object, ...]], dict[str, object]]:
    """Every frame, and the result."""
    run = Run(scenario, cells_library(), firmware=firmware)
    frames = list[tuple[object, ...]]()
    run.observations.listen_to_frames(lambda s: frames.append((s.cycle, s.cell, s.WAY, s.port, s.frame, s.bad)))
    found = run.run().to_json()
    run.close()
    firmware.close()
    del found["engine"]
    return frames, found


@pytest.mark.rest
def test_a_board_takes_part_through_a_fail_over_as_ours_would(port: str) -> None:
    scenario = loads(RING_OF_8)
    found = played(scenario, firmware_of([f"a.1={port}"]))
    assert found == played(scenario, OURS)
    assert found[1]["verdict"] == "pass"


def test_ten_recordings_in_lock_step_are_one(port: str, tmp_path: Path) -> None:
    """Byte for byte; and all frames are those of a run with our firmware."""
    text = RING_OF_8.replace("45000", "12000").replace("20000", "3000").replace("40000", "11000")
    first = tmp_path / "0"
    for number in range(10):
        recorded(tmp_path / str(number), text, firmware_of([f"a.1={port}"]))
        assert (tmp_path / str(number)).read_bytes() == first.read_bytes()
    with Recording(first) as recording:
        assert sum("asked" in json.loads(row) for _, row in recording.outside()) >= 10
    assert played(loads(text), firmware_of([f"a.1={port}"])) == played(loads(text), OURS)


@pytest.mark.rest
def test_a_microcontroller_takes_part_as_ours_would(tmp_path: Path) -> None:
    """The image for a Cortex-M3, on the board that QEMU emulates."""
    if find_spec("ziglang") is None:
        pytest.skip("no cross compiler: pip install 'ringhil[board]'")
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("no qemu-system-arm: apt-get install qemu-system-arm")
    image = library.made_by_make(tmp_path, "cortex-m3", f"PYTHON={sys.executable}") / "ringhil_mps2_an385.elf"
    options = ("-M", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", "pty")
    with process("qemu-system-arm", *options, "-kernel", str(image)) as name:
        scenario = loads(RING_OF_8)
        assert played(scenario, firmware_of([f"a.1={name}"])) == played(scenario, OURS)


# ------------------------------------------------------------------------------------------------- what lines do


def noise(dice: random.Random) -> Callable[[bytes], bytes]:
    """One piece in fifty is damaged, lost, doubled, or has something before it."""

    def spoil(data: bytes) -> bytes:
        if dice.random() > 0.02:
            return data
        at = dice.randrange(len(data))
        return dice.choice(
            (
                data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :],
                data[:at] + data[at + 1 :],
                data + data,
                dice.randbytes(dice.randrange(1, 40)) + data,
            )
        )

    return spoil


def test_a_noisy_line_changes_nothing(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is lost is asked again, and done once."""
    monkeypatch.setattr(board, "PATIENCE", 0.05)
    monkeypatch.setattr(board, "TRIES", 20)
    scenario = loads(RING_OF_8.replace("45000", "12000").replace("20000", "3000").replace("40000", "11000"))
    with wire(port, noise(random.Random(1))) as name:
        assert played(scenario, firmware_of([f"a.1={name}"])) == played(scenario, OURS)


def test_a_line_that_doubles_everything_changes_nothing(port: str) -> None:
    """What is asked twice is done once, and an answer that comes once more is none to what is asked then."""
    scenario = loads(RING_OF_8.replace("45000", "12000").replace("20000", "3000").replace("40000", "11000"))
    heard = Unwrapper()

    def twice(data: bytes) -> bytes:
        """Whole messages, which come in turn from both sides."""
        return b"".join(2 * wrap(message) for message in heard.feed(data) if isinstance(message, bytes))

    with wire(port, twice) as name:
        assert played(scenario, firmware_of([f"a.1={name}"])) == played(scenario, OURS)


GOES_ON = RING_OF_8.replace("timeline: [{at: 20000, fault: dead, gpu: a.0}]\n", "").replace("a.1", "a.0")


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("pieces", [12, 31, 60, 150])
def test_a_board_that_falls_silent_is_a_gpu_that_hangs(
    port: str, pieces: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The others go on, and the judge finds nothing wrong with them."""
    monkeypatch.setattr(board, "PATIENCE", 0.2)
    with wire(port, after(pieces)) as name:
        _, found = played(loads(GOES_ON), firmware_of([f"a.1={name}"]))
    assert (found["verdict"], found["violations"]) == ("pass", [])
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"firmware of a.1 ({name}): ")
    assert said.endswith("gone, and the GPU hangs from now on: no answer, asked 4 times")


def test_a_board_that_is_pulled_out_is_a_gpu_that_hangs(
    program: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as held:
        name = held.enter_context(process(program))
        firmware = firmware_of([f"a.1={name}"])
        run = Run(loads(GOES_ON), cells_library(), firmware=firmware)
        run.start()
        run.run_to(10_000)
        monkeypatch.setattr(board, "PATIENCE", 0.02)
        held.close()
        assert run.finish().violations == ()
        run.close()
        firmware.close()
    assert "gone, and the GPU hangs from now on: " in caplog.text


# ------------------------------------------------------------------------------------------------ the command line


@pytest.mark.rest
def test_what_answers_nothing_or_is_not_there_is_one_line(port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(RING_OF_8)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    silent = os.ttyname(theirs)
    for given, why in (
        ("a.1=/dev/nowhere", "/dev/nowhere: cannot be opened: No such file or directory"),
        (f"*={port}", "a board runs the firmware of one GPU"),
        (f"a.1={silent}", f"{silent}: this is no firmware of a GPU: no answer, asked 4 times"),
        ("a.1=socket://127.0.0.1:1", "socket://127.0.0.1:1: cannot be opened: Connection refused"),
    ):
        assert why in refusal("run", "s.yaml", "--firmware", given, cwd=tmp_path)
    twice = refusal("run", "s.yaml", "--firmware", f"a.1={port}", "--firmware", f"a.2={port}", cwd=tmp_path)
    assert twice == f"ringhil: --firmware a.2={port}: a board runs the firmware of one GPU"
    os.close(ours)
    os.close(theirs)
    for command in ("explore", "verify"):
        said = refusal(command, "s.yaml", "--firmware", f"a.1={port}", "--jobs", 2, cwd=tmp_path)
        assert said == f"ringhil {command}: --jobs: a board runs one server's firmware at a time; leave it out"
        said = refusal(command, "s.yaml", "--firmware", f"a.1={port}", "--cluster", "local", cwd=tmp_path)
        why = "a board has one line, for one process; leave --cluster out"
        assert said == f"ringhil {command}: --firmware a.1={port}: {why}"


def test_a_board_of_another_version_is_one_line(port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(RING_OF_8)
    heard = Unwrapper()

    def newer(data: bytes) -> bytes:
        """Whole messages; in an answer to `attach` the version is 7.3."""
        found = [message for message in heard.feed(data) if isinstance(message, bytes)]
        is_reply = LoopType.ATTACH_REPLY.code
        return b"".join(wrap(m[:3] + b"\7\3" + m[5:] if m[0] == is_reply else m) for m in found)

    with wire(port, newer) as name:
        said = refusal("run", "s.yaml", "--firmware", f"a.1={name}", "--record", "run.jsonl", cwd=tmp_path)
    assert said == f"ringhil: --firmware a.1={name}: it speaks version 7.3; this is 1.0"
    assert not (tmp_path / "run.jsonl").exists()


def test_verify_and_serve_take_a_board(port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(RING_OF_8)
    done = ringhil("verify", "s.yaml", "--firmware", f"a.1={port}", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "pass")


# ------------------------------------------------------------------------------------------------- of another make


@pytest.fixture(scope="module")
def answering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answering")
    example = ROOT / "examples" / "firmware"
    done = subprocess.run(["make", "-s", "-C", example, f"BUILD={folder}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.mark.rest
def test_one_of_another_make_runs_in_three_ways_alike(answering: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "firmware"))
    scenario = loads("server: {cards: {a: {gpus: 6, host_links: [0, 1, 2]}}}\nuntil: 30000\n")
    found = [
        played(scenario, firmware_of([f"a.1={what}"]))
        for what in ("answering:Answering", str(answering / "libanswering.so"))
    ]
    with process(str(answering / "answering")) as name:
        found.append(played(scenario, firmware_of([f"a.1={name}"])))
    assert found[0][1]["verdict"] == "pass"
    assert found[0] == found[1] == found[2]
    assert found[0][0] != played(scenario, OURS)[0]


def test_it_is_short() -> None:
    for name in ("answering.py", "answering.c"):
        assert len((ROOT / "examples" / "firmware" / name).read_text().splitlines()) < 100


def recorded(path: Path, text: str, firmware: FirmwareChoice) -> None:
    run = Run(loads(text), cells_library(), firmware=firmware)
    with RunRecorder(path, run, firmware=firmware.given, choice=firmware) as recorder:
        recorder.end(run.run())
    run.close()
    firmware.close()


@pytest.mark.slow(part="outside")
@pytest.mark.parametrize("pieces", [None, 60])
def test_a_recorded_run_replays_and_is_stepped_without_its_board(port: str, tmp_path: Path, pieces: int | None) -> None:
    """Also when the board is pulled out on the way."""
    path, whole = tmp_path / "r", loads(RING_OF_8.replace("expect:", "# expect:").replace("  - {by", "  # - {by"))
    text = dumps(whole)
    if pieces is None:
        recorded(path, text, firmware_of([f"a.1={port}"]))
    else:
        with wire(port, after(pieces), pulled=True) as name:
            recorded(path, text, firmware_of([f"a.1={name}"]))
    with Recording(path) as recording:
        events = [event.kind for event in recording.events()]
        assert ("FirmwareLost" in events) == (pieces is not None)
        replayed = RunReplay(recording, cells_library()).run()
        assert (replayed.difference, replayed.complete) == (None, True)
        messages = len(recording)
    with DebugSession(path, cells_library()) as session:
        dice, seen = random.Random(1), {}
        for cycle in sorted(dice.randrange(45_000) for _ in range(12)):
            session.go(cycle)
            seen[cycle] = [session.registers(gpu) for gpu in session.recording.gpus]
        for cycle in dice.sample(sorted(seen), len(seen)):  # to and fro
            session.go(cycle)
            assert [session.registers(gpu) for gpu in session.recording.gpus] == seen[cycle]
        session.go(10_000)
        session.inject("{fault: dead, gpu: a.5}")
        if pieces is None:
            with pytest.raises(DebugError, match="what the board would have done nobody knows"):
                session.branch(tmp_path / "branch")
            assert not (tmp_path / "branch").exists()
    assert messages > 500


def test_a_board_that_would_be_asked_otherwise_is_told(port: str, tmp_path: Path) -> None:
    path = tmp_path / "r"
    recorded(path, RING_OF_8, firmware_of([f"a.1={port}"]))
    with sqlite3.connect(path) as db:
        (number, text) = db.execute("SELECT number, fields FROM outside LIMIT 1 OFFSET 40").fetchone()
        row = json.loads(text)
        row["asked"] = row["asked"][:-2] + f"{int(row['asked'][-2:], 16) ^ 1:02x}"
        db.execute("UPDATE outside SET fields = ? WHERE number = ?", (json.dumps(row), number))
    with Recording(path) as recording:
        assert RunReplay(recording, cells_library()).run().difference is not None
    for fields, why in (
        ("nonsense", f"{number}: found nonsense"),
        (json.dumps({**row, "gpu": "b.9"}), f"{number}: gpu: found 'b.9'; there is no such GPU"),
    ):
        with sqlite3.connect(path) as db:
            db.execute("UPDATE outside SET fields = ? WHERE number = ?", (fields, number))
        for command in ("replay", "step"):
            said = refusal(command, path, *(("--script", path) if command == "step" else ()))
            assert said == f"ringhil: {path}: is damaged: outside {why}"


@pytest.mark.rest
def test_on_the_command_line_too(port: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(RING_OF_8)
    board = ("--firmware", f"a.1={port}")
    assert "a board can't go back" in refusal("step", "s.yaml", *board, cwd=tmp_path)
    assert ringhil("run", "s.yaml", "--record", "r.rec", *board, cwd=tmp_path).returncode == 0
    done = ringhil("replay", "r.rec", cwd=tmp_path)
    assert (done.returncode, done.stdout[:10]) == (0, "identical:"), done.stderr
    (tmp_path / "script").write_text("go 9000\nstate a.1\nback\n")
    assert ringhil("step", "r.rec", "--script", "script", cwd=tmp_path).returncode == 0
