"""A board that answers no more, or nonsense, is given up: its GPU hangs for good, and one line says why."""

import random

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.loop.checking import FirmwareVerdict, checked
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.foreign import FirmwareError
from ringhil.emulator.server.observations import FirmwareLost

from .trouble.boards import boarded
from .trouble.lines import Kind, Trouble
from .trouble.servers import made, played

GPU = "a.1"
SERVER = """
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
workload: {units: 60, size: 200}
timeline: [{at: 12000, fault: hang, gpu: a.1}, {at: 14000, clear: hang, gpu: a.1}]
until: 40000
"""


def trouble(kind: Kind, first: int, tries: int = 99) -> Trouble:
    return Trouble(kind, first, 1, tries, heard=False, delay=0)


WHY = {
    Kind.RESET: "declined, not_booted: boot comes first",
    Kind.SILENT: "no answer, asked 4 times",
    Kind.PULLED: "the line is gone: pulled out",
}


@pytest.mark.parametrize("kind", WHY)
def test_one_line_says_why_and_the_run_goes_on(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    with boarded(GPU, [trouble(kind, 20)], random.Random(1)) as (firmware, _):
        _, found = played(made(loads(SERVER), firmware))
    assert (found["verdict"], found["work"]["completed"]) == ("pass", 60)  # type: ignore[index]
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("firmware of a.1 (board): on_")
    assert "gone, and the GPU hangs from now on: " in said
    assert said.endswith(WHY[kind])


def test_it_is_not_taken_back(caplog: pytest.LogCaptureFixture) -> None:
    """It would answer again by the time at which the file lets its GPU be well again."""
    with boarded(GPU, [trouble(Kind.LOST, 20)], random.Random(1)) as (firmware, line):
        run = made(loads(SERVER), firmware)
        lost = list[FirmwareLost]()
        run.observations.listen(FirmwareLost, lost.append)
        _, found = played(run)
        assert len(line.asked) == 21
    assert len(lost) == 1 == len(caplog.records)
    assert lost[0].cycle < 12000
    assert found["cards"]["a"]["members"] == [0, 2, 3]  # type: ignore[index]


@pytest.mark.parametrize("first", [1, 2])
def test_nonsense_at_the_first_power_up_is_an_error(first: int) -> None:
    with (
        boarded(GPU, [trouble(Kind.WRONG, first)], random.Random(1)) as (firmware, _),
        pytest.raises(FirmwareError, match=r"^firmware of a\.1 \(board\): power-up: "),
    ):
        played(made(loads(SERVER), firmware))


def test_a_promise_is_not_kept_by_a_board_that_goes() -> None:
    """Though whoever hangs does nothing wrong."""
    for kind in (Kind.SILENT, Kind.WRONG):
        with boarded(GPU, [trouble(kind, 20)], random.Random(1)) as (firmware, _):
            (found,) = checked(firmware.chosen[GPU], ["election.waits"], cells_library())
        assert found.judged is FirmwareVerdict.BROKEN
        assert "it is gone: on_" in found.failures[0]
