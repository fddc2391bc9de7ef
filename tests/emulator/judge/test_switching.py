"""Figures of switches, from what was seen of them, and what must never be."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ringhil.emulator.host.switching.plan import PlannedTask, Subtask, SwitchPlan, WantedTask
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, Service, SwitchPhase
from ringhil.emulator.judge.switching.outcome import SwitchingEvidence, SwitchingOutcome, switching_outcome
from ringhil.emulator.scenario import SwitchPolicyName, loads

TEXT = """
server: {cards: {a: {gpus: 3}}}
switching:
  gpu: a.1
  tasks: {x: {layers: [{name: l, weights: 1, operations: 1}]}}
  requests: [{task: x}, {task: x}, {task: x}]
"""
SCENARIO = loads(TEXT)
WORK = Subtask(10, 8, 1000)
TASK = PlannedTask("x", 0, 0, 0, False, 1, 10, (WORK,), WORK, (WORK,))
PLAN = SwitchPlan("pipelined", ((0, 1),), [WantedTask(n, TASK, 0) for n in range(3)], 8, 20, 0, 2, 2, 0, False)


def report(began: int, ended: int, ran: int = 1000, ahead: int = 0) -> RequestReport:
    return RequestReport("x", first=began, began=began, ended=ended, ran=ran, ahead=ahead, times=1, gpu=0)


def launches(*times: tuple[int, int]) -> list[PhaseSpan]:
    """Each had 1,000 cycles of the engine."""
    return [PhaseSpan(n, SwitchPhase.RUN, 0, 0, began, ended, 1000) for n, (began, ended) in enumerate(times)]


# The second one begins beside the first, and has 300 by its end; the third one begins late.
GOOD = (report(100, 1400, ahead=300), report(900, 2200), report(2500, 3600))


def judged(
    reports: tuple[RequestReport, ...],
    held: tuple[tuple[int, int], ...] = (),
    spans: Sequence[PhaseSpan] = (),
    **more: bool,
) -> SwitchingOutcome:
    assert SCENARIO.switching is not None
    return switching_outcome(SCENARIO.switching, SwitchingEvidence(PLAN, reports, spans, [held], 0, **more))


def test_overhead_is_the_time_in_which_the_engine_worked_for_nobody() -> None:
    found = judged(GOOD, ((50, 10), (800, 20)), launches((100, 1400), (900, 2200), (2500, 3600)))
    assert [(switch.startup_ms, switch.overhead_ms) for switch in found.switches] == [(0, 0.1), (0.3, 0.4)]
    assert (found.overhead_ms, found.startup_ms) == (0.25, 0.15)
    assert found.utilisation == round(3000 / 3500, 6)
    assert found.memory == 20 << 20
    assert found.broken == ()


def test_latency_is_that_of_inference_and_attempts_are_told() -> None:
    """The first one trains: nobody waits for it."""
    assert SCENARIO.switching is not None
    first = replace(PLAN.requests[0], task=replace(TASK, training=True))
    plan = replace(PLAN, requests=[first, *PLAN.requests[1:]])
    reports = (GOOD[0], replace(GOOD[1], wanted=200, attempts=3), replace(GOOD[2], wanted=600))
    found = switching_outcome(SCENARIO.switching, SwitchingEvidence(plan, reports, (), [()], 0))
    assert found.latency_ms == (2.0 + 3.0) / 2
    assert [request.attempts for request in found.requests] == [GOOD[0].attempts, 3, GOOD[2].attempts]


def test_what_the_next_but_one_had_beside_the_next_is_no_overhead() -> None:
    second, third = report(900, 2400, ahead=200), report(1900, 3400)
    assert [switch.overhead_ms for switch in judged((GOOD[0], second, third)).switches] == [0.1, 0.2]


def test_of_two_beside_each_other_the_later_one_may_be_over_first() -> None:
    """The second one has 300 by the end of the first, and 960 by that of the third."""
    second, third = report(900, 3300), report(1500, 3200, ahead=960)
    found = judged((GOOD[0], second, third))
    assert [(switch.since_ms, switch.overhead_ms) for switch in found.switches] == [(1.4, 0.14), (3.2, 0.06)]
    assert found.broken == ()


def test_while_another_one_works_time_counts_before_the_next_one_comes() -> None:
    """The second one works from the end of the first on; the third one comes long after that."""
    second, third = report(900, 9000, ran=6500), replace(report(6100, 7200, ahead=5000), wanted=6000)
    found = judged((GOOD[0], second, third))
    assert [(switch.startup_ms, switch.overhead_ms) for switch in found.switches] == [
        (0.1, 0.1),
        (0, 0.3),
    ]


def test_what_was_lost_with_a_gpu_is_done_again() -> None:
    """The second one had 300 there by the end of the first."""
    switching = loads(TEXT.replace("gpu: a.1", "gpu: [a.1, a.2]")).switching
    assert switching is not None
    reports = (GOOD[0], replace(report(1900, 3000), gpu=1), replace(report(3100, 4200), gpu=1))
    found = switching_outcome(switching, SwitchingEvidence(PLAN, reports, (), [(), ()], 0))
    assert [switch.overhead_ms for switch in found.switches] == [0.6, 0.2]


def test_a_request_that_comes_late_is_waited_for() -> None:
    late = replace(GOOD[2], wanted=2400)
    switches = judged((*GOOD[:2], late)).switches
    assert [(each.startup_ms, each.overhead_ms) for each in switches] == [(0, 0.1), (0.1, 0.2)]


def test_training_that_is_not_over_has_worked_in_its_turns() -> None:
    """It is stopped twice, and goes on after the second one when the run ends."""
    stops = [Service(0, 100, 1100, 1000), Service(0, 2300, 3300, 1000)]
    training = RequestReport("x", first=100, began=4600, ran=2000, gpu=None, stops=stops)
    times = ((100, 1100), (1200, 2200), (2300, 3300), (3400, 4400), (4600, 5600))
    spans = [replace(span, request=0) for span in launches(*times)]
    found = judged((training, report(1200, 2200), report(3400, 4400)), (), spans, whole=False)
    assert [(each.startup_ms, each.overhead_ms) for each in found.switches] == [(0.1, 0.1)] * 3
    assert (found.requests[0].began_ms, found.requests[0].stops) == (0.1, 2)
    assert found.utilisation == round(5000 / 5500, 6)


def test_what_a_lost_gpu_has_computed_was_computed() -> None:
    spans = launches((100, 1100), (1200, 2200))
    lost = PhaseSpan(1, SwitchPhase.RUN, 0, 0, 2200, 9000, lost=True)
    failed = RequestReport("x", failed="the GPU was lost", attempts=1)
    assert judged((report(100, 1100), failed, failed), (), [*spans, lost]).utilisation == round(2000 / 2100, 6)
    assert judged((failed, failed, failed), (), [lost]).utilisation is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"times": 2}, "request 1 (x) was over 2 times"),
        ({"times": 0}, "request 1 (x) was over 0 times"),
        ({"failed": "the GPU was lost"}, "request 1 (x) was over, and then failed: the GPU was lost"),
        ({"ran": 999}, "request 1 (x) had 999 cycles of the engine; it needs 1000"),
        ({"ended": None, "times": 0}, "request 1 (x) was lost"),
    ],
)
def test_what_must_never_be_is_said(change: dict[str, object], words: str) -> None:
    reports = (GOOD[0], replace(GOOD[1], **change), GOOD[2])  # type: ignore[arg-type]
    (said,) = judged(reports).broken
    assert said.startswith(words)


def test_a_switch_takes_no_less_than_nothing() -> None:
    """What the second one had beside the first is told as none."""
    first = report(100, 1400)
    (said,) = judged((first, report(900, 1700), GOOD[2])).broken
    assert said == "cycle 1700: a switch to x has taken -700 cycles"
    (said,) = judged((first, report(1400, 2399), GOOD[2])).broken
    assert said == "cycle 2399: a switch to x has taken -1 cycles"
    assert judged((first, report(1400, 2400), GOOD[2])).broken == ()


@pytest.mark.parametrize(("slice_", "told"), [(700, False), (699, True)])
def test_what_another_one_has_had_of_its_turn_is_not_known_yet(slice_: int, told: bool) -> None:
    """The second one began beside the first: it may have had more by the end of that than is told."""
    reports = (report(100, 1400), report(900, 1700), GOOD[2])
    assert SCENARIO.switching is not None
    found = switching_outcome(SCENARIO.switching, SwitchingEvidence(PLAN, reports, (), [()], 0, slice=slice_))
    assert found.broken == ("cycle 1700: a switch to x has taken -700 cycles",) * told
    assert found.switches[0].overhead_ms == 0
    alone = (report(100, 1400), report(1400, 2399), GOOD[2])
    found = switching_outcome(SCENARIO.switching, SwitchingEvidence(PLAN, alone, (), [()], 0, slice=slice_))
    assert found.broken == ("cycle 2399: a switch to x has taken -1 cycles",)


def test_nobody_has_more_beside_another_than_it_has_at_all() -> None:
    """Who has had it is over later."""
    first = report(100, 2000, ahead=1001)
    third = report(3100, 4200)
    said = judged((first, report(900, 3100), third)).broken
    assert said == ("beside request 0 (x) another one had 1001 cycles, of 1000 at most",)
    assert judged((replace(first, ahead=1000), report(900, 3100), third)).broken == ()
    last = report(1200, 4600, ahead=1001)  # whoever had that isn't over yet
    assert judged((*GOOD[:2], last), whole=False).broken == ()


def test_a_run_that_is_cut_short_has_lost_nothing() -> None:
    reports = (GOOD[0], RequestReport("x"), RequestReport("x"))
    assert judged(reports, whole=False).broken == ()
    assert judged(reports, whole=False).requests[1].why == "the run ended before it was done"


def test_memory_above_the_first_preset_value_is_said() -> None:
    (said,) = judged(GOOD, ((50, 20), (60, 21), (70, 5))).broken
    assert said == "cycle 60: 21 pages are held; the first preset value is 20"
    assert SCENARIO.switching is not None
    other = replace(SCENARIO.switching, policy=SwitchPolicyName.RESIDENT)
    assert switching_outcome(other, SwitchingEvidence(PLAN, GOOD, (), [((60, 21),)], 0)).broken == ()


def test_what_is_told_is_in_the_units_of_the_file_for_each_gpu() -> None:
    """A cycle is half a microsecond, a page 2 MiB; times count from when the cards were counted."""
    scenario = loads(TEXT.replace("gpu: a.1", "gpu: [a.1, a.2]\n  cycle: 500\n  page: 2048"))
    assert scenario.switching is not None
    first, second = replace(GOOD[0], gpu=0), replace(GOOD[1], gpu=1, first=1500, began=1500)
    spans = [
        PhaseSpan(0, SwitchPhase.RUN, 0, 0, 100, 1400, 1000),
        PhaseSpan(1, SwitchPhase.PREPARE, 1, 1, 200, 300, lost=True),
    ]
    held = [[(50, 10), (900, 0)], [(200, 30)]]
    evidence = SwitchingEvidence(PLAN, (first, second, GOOD[2]), spans, held, 40)
    found = switching_outcome(scenario.switching, evidence)
    assert [(each.gpu, each.began_ms, each.ended_ms, each.ran_ms) for each in found.requests[:2]] == [
        ("a.1", 0.03, 0.68, 0.5),
        ("a.2", 0.73, 1.08, 0.5),
    ]
    assert (found.switches[0].since_ms, found.switches[0].startup_ms) == (0.68, 0.05)
    assert found.memory == 30 * 2048 * 1024
    assert found.held == {"a.1": ((0.005, 10 << 21), (0.43, 0)), "a.2": ((0.08, 30 << 21),)}
    phases = [(each.gpu, each.part, each.began_ms, each.ended_ms, each.lost) for each in found.phases]
    assert phases == [("a.1", 0, 0.03, 0.68, False), ("a.2", 1, 0.08, 0.13, True)]


def test_time_beside_one_that_came_later_counts_from_when_that_came() -> None:
    """Nobody is there from 1,400 to 2,000; one comes then, and a third one is over before it."""
    long = replace(report(2100, 5000), wanted=2000)
    short = replace(report(3100, 4200, ahead=700), wanted=3000)
    found = judged((report(100, 1400), long, short))
    assert [switch.overhead_ms for switch in found.switches] == [0.5, 0.5]
