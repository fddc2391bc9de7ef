"""A live session with a board, recorded, replays without the board: the same frames, bytes and verdict."""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.command import refusal, ringhil
from tests.emulator.debug.test_recorded_sessions import assert_replays, assert_stepped, serve
from tests.emulator.serial.test_replaying import session, summed

from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.loop import board
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.loop.recorded import with_recorded
from ringhil.emulator.serial.journal import written
from ringhil.emulator.serial.replaying import Journalled, Replayed, SessionReplay
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.line.firmware_loop import LoopType

from .boards import after, process, wire


def recorded(path: Path, program: str, seed: int) -> None:
    with process(program) as port:
        firmware = firmware_of([f"a.1={port}"])
        session(path, seed, firmware=firmware)
        firmware.close()


def replayed(path: Path) -> Replayed:
    journal = Journalled(path)
    return SessionReplay(path, cells_library(), with_recorded(journal, OURS), journal).run()


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def check(path: Path, program: str, seed: int) -> None:
    recorded(path, program, seed)
    assert sum("asked" in row for row in rows(path)) >= 4
    found = replayed(path)
    assert (found.difference, found.complete) == (None, True)


def test_it_replays_without_its_board(tmp_path: Path, program: str) -> None:
    path = tmp_path / "session"
    check(path, program, 1)
    done = ringhil("replay", str(path), cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("identical: ")) == (0, True)


def rows_outside(path: Path) -> list[dict[str, Any]]:
    with Recording(path) as recording:
        return [json.loads(text) for _, text in recording.outside()]


def check_recording(path: Path, program: str, seed: int, after_messages: int | None = None) -> None:
    """As a recording. The board is pulled out after so many messages."""
    with process(program) as port, ExitStack() as wires:
        name = port if after_messages is None else wires.enter_context(wire(port, after(after_messages)))
        firmware = firmware_of([f"a.1={name}"])
        serve(path, seed, firmware=firmware)
        firmware.close()
    asked = [row for row in rows_outside(path) if "asked" in row]
    assert len(asked) >= 4
    assert [row["answered"] for row in asked].count(None) == (after_messages is not None)
    assert_replays(path)


@pytest.mark.slow(part="outside")
def test_a_recording_replays_is_stepped_and_branches_without_its_board(tmp_path: Path, program: str) -> None:
    check_recording(tmp_path / "session", program, 1)
    assert_stepped(tmp_path / "session", 1)
    trunk = rows_outside(tmp_path / "session")
    asked = [row["cycle"] for row in trunk if "asked" in row]
    with DebugSession(tmp_path / "session", cells_library()) as stepped:
        stepped.go(asked[len(asked) // 2])
        stepped.branch(tmp_path / "branch")
    assert rows_outside(tmp_path / "branch") == trunk
    assert_replays(tmp_path / "branch")


def test_a_recording_of_a_board_that_was_pulled_out_replays_too(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "PATIENCE", 0.2)
    check_recording(tmp_path / "session", program, 3, after_messages=20)


@pytest.mark.slow(part="benches")
def test_a_hundred_sessions_do(tmp_path: Path, program: str) -> None:
    for seed in range(100):
        check_recording(tmp_path / f"session{seed}", program, 1000 * seed)


def test_one_whose_board_was_pulled_out_replays_too(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "PATIENCE", 0.2)
    path = tmp_path / "session"
    with process(program) as port, wire(port, after(20)) as name:
        firmware = firmware_of([f"a.1={name}"])
        session(path, 3, firmware=firmware)
        firmware.close()
    gone = [row for row in rows(path) if "asked" in row and row["answered"] is None]
    assert len(gone) == 1
    found = replayed(path)
    assert (found.difference, found.complete) == (None, True)


def test_another_answer_or_another_question_is_the_first_difference(tmp_path: Path, program: str) -> None:
    path = tmp_path / "session"
    recorded(path, program, 2)
    lines = path.read_text().splitlines(keepends=True)
    asked = [number for number, line in enumerate(lines) if '"asked"' in line]
    # What it answers to `start` begins its timers: without them it is asked nothing, and sends nothing.
    at = next(n for n in asked if json.loads(lines[n])["asked"].startswith(f"{LoopType.START.code:02x}"))
    row = json.loads(lines[at])
    silent = [*lines[:at], written({**row, "answered": row["answered"][:6]}), *lines[at + 1 :]]
    fewer = [*lines[: asked[-1]], *lines[asked[-1] + 1 :]]
    more = [*lines[: asked[-1]], lines[asked[-1]], *lines[asked[-1] :]]
    for found, text in (
        (replayed(summed(tmp_path / "silent", silent)), "line "),
        (replayed(summed(tmp_path / "fewer", fewer)), "a.1: is asked "),
        (replayed(summed(tmp_path / "more", more)), "a.1: is not asked "),
    ):
        assert found.difference is not None
        assert text in found.difference


def test_a_board_that_is_there_again_may_take_part(tmp_path: Path, program: str) -> None:
    """It is asked the same, and its answers are compared by what comes of them."""
    path = tmp_path / "session"
    with process(program) as port:
        given = f"a.1={port}"
        firmware = firmware_of([given])
        session(path, 4, firmware=firmware)
        firmware.close()
        time.sleep(0.05)
        done = ringhil("replay", str(path), "--firmware", given, cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("identical: ")) == (0, True)
    said = refusal("replay", str(path), "--firmware", "a.1=ringhil.firmware.boot:our_program", cwd=tmp_path)
    assert "was recorded with --firmware a.1=/dev/pts/" in said
