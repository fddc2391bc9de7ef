"""A board that answers no more, or nonsense, is given up: its GPU hangs for good, and one line says why."""

import json
import random
from unittest import mock

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.events.server import FirmwareLost
from ringhil.emulator.front.cli import firmware as command
from ringhil.emulator.loop.checking import FirmwareFinding, checked
from ringhil.emulator.pages.verdicts import RuleState
from ringhil.emulator.scenario import loads
from ringhil.emulator.server.foreign import FirmwareError, FirmwareMissing
from ringhil.protocol.line.firmware_loop import LoopType

from .trouble.boards import boarded
from .trouble.lines import Kind, Trouble
from .trouble.servers import made, played

GPU = "a.1"
POWER_UP = [kind.code for kind in (LoopType.ATTACH, LoopType.BOOT, LoopType.GROUP, LoopType.START)]
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


@pytest.mark.rest(but_one_in=3, start=1)
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


@pytest.mark.parametrize("kind", [Kind.WRONG, Kind.SILENT, Kind.PULLED])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_one_that_is_not_there_at_its_first_power_up_is_an_error(kind: Kind, first: int) -> None:
    """Up to its answer to `start`: no run says anything of a board that has done nothing."""
    with (
        boarded(GPU, [trouble(kind, first)], random.Random(1)) as (firmware, line),
        pytest.raises(FirmwareError, match=r"^firmware of a\.1 \(board\): (power-up|start in cycle 0): "),
    ):
        played(made(loads(SERVER), firmware))
    assert [request[0] for request in line.asked] == POWER_UP[: first + 1]


def test_later_it_is_given_up_at_once() -> None:
    with boarded(GPU, [trouble(Kind.WRONG, 4)], random.Random(1)) as (firmware, _):
        assert played(made(loads(SERVER), firmware))[1]["verdict"] == "pass"


def test_a_promise_is_not_kept_by_a_board_that_goes() -> None:
    """Though whoever hangs does nothing wrong."""
    for kind in (Kind.SILENT, Kind.WRONG):
        with boarded(GPU, [trouble(kind, 20)], random.Random(1)) as (firmware, _):
            (found,) = checked(firmware.chosen[GPU], ["election.waits"], cells_library())
        assert found.state is RuleState.BROKEN
        assert "it is gone: on_" in found.failures[0]


@pytest.mark.parametrize("second", ["wait.who_is_up", "registers.boot", "census.cut"])
def test_no_promise_is_judged_by_a_board_that_is_not_there_any_more(second: str) -> None:
    """Alone, at a later boot, in a server: it is asked once more, and then there is an end."""
    found = list[FirmwareFinding]()
    with (
        boarded(GPU, [trouble(Kind.SILENT, 20)], random.Random(1)) as (firmware, line),
        pytest.raises(FirmwareMissing, match="power-up: no answer, asked 4 times"),
    ):
        found.extend(checked(firmware.chosen[GPU], ["election.waits", second, "wait.rank"], cells_library()))
    assert [each.state for each in found] == [RuleState.BROKEN]
    assert len(line.asked) == 22


@pytest.mark.parametrize(("first", "code"), [(None, 2), (5, 1)])
def test_the_check_ends_with_one_line(first: int | None, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """It is gone between two promises, or while the first is played, which it breaks."""
    rules = ["wait.rank", "wait.losses"]
    if first is None:
        with boarded(GPU, [], random.Random(1)) as (firmware, line):
            assert all(checked(firmware.chosen[GPU], rules[:1], cells_library()))
            first = len(line.asked)
    with (
        boarded(GPU, [trouble(Kind.SILENT, first)], random.Random(1)) as (firmware, _),
        mock.patch.object(command, "firmware_named", return_value=firmware.chosen[GPU]),
    ):
        assert command.check.main(["board", *rules, "--json"], standalone_mode=False) == code
    out, said = capsys.readouterr()
    document = json.loads(out)
    assert [rule["state"] for rule in document["rules"]] == [("kept" if code == 2 else "broken"), "not judged"]
    assert [document["ended"]] == document["rules"][1]["failures"]
    assert said == f"ringhil: {document['ended']}; the check ends here\n"
