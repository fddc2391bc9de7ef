"""A GPU dies in every phase of every request, by every policy: nothing is lost, nothing is done twice."""

from functools import cache

import pytest

from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.scenario import SwitchPolicyName

from .played import Playing, scenario, task
from .test_pipelined import BUSY, all_once

PARTS = ((30, 4000), (40, 3000))
REQUESTS = ("x", "y", "x")
POLICIES = list(SwitchPolicyName)


def played(policy: SwitchPolicyName, fault: str = "", more: str = "") -> Playing:
    tasks = [task("x", PARTS, BUSY + more), task("y", PARTS[::-1], BUSY + more)]
    return Playing(scenario(tasks, REQUESTS, ["recycle: 400", "second_preset: 80"], timeline=fault), policy)


@cache
def moments(policy: SwitchPolicyName) -> list[int]:
    """In the middle of each phase, and right before it is over."""
    spans = played(policy).run.server.switching.spans
    return sorted({at for span in spans for at in ((span.began + span.ended) // 2, span.ended - 20)})


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_not_over_is_done_by_the_next_one(policy: SwitchPolicyName) -> None:
    all_times = moments(policy)
    dies_at(policy, all_times[len(all_times) // 4 :: len(all_times) // 2])


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("policy", [SwitchPolicyName.PIPELINED, SwitchPolicyName.PIPESWITCH])
def test_what_a_lost_gpu_had_computed_of_a_request_counts_for_nothing(policy: SwitchPolicyName) -> None:
    last = played(policy).spans(1, SwitchPhase.RUN)[-1]
    dies_at(policy, [(last.began + last.ended) // 2])


@pytest.mark.slow(part="work")
@pytest.mark.parametrize("policy", POLICIES)
def test_in_every_phase(policy: SwitchPolicyName) -> None:
    dies_at(policy, moments(policy))


def dies_at(policy: SwitchPolicyName, times: list[int]) -> None:
    for at in times:
        playing = played(policy, f"  - {{at: {at}, fault: dead, gpu: a.2}}\n")
        all_once(playing)
        for report in playing.reports:
            assert report.ended is not None
            # Those that were over stay so, and no other is believed to have been.
            assert report.gpu == (0 if report.ended < at else report.gpu)
        second = [request for request, report in enumerate(playing.reports) if report.gpu == 1]
        assert second == list(range(len(REQUESTS) - len(second), len(REQUESTS)))
        worked = sum(span.cycles for span in playing.run.server.switching.spans if span.gpu == 1 and not span.lost)
        assert worked == sum(playing.reports[request].ran for request in second)


@pytest.mark.parametrize("policy", POLICIES)
def test_one_that_is_back_at_once_has_forgotten_its_tasks(policy: SwitchPolicyName) -> None:
    """Nobody has counted it out: its contexts are gone all the same."""
    at = moments(policy)[6]
    fault = f"  - {{at: {at}, fault: dead, gpu: a.2}}\n  - {{at: {at + 100}, clear: dead, gpu: a.2}}\n"
    all_once(played(policy, fault))


def test_without_another_gpu_the_requests_fail_and_say_so() -> None:
    at = moments(SwitchPolicyName.PIPELINED)[12]
    both = f"  - {{at: {at}, fault: dead, gpu: [a.2, a.3]}}\n"
    playing = played(SwitchPolicyName.PIPELINED, both)
    failed = [request for request in playing.switching.requests if request.failed]
    assert failed
    assert {request.why for request in failed} == {"the GPU was lost, and there is no other"}
    assert all(report.times == (report.ended is not None) for report in playing.reports)


@pytest.mark.parametrize("policy", [SwitchPolicyName.PIPELINED, SwitchPolicyName.PIPESWITCH])
def test_the_entry_gpu_may_fail_under_them(policy: SwitchPolicyName) -> None:
    playing = played(policy, f"  - {{at: {moments(policy)[9]}, fault: dead, gpu: a.0}}\n")
    all_once(playing)
    assert {report.gpu for report in playing.reports} == {0}


def test_noise_on_a_link_costs_time_only() -> None:
    noise = "  - {at: 9000, fault: link_bit_errors, link: a.1-a.2, rate: 300}\n"
    playing = played(SwitchPolicyName.PIPELINED, noise)
    all_once(playing)
    assert playing.run.cpu.driver.resent > 1


def test_what_a_lost_gpu_did_is_shown_as_lost() -> None:
    at = moments(SwitchPolicyName.PIPELINED)[8]
    playing = played(SwitchPolicyName.PIPELINED, f"  - {{at: {at}, fault: dead, gpu: a.2}}\n")
    lost = [phase for phase in playing.switching.phases if phase.lost]
    assert lost
    assert {phase.gpu for phase in lost} == {"a.2"}
    assert {phase.phase for phase in lost} <= {str(phase) for phase in SwitchPhase}


def test_what_ran_beside_another_on_a_lost_gpu_did_not_on_the_next() -> None:
    """The next task's first part runs beside the current one; then that is over, and the GPU dies."""

    def play(fault: str = "") -> Playing:
        tasks = [task("x", [(10, 3000)] * 4), task("y", [(20, 3000), (10, 3000)])]
        return Playing(scenario(tasks, ["x", "y"], ["second_preset: 30", "left: 3"], timeline=fault))

    both = play()
    over = both.reports[0].ended
    assert over is not None
    assert both.reports[0].ahead > 0
    at = (over + both.spans(1, SwitchPhase.RUN)[-1].ended) // 2
    found = play(f"- {{at: {at}, fault: dead, gpu: a.2}}\n")
    assert [report.gpu for report in found.reports] == [0, 1]
    assert found.reports[0].ahead == both.reports[0].ahead
    (switch,) = found.switching.switches
    took, ran = switch.until_ms - switch.since_ms, found.switching.requests[1].ran_ms
    assert switch.overhead_ms == pytest.approx(took - ran)
    assert found.outcome.failures == ()
