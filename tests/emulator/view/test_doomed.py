"""Since when a run was lost, asked of the server of its page."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringhil.emulator.view.messages import ViewDoomed

from .asking import Asked, asking


@pytest.fixture
def asked(lost: Path) -> Iterator[Asked]:
    with asking(lost) as found:
        yield found


def test_stop_ends_the_playing(asked: Asked) -> None:
    asked.get("doomed", do="begin")
    while not asked.get("doomed")["done"]:
        asked.wait(0.02)
    assert asked.shown.doomed("").playing
    asked.get("doomed", do="stop")
    desk, ends = asked.shown._doom.desk, time.monotonic() + 2
    while desk.busy and time.monotonic() < ends:
        asked.wait(0.02)
    done = asked.get("doomed")["done"]
    assert not desk.busy
    asked.wait(0.3)
    answer = asked.get("doomed")
    assert (answer["done"], answer["found"]) == (done, None)


@pytest.mark.rest
def test_it_can_be_broken_off_and_asked_again(asked: Asked, doomed: ViewDoomed) -> None:
    assert asked.get("doomed") == {"playing": False, "done": 0, "total": 0, "refused": None, "found": None}
    assert asked.get("doomed", do="begin")["playing"]
    while not asked.get("doomed")["done"]:
        asked.wait(0.02)
    assert not asked.get("doomed", do="stop")["playing"]
    assert asked.get("doomed", do="begin")["playing"]
    while (answer := asked.get("doomed"))["playing"]:
        assert answer["done"] <= answer["total"]
        asked.wait(0.05)
    assert answer["found"] == doomed.model_dump()
    assert "allowed are begin and stop" in asked.refused("doomed", do="more")
