"""PipeSwitch: what its workers hold, what it measures of the hardware, and in which groups it brings a model."""

from collections.abc import Sequence

import pytest
from tests.emulator.host.switching.test_grouping import ends

from ringhil.emulator.host.switching import pipeswitch
from ringhil.emulator.host.switching.grouping import Costs, groups
from ringhil.emulator.host.switching.plan import Subtask
from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.scenario import SwitchPolicyName

from .played import Playing, scenario, task

PREPARE, RUN, START, CLEAN = SwitchPhase.PREPARE, SwitchPhase.RUN, SwitchPhase.START, SwitchPhase.CLEAN
LAYERS, CYCLES = 16, 300
SWITCH = 50  # cycles; see `played`
X = task("x", [(2, CYCLES)] * LAYERS, ", start: 300, environment: 10")
Y = task("y", [(3, 100)] * 4, ", start: 900, environment: 25")


def play(requests: list[str], presets: Sequence[str] = ("recycle: 100",)) -> Playing:
    playing = Playing(scenario([X, Y], requests, presets), SwitchPolicyName.PIPESWITCH)
    assert playing.outcome.failures == ()
    assert [(report.failed, report.times, report.attempts) for report in playing.reports] == [
        (None, 1, 1) for _ in requests
    ]
    return playing


@pytest.mark.parametrize("workers", [2, 3])
def test_each_worker_holds_the_largest_environment_and_one_process_the_largest_model(workers: int) -> None:
    playing = play(["x", "y", "x"], ["recycle: 4000", f"workers: {workers}"])
    assert playing.switching.memory >> 20 == 2 * LAYERS + 25 * workers
    levels = [size >> 20 for points in playing.switching.held.values() for _, size in points]
    assert levels == [*range(32, 32 + 25 * workers + 1, 25), *range(32 + 25 * (workers - 1), 31, -25), 0]
    # All start at the same time: it takes as long as the longest one.
    assert [[span.ended - span.began for span in playing.spans(n, START)] for n in range(3)] == [[], [900], []]
    assert [span.ended - span.began for n in range(3) for span in playing.spans(n, CLEAN)] == [4000] * 3


def test_where_the_workers_have_no_room_no_request_is_served_and_nothing_is_kept() -> None:
    tasks = [task("x", [(100, 300)], ", environment: 200"), task("y", [(90, 300)])]
    playing = Playing(scenario(tasks, ["x", "y"], ["workers: 3"]), SwitchPolicyName.PIPESWITCH)
    assert [report.failed for report in playing.reports] == ["the GPU has no room for it"] * 2
    assert not any(points and points[-1][1] for points in playing.switching.held.values())


def test_it_measures_what_commands_cost_and_takes_the_groups_that_end_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside what its copies and launches took then."""
    asked = list[tuple[Sequence[Subtask], Costs]]()

    def spied(layers: Sequence[Subtask], costs: Costs) -> tuple[tuple[int, int], ...]:
        asked.append((layers, costs))
        return groups(layers, costs)

    monkeypatch.setattr(pipeswitch, "groups", spied)
    playing = play(["x", "y"])
    layers, costs = asked[0]
    runs, copies = playing.spans(0, RUN), playing.spans(0, PREPARE)
    cuts, at = list[tuple[int, int]](), 0
    for run in runs:
        cuts.append((at, at := at + run.cycles // CYCLES))
    assert tuple(cuts) == groups(layers, costs)
    assert 3 < len(cuts) < LAYERS
    one, other = copies[:2]  # of one layer and of two, each in one piece
    assert cuts[:2] == [(0, 1), (1, 3)]
    size, more = layers[0].data, 2 * layers[0].data
    byte = ((other.ended - other.began) - (one.ended - one.began)) / (more - size)
    assert costs.byte == pytest.approx(byte, rel=0.1)
    assert costs.copy == pytest.approx(one.ended - one.began - size * byte, abs=20)
    # Its context is switched to, as for the first launch of a turn.
    assert costs.launch == pytest.approx(runs[-1].ended - runs[-1].began - runs[-1].cycles + SWITCH, abs=10)
    assert all(copies[n].ended == copies[n + 1].began for n in range(len(copies) - 1))
    measured = Costs(costs.copy, byte, costs.launch)
    others = [((0, LAYERS),), *(tuple((n, n + size) for n in range(0, LAYERS, size)) for size in (1, 2, 4, 8))]
    assert ends([*layers], measured, tuple(cuts)) <= 1.01 * min(ends([*layers], measured, each) for each in others)


@pytest.mark.parametrize(("number", "most"), [(20, 20), (48, 48), (60, 48)])
def test_a_model_comes_in_as_many_groups_as_are_worth_it(number: int, most: int) -> None:
    """One a layer where commands cost nothing and computing takes as long as copying; up to 48."""
    layers = [Subtask(1, 100, 100)] * number
    found = groups(layers, Costs(0, 1, 0))
    assert ends(layers, Costs(0, 1, 0), found) == 100 * (number + (1 if number <= most else 2))
    assert number > most or len(found) == most


def test_a_piece_may_be_as_short_as_what_is_measured() -> None:
    """Eight bytes on the link."""
    playing = Playing(scenario([task("x", [(1, 100)])], ["x"], ["piece: 14"]), SwitchPolicyName.PIPESWITCH)
    assert (playing.outcome.failures, playing.reports[0].times) == ((), 1)


def test_copies_are_no_longer_than_a_piece() -> None:
    """And no shorter: each costs a command, so a model takes as much longer."""
    took = {}
    for piece in (1065, 2130):
        playing = play(["x"], ["recycle: 100", f"piece: {piece}"])
        took[piece] = sum(span.ended - span.began for span in playing.spans(0, PREPARE))
    assert took[1065] > took[2130] + LAYERS // 2 * 30
