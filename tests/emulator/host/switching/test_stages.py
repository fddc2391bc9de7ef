"""A first stage ends with its memory, and a cleanup gives it back at its end: with each policy that has them."""

from contextlib import suppress
from unittest import mock

import pytest

from ringhil.emulator.host.contexts.command import Reply
from ringhil.emulator.host.switching.policy import Slot
from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.host.switching.strands import Sent
from ringhil.emulator.scenario import SwitchPolicyName
from ringhil.protocol.wire import ResultStatus

from .played import Playing, scenario, task

START, CLEAN = 3000, 2000  # cycles
DATA = 4260  # bytes on the wire of 8 MiB
NEAR = 200  # cycles that a command may take


@pytest.mark.parametrize("policy", [SwitchPolicyName.PIPELINED, SwitchPolicyName.STOP_START])
def test_memory_is_held_from_the_end_of_the_start_to_the_end_of_the_cleanup(policy: SwitchPolicyName) -> None:
    tasks = [task("x", [(30, 4000)], f", start: {START}, clean: {CLEAN}, environment: 20")]
    playing = Playing(scenario(tasks, ["x"]), policy)
    assert playing.outcome.failures == ()
    (started,), (cleaned,) = (playing.spans(0, phase) for phase in (SwitchPhase.START, SwitchPhase.CLEAN))
    (held,) = (points for points in playing.switching.held.values() if len(points) > 1)
    since = playing.run.server.switching.since
    first = next(round(ms * 1000) for ms, size in held if size)
    last = round(held[-1][0] * 1000)
    assert next(size >> 20 for _, size in held if size) == 20  # the environment alone
    assert held[-1][1] == 0
    assert started.began - since + START <= first <= started.ended - since
    assert started.ended - started.began <= START + NEAR
    assert cleaned.began - since + CLEAN <= last <= cleaned.ended - since
    assert cleaned.ended - cleaned.began <= CLEAN + NEAR


@pytest.mark.parametrize("policy", [each for each in SwitchPolicyName if each is not SwitchPolicyName.PIPESWITCH])
def test_a_model_comes_in_pieces_as_long_as_they_may_be(policy: SwitchPolicyName) -> None:
    """Each costs a command."""
    took = []
    for piece in (500, 1000, 2000):
        playing = Playing(scenario([task("x", [(8, 100)])], ["x"], [f"piece: {piece}"]), policy)
        assert playing.outcome.failures == ()
        plan = playing.run.server.switching.plan
        assert plan is not None
        assert plan.requests[0].task.whole.data == DATA
        (prepared,) = playing.spans(0, SwitchPhase.PREPARE)
        took.append(prepared.ended - prepared.began)
    commands = [-(-DATA // piece) for piece in (500, 1000, 2000)]
    each = (took[0] - took[2]) / (commands[0] - commands[2])
    assert 30 < each < 90
    assert took[0] - took[1] == pytest.approx(each * (commands[0] - commands[1]), rel=0.1)


@pytest.mark.parametrize(("size", "pieces"), [(0, []), (1, [1]), (5, [5]), (6, [5, 1]), (11, [5, 5, 1])])
def test_all_bytes_of_a_model_are_copied(size: int, pieces: list[int]) -> None:
    slot = Slot(mock.Mock(card=0, gpu=2), 1, 7)
    copying, found = slot.copy(size, 5), list[int]()
    with suppress(StopIteration):
        sent = next(copying)
        while isinstance(sent, Sent):
            found.append(len(sent.command.data))
            sent = copying.send(Reply(ResultStatus.DONE))
    assert found == pieces


def test_a_task_that_has_no_room_keeps_nothing() -> None:
    """With `resident` its context goes at once: the judge sees that, and the memory is what the other one holds."""
    tasks = [task("x", [(300, 500)], ", environment: 20"), task("y", [(200, 500)], ", environment: 20")]
    playing = Playing(scenario(tasks, ["x", "y", "x"]), SwitchPolicyName.RESIDENT)
    assert [report.failed for report in playing.reports] == [None, "the GPU has no room for it", None]
    assert playing.outcome.failures == ()
    levels = [size >> 20 for points in playing.switching.held.values() for _, size in points]
    assert levels == [20, 320, 340, 320, 0]
