"""The screen of a recording that is too long to be read at once."""

import os
import signal
from multiprocessing import active_children
from pathlib import Path

import pytest

from ringhil.emulator.events.hardware import FRAMES
from ringhil.emulator.front.tui.rows import KEPT, PAGE
from ringhil.emulator.trace.recording import Recording, RecordingWriter
from ringhil.emulator.trace.recording.tables import WAYS

from .hand import Hand, looking_at


def synthetic(path: Path, model: Path, messages: int) -> None:
    """A recording of so many messages, each again and again one of another recording."""
    kinds = {kind.WAY: kind for kind in FRAMES}
    with Recording(model) as recording:
        some = list(recording.messages())
        with RecordingWriter(path, recording.about, recording.gpus) as writer:
            for number in range(messages):
                told = some[number % len(some)]
                writer.message(kinds[WAYS[told.way]](number, told.cell, told.port, told.frame, bool(told.bad)))
            writer.end({"verdict": "pass"})


@pytest.mark.rest
def test_however_long_a_recording_is_few_rows_of_it_are_read(recorded: Path, tmp_path: Path) -> None:
    messages = 12_000
    synthetic(tmp_path / "long", recorded, messages)

    async def does(hand: Hand) -> None:
        assert hand.screen.rows.read <= 3 * PAGE
        for key in ("G", "pageup", "home", "pagedown"):
            await hand.press(key)
        await hand.type(f"/{messages - 1000} ")
        assert hand.screen.here == messages - 999
        assert hand.screen.rows.read <= 8 * PAGE
        for number in range(1, messages, PAGE):
            hand.screen.go(number)
        assert hand.screen.rows.kept <= KEPT * PAGE
        assert hand.screen.rows.read <= messages + 8 * PAGE

    looking_at(tmp_path / "long", does)


@pytest.mark.rest
def test_a_search_can_be_broken_off(recorded: Path, tmp_path: Path) -> None:
    synthetic(tmp_path / "long", recorded, 100_000)

    async def does(hand: Hand) -> None:
        desks = [child.pid for child in active_children() if child.pid]
        for desk in desks:  # whatever this machine is doing, the search isn't over before the key is pressed
            os.kill(desk, signal.SIGSTOP)
        await hand.begin(*"/nowhere", "enter")
        assert hand.status.startswith("searching nowhere")
        await hand.begin("escape")
        for desk in desks:
            os.kill(desk, signal.SIGCONT)
        await hand.rest()
        assert hand.status == "broken off"
        assert hand.screen.here == 1
        await hand.type("/statistics")
        assert "statistics" in hand.status
        assert hand.screen.here > 1

    looking_at(tmp_path / "long", does)
