"""The page follows a run; who is slow, or gone, is no burden."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.debug.growing import Growing
from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.firmware_choice import OURS
from ringhil.emulator.trace.recording import Recording

from .asking import Asked, asking
from .conftest import SERVER

ENDLESS = SERVER.replace("until: 40000", "until: 2000000000")


@pytest.fixture
def live(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Asked, Growing]]:
    growing = Growing(tmp_path / "g", loads(request.param), cells_library(), OURS)
    try:
        with asking(tmp_path / "g", growing) as asked:
            yield asked, growing
    finally:
        growing.close()


def followed(asked: Asked) -> list[dict[str, Any]]:
    found = asked.ask("/api/follow")
    assert found.headers["content-type"].startswith("text/event-stream")
    lines = found.body.decode().split("\n\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


@pytest.mark.rest
@pytest.mark.parametrize("live", [SERVER], indirect=True)
def test_a_run_is_followed_to_its_end(live: tuple[Asked, Growing], recorded: Path) -> None:
    asked, _ = live
    assert asked.get("about")["source"] == "run"
    events = followed(asked)
    assert [event["rows"] for event in events] == sorted(event["rows"] for event in events)
    assert [event["live"] for event in events] == [True] * (len(events) - 1) + [False]
    last = events[-1]
    with Recording(recorded) as whole:
        assert (last["rows"], last["last_cycle"], last["complete"]) == (whole.last_number, whole.last_cycle, True)
    about = asked.get("about")
    assert (about["live"], about["complete"], about["verdict"], about["unplayable"]) == (False, True, "pass", None)
    assert asked.get("picture", cycle=39000, exact=1)["cards"][0]["cpu"]["count"] == 4


@pytest.mark.rest
def test_a_recording_that_another_program_writes_is_followed(tmp_path: Path) -> None:
    path, run = tmp_path / "r", Run(loads(SERVER), cells_library())
    with RunRecorder(path, run) as recorder:
        run.start()
        run.run_to(12000)
        recorder.save()
        with asking(path) as asked:
            about = asked.get("about")
            assert (about["live"], about["complete"], about["rows"] > 100) == (True, False, True)
            assert "another program" in about["unplayable"]
            assert "another program" in asked.refused("state", gpu="a.1", number=100)
            assert asked.get("picture", cycle=11000)["gpus"][2]["faults"] == ["dead"]
            recorder.end(run.finish())
            assert not followed(asked)[-1]["live"]
            assert asked.get("about")["unplayable"] is None
            assert asked.get("picture", cycle=39000, exact=1)["cards"][0]["cpu"]["count"] == 4
    run.close()


def test_a_recording_that_nobody_writes_any_more_is_not(tmp_path: Path) -> None:
    path, run = tmp_path / "r", Run(loads(SERVER), cells_library())
    with RunRecorder(path, run) as recorder:
        run.start()
        run.run_to(12000)
        recorder.save()
    run.close()
    os.utime(path, (0, 0))
    with asking(path) as asked:
        about = asked.get("about")
        assert (about["live"], about["complete"], about["unplayable"]) == (False, False, None)
        assert asked.get("state", gpu="a.1", number=100)["registers"]


@pytest.mark.parametrize("live", [ENDLESS], indirect=True)
def test_a_run_that_dies_is_told(live: tuple[Asked, Growing]) -> None:
    asked, growing = live
    assert asked.get("about")["live"]
    os.kill(growing.process, signal.SIGKILL)
    last = followed(asked)[-1]
    assert (last["live"], last["complete"]) == (False, False)
    assert "died" in last["failed"]
    assert asked.get("rows")["rows"]


@pytest.mark.parametrize("live", [ENDLESS], indirect=True)
def test_for_a_browser_that_is_slow_nothing_is_kept(live: tuple[Asked, Growing]) -> None:
    asked, _ = live

    async def slow() -> list[int]:
        stream: AsyncIterator[Any] = asked.shown.follow()
        seen = []
        for _ in range(3):
            now = await anext(stream)
            seen.append(now.rows)
            while asked.shown.followed().rows == now.rows:
                await asyncio.sleep(0.05)
            assert asked.shown.followed().rows > now.rows
        await stream.aclose()  # type: ignore[attr-defined]
        return seen

    seen = asked.loop.run_until_complete(slow())
    assert seen == sorted(set(seen))
