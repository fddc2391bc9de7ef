"""Training is stopped for a request that has come, by policies that do so, and goes on: every step once, whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.switching.plan import PlannedTask, Subtask, WantedTask
from ringhil.emulator.host.switching.policy import RequestQueue
from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.scenario import SwitchPolicyName

from .played import Part, Playing, scenario, task

PREPARE, RUN = SwitchPhase.PREPARE, SwitchPhase.RUN
PIPESWITCH, STOP_START = SwitchPolicyName.PIPESWITCH, SwitchPolicyName.STOP_START
PARTS: list[Part] = [(20, 1000), (20, 1000), (20, 1000)]  # 3,000 cycles a step of inference, 9,000 of training
TRAIN = task("train", PARTS, ", kind: training, steps: 6, start: 300, clean: 200, environment: 10")
INFER = task("infer", PARTS, ", start: 300, clean: 200, environment: 10")
INTERRUPT = ["interrupt: true", "recycle: 100"]


def served(playing: Playing) -> None:
    """Each request once, without a failure of the judge, and nothing is left on the GPU."""
    assert playing.outcome.failures == ()
    assert [(report.failed, report.times) for report in playing.reports] == [(None, 1)] * len(playing.reports)
    assert [playing.run.engine.peek(cell, "memory_held") for cell in range(4)] == [0] * 4


def play(requests: list[str], policy: SwitchPolicyName = PIPESWITCH, presets: list[str] = INTERRUPT) -> Playing:
    return Playing(scenario([TRAIN, INFER], requests, presets), policy)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("after", [8000, 11_111, 25_000, 40_001])
def test_training_is_stopped_between_two_launches_and_the_step_is_done_again(after: int) -> None:
    playing = play(["train", f"infer, after: {after}"])
    served(playing)
    train, infer = playing.reports
    (stop,) = train.stops
    assert infer.began is not None
    assert infer.ended is not None
    assert train.ended is not None
    runs = playing.spans(0, RUN)
    last = max(run.ended for run in runs if run.began <= infer.wanted)  # the launch that was under way
    assert stop.ended in (last, infer.wanted)
    assert stop.ended <= infer.began < infer.ended < train.ended
    before = [run for run in runs if run.ended <= stop.ended]
    groups = 1 + max(run.part or 0 for run in runs)
    assert [run.part for run in runs[len(before) :]][:groups] == [*range(groups)]  # from the beginning of a step
    lost = sum(run.cycles for run in before[len(before) - len(before) % groups :])
    assert train.ran == 6 * 9000 + lost
    assert infer.ran == 3000
    assert (train.attempts, infer.attempts) == (2, 1)
    assert playing.switching.latency_ms == (infer.ended - infer.wanted) / 1000
    assert [(each.before, each.after) for each in playing.switching.switches] == [
        ("train", "infer"),
        ("infer", "train"),
    ]


@pytest.mark.rest
def test_a_model_that_still_comes_is_not_brought_to_its_end() -> None:
    """The link is slow: another group is on its way when training is stopped."""
    tasks, slow = [TRAIN, INFER], [*INTERRUPT, "link: 1000", "piece: 1024"]
    whole = Playing(scenario(tasks, ["train", "infer, after: 900000"], slow), PIPESWITCH)
    assert not whole.reports[0].stops
    coming = whole.spans(0, PREPARE)[1]
    since = whole.run.server.switching.since
    requests = ["train", f"infer, after: {(coming.began + coming.ended) // 2 - since}"]
    playing = Playing(scenario(tasks, requests, slow), PIPESWITCH)
    served(playing)
    (stop,) = playing.reports[0].stops
    (dropped,) = [each for each in playing.spans(0, PREPARE) if each.lost]
    assert (dropped.part, dropped.began) == (1, coming.began)
    assert stop.ended == playing.reports[1].wanted  # in that very cycle, though nothing else happens in it
    assert stop.ended < dropped.ended < stop.ended + 2200  # the command that was under way
    assert dropped.ended < coming.ended
    again = [each for each in playing.spans(0, PREPARE) if each.began >= stop.ended and not each.lost]
    assert again[0].part == 0


def test_who_was_stopped_waits_for_all_that_have_come_and_no_longer() -> None:
    playing = play(["train", "infer, after: 15000", "infer, after: 15001", "infer, after: 40000"])
    served(playing)
    train, first, second, third = playing.reports
    assert [len(report.stops) for report in playing.reports] == [2, 0, 0, 0]
    assert second.ended is not None
    assert third.began is not None
    assert third.began > third.wanted
    between = [run for run in playing.spans(0, RUN) if second.ended <= run.began < third.began]
    assert between
    assert train.ended is not None
    assert max(report.ended or 0 for report in (first, second, third)) < train.ended


def test_training_that_was_stopped_stops_nobody() -> None:
    playing = play(["train", "train, after: 20000"])
    served(playing)
    one, other = playing.reports
    assert (len(one.stops), len(other.stops)) == (1, 0)
    assert other.ended is not None
    assert one.ended is not None
    assert other.ended < one.ended


def test_stop_start_stops_at_the_end_of_a_step_and_starts_the_process_again() -> None:
    playing = play(["train", "infer, after: 30000"], STOP_START)
    served(playing)
    train, infer = playing.reports
    (stop,) = train.stops
    assert (train.ran, infer.ran, train.attempts) == (6 * 9000, 3000, 2)
    assert stop.ran % 9000 == 0
    assert 0 <= stop.ended - infer.wanted < 9100
    assert len(playing.spans(0, SwitchPhase.START)) == len(playing.spans(0, SwitchPhase.CLEAN)) == 2


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("policy", [*SwitchPolicyName])
def test_nobody_is_stopped_unless_the_file_says_so_and_the_policy_does(policy: SwitchPolicyName) -> None:
    requests = ["train", "infer, after: 20000"]
    for presets in ([], INTERRUPT):
        playing = play(requests, policy, presets)
        served(playing)
        stops = len(playing.reports[0].stops)
        assert stops == (policy in (PIPESWITCH, STOP_START) and presets == INTERRUPT)


def test_inference_is_not_stopped() -> None:
    playing = play(["infer", "infer, after: 8000", "train, after: 9000"])
    served(playing)
    assert [len(report.stops) for report in playing.reports] == [0, 0, 0]


def test_on_the_next_gpu_stopped_training_begins_from_its_first_step() -> None:
    fault = "- {at: 40000, fault: dead, gpu: a.2}\n"
    whole = scenario([TRAIN, INFER], ["train", "infer, after: 15000"], INTERRUPT, timeline=fault)
    playing = Playing(whole, PIPESWITCH)
    assert playing.outcome.failures == ()
    train, infer = playing.reports
    assert (train.gpu, train.times, infer.gpu, infer.times) == (1, 1, 0, 1)
    assert [stop.gpu for stop in train.stops] == [0]
    assert train.ran == 6 * 9000


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.lists(st.booleans(), min_size=20, max_size=20))
def test_each_request_has_its_turns_until_its_steps_are_done(comes: list[int], stops: list[bool]) -> None:
    """One step a turn, a cycle long: whoever is new goes first, in the order of the file; then who waits longest."""
    whole = Subtask(1, 8, 1)
    training = PlannedTask("t", 0, 0, 0, True, 2, 1, (whole,), whole, (whole,))
    requests = [WantedTask(number, training, at) for number, at in enumerate(comes)]
    queue = RequestQueue(requests, 100)
    now, taken, waiting, over = 100, list[int](), list[int](), list[int]()
    while (wanted := queue.next(now)) is not None:
        number = wanted.number
        if number in taken:
            assert waiting.pop(0) == number
            new = len(set(taken))
            assert new == len(comes) or 100 + comes[new] > now
        else:
            assert number == len(set(taken))
            assert not waiting or 100 + comes[number] <= now
        taken.append(number)
        now = max(now, 100 + wanted.at)
        while queue.left(wanted):
            queue.stepped(wanted)
            now += 1
            if queue.left(wanted) and stops[(now + number) % len(stops)]:
                queue.stopped(wanted)
                waiting.append(number)
                break
        else:
            over.append(number)
    assert sorted(over) == [*range(len(comes))]
    assert not waiting
