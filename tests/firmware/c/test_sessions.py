"""A live session with a board, recorded, replays without the board: the same frames, bytes and verdict."""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.command import ringhil
from tests.emulator.debug.test_recorded_sessions import assert_replays, assert_stepped, other, serve

from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.loop import board
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.trace.recording import Recording
from ringhil.protocol.line.firmware_loop import LoopType

from .boards import after, process, wire


def rows_outside(path: Path) -> list[dict[str, Any]]:
    with Recording(path) as recording:
        return [json.loads(text) for _, text in recording.outside()]


def check(path: Path, program: str, seed: int, after_messages: int | None = None) -> None:
    """The board is pulled out after so many messages."""
    with process(program) as port, ExitStack() as wires:
        name = port if after_messages is None else wires.enter_context(wire(port, after(after_messages)))
        firmware = firmware_of([f"a.1={name}"])
        serve(path, seed, firmware=firmware)
        firmware.close()
    asked = [row for row in rows_outside(path) if "asked" in row]
    assert len(asked) >= 4
    assert [row["answered"] for row in asked].count(None) == (after_messages is not None)
    assert_replays(path)


@pytest.mark.rest
def test_it_replays_without_its_board(tmp_path: Path, program: str) -> None:
    check(tmp_path / "session", program, 1)
    done = ringhil("replay", "session", cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("identical: ")) == (0, True)


@pytest.mark.slow(part="outside")
def test_a_recording_replays_is_stepped_and_branches_without_its_board(tmp_path: Path, program: str) -> None:
    check(tmp_path / "session", program, 1)
    assert_stepped(tmp_path / "session", 1)
    trunk = rows_outside(tmp_path / "session")
    asked = [row["cycle"] for row in trunk if "asked" in row]
    with DebugSession(tmp_path / "session", cells_library()) as stepped:
        stepped.go(asked[len(asked) // 2])
        stepped.branch(tmp_path / "branch")
    assert rows_outside(tmp_path / "branch") == trunk
    assert_replays(tmp_path / "branch")


@pytest.mark.rest
def test_a_recording_of_a_board_that_was_pulled_out_replays_too(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "PATIENCE", 0.2)
    check(tmp_path / "session", program, 3, after_messages=20)


@pytest.mark.slow(part="benches")
def test_a_hundred_sessions_do(tmp_path: Path, program: str) -> None:
    for seed in range(100):
        check(tmp_path / f"session{seed}", program, 1000 * seed)


@pytest.mark.rest
def test_another_answer_or_another_question_is_the_first_difference(tmp_path: Path, program: str) -> None:
    path = tmp_path / "session"
    check(path, program, 2)
    last = "(SELECT max(number) FROM outside WHERE fields LIKE '%\"asked\"%')"
    for name, change, text in (
        # What it answers to `start` begins its timers: without them it is asked nothing, and sends nothing.
        (
            "silent",
            "UPDATE outside SET fields = json_set(fields, '$.answered', substr(fields ->> 'answered', 1, 6)) "
            f"WHERE fields ->> 'asked' LIKE '{LoopType.START.code:02x}%'",
            "",
        ),
        ("fewer", f"DELETE FROM outside WHERE number = {last}", "a.1: is asked "),
        (
            "more",
            "INSERT INTO outside SELECT 1 + (SELECT max(number) FROM outside), fields FROM outside "
            f"WHERE number = {last}",
            "a.1: is not asked ",
        ),
    ):
        done = ringhil("replay", other(path, tmp_path / name, change))
        assert done.returncode == 1
        assert text in done.stdout + done.stderr


@pytest.mark.rest
def test_a_board_that_is_there_again_may_take_part(tmp_path: Path, program: str) -> None:
    """It is asked the same, and its answers are compared by what comes of them."""
    with process(program) as port:
        given = f"a.1={port}"
        firmware = firmware_of([given])
        serve(tmp_path / "session", 4, firmware=firmware)
        firmware.close()
        time.sleep(0.05)
        done = ringhil("replay", "session", "--firmware", given, cwd=tmp_path)
    assert (done.returncode, done.stdout.startswith("identical: ")) == (0, True)
