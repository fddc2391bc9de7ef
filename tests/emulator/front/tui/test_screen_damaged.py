"""The screen of a recording that is damaged, or evil."""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.tui.app import _TICK, StepScreen
from ringhil.emulator.front.tui.opening import step
from ringhil.emulator.front.tui.rows import PAGE
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording

from .hand import Hand, looking_at

ONE = "(SELECT min(number) FROM messages WHERE number >= ?)"


def changed(recorded: Path, path: Path, change: str, *values: object) -> Path:
    """A copy in which a row is another."""
    shutil.copy(recorded, path)
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(change, values).rowcount == 1
    return path


def test_of_a_damaged_page_no_line_is_there_and_all_others_are(recorded: Path, tmp_path: Path) -> None:
    damaged = 2 * PAGE + 9
    path = changed(recorded, tmp_path / "r", f"UPDATE messages SET frame = 'text' WHERE number = {ONE}", damaged)

    async def does(hand: Hand) -> None:
        assert all(hand.lines())
        with Recording(recorded) as whole:
            there = {told.number: told.cycle for told in whole.all()}
        for number in (PAGE + 60, 3 * PAGE + 60):
            await hand.type(f":go {there[number]}")
            assert all(hand.lines())
        assert hand.screen.rows.damaged is None
        hand.screen.go(damaged)
        await hand.rest()
        assert not any(hand.lines())
        assert "is damaged: message " in str(hand.screen.rows.damaged)
        hand.screen.go(3 * PAGE + 60)
        await hand.rest()
        assert all(hand.lines())

    looking_at(path, does)


def test_a_screen_of_what_is_damaged_ends_with_one_line(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as it was looked at."""
    path = changed(recorded, tmp_path / "r", f"UPDATE messages SET cell = 99 WHERE number = {ONE}", 2 * PAGE + 9)
    for number, told in ((1, False), (2 * PAGE, True)):
        monkeypatch.setattr(StepScreen, "run", lambda screen, at=number: screen.rows.get(at))
        with pytest.raises(RecordingError, match="is damaged: message ") if told else nullcontext():
            step(path, cells_library(), OURS)


@pytest.mark.rest
def test_a_damaged_event_is_told_once_and_lets_commands_be(recorded: Path, tmp_path: Path) -> None:
    path = changed(recorded, tmp_path / "r", "UPDATE events SET fields = '[' WHERE kind = 'Struck' AND cycle = 9000")

    async def does(hand: Hand) -> None:
        assert "damaged: event " in " ".join(hand.said.split())  # as long as the path is, a line may end anywhere
        await hand.type(":state a.1")
        await asyncio.sleep(3 * _TICK)
        await hand.rest()
        assert "registers:" in hand.said

    looking_at(path, does)


def test_what_a_recording_says_does_nothing_to_the_terminal(recorded: Path, tmp_path: Path) -> None:
    evil, shown = "\x1b[31m\x07\x9b2J", r"\x1b[31m\x07\x9b2J"
    fields = json.dumps({"role": evil, "epoch": 1, evil: evil})
    one = "(SELECT min(number) FROM events WHERE kind = 'Elected')"
    path = changed(recorded, tmp_path / "r", f"UPDATE events SET fields = ? WHERE number = {one}", fields)

    async def does(hand: Hand) -> None:
        await hand.type(":next Elected")
        assert shown in "".join(hand.lines())
        assert shown in hand.pane("frame")
        await hand.type(":show")
        assert shown in hand.shown
        assert not {*"\x1b\x07\x9b"} & {*hand.shown}

    looking_at(path, does)
