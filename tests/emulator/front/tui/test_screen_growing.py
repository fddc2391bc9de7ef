"""The screen of a run that is being recorded."""

import os
import select
import signal
from multiprocessing import get_context
from pathlib import Path

import pytest
from textual.widgets import Static

from ringhil.emulator.debug.growing import Growing
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.front.tui.app import StepScreen
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.trace.recording import Recording

from .hand import LIMIT, SERVER, Hand, looking_at


@pytest.mark.rest
def test_a_run_is_looked_at_while_it_is_recorded(recorded: Path, tmp_path: Path) -> None:
    growing = Growing(tmp_path / "g", loads(SERVER), cells_library(), OURS)

    async def does(hand: Hand) -> None:
        await hand.rest(lambda: hand.screen.rows.count > 0)
        await hand.press("down")
        await hand.rest(lambda: hand.screen.rows.recording.complete)
        await hand.press("end")
        with Recording(recorded) as whole:
            assert hand.screen.rows.count == whole.last_number
            assert list(hand.screen.rows.recording.all()) == list(whole.all())
        assert "verdict" in str(hand.screen.query_one("#head", Static).render())
        await hand.press("]")
        await hand.look()
        assert "registers" in hand.pane("state")

    try:
        looking_at(tmp_path / "g", does, growing=growing)
    finally:
        growing.close()
    assert growing.failed is None


def test_a_run_that_dies_is_told(tmp_path: Path) -> None:
    endless = SERVER.replace("until: 40000", "until: 2000000000")
    growing = Growing(tmp_path / "g", loads(endless), cells_library(), OURS)

    async def does(hand: Hand) -> None:
        await hand.rest(lambda: hand.screen.rows.count > 0)
        os.kill(growing.process, signal.SIGKILL)
        await hand.rest(lambda: growing.failed is not None and "broke off" in hand.status)
        await hand.press("end")
        assert hand.screen.here == hand.screen.rows.count

    try:
        looking_at(tmp_path / "g", does, growing=growing)
    finally:
        growing.close()
    assert growing.failed == "the process that played the run has died"


def test_a_run_that_cannot_begin_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DebugError, match=r"g: cannot be written"):
        Growing(tmp_path / "none" / "g", loads(SERVER), cells_library(), OURS)


def test_a_run_ends_with_whoever_looks_at_it(tmp_path: Path) -> None:
    endless = loads(SERVER.replace("until: 40000", "until: 2000000000"))
    reading, writing = os.pipe()  # every process that is forked from here has it open until its end

    def looks() -> None:
        growing = Growing(tmp_path / "g", endless, cells_library(), OURS)
        screen = StepScreen(tmp_path / "g", lambda: DebugSession(tmp_path / "g", cells_library()), growing)
        os.write(writing, b"begun")
        screen.run(headless=True)

    looker = get_context("fork").Process(target=looks)
    looker.start()
    os.close(writing)
    try:
        assert os.read(reading, 100) == b"begun"
        looker.kill()
        looker.join()
        assert select.select([reading], [], [], LIMIT)[0]
        assert os.read(reading, 100) == b""
    finally:
        os.close(reading)
