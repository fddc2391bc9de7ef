"""Turns, starts and cleanups that are told otherwise than they were, or were otherwise than the file says, are told."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching.pipeswitch import PipeSwitch, _Standby
from ringhil.emulator.host.switching.plan import PlannedTask, Subtask, SwitchPlan, WantedTask
from ringhil.emulator.host.switching.policy import Slot, SwitchPolicy
from ringhil.emulator.host.switching.report import PhaseSpan, RequestReport, SwitchPhase
from ringhil.emulator.host.switching.service import SwitchService
from ringhil.emulator.host.switching.strands import Strand
from ringhil.emulator.host.tasks.process import Busy
from ringhil.emulator.judge.switching.turns_told import mistold
from ringhil.emulator.scenario import loads

from .playing import play

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/sweeps/switching-interrupt.yaml"
FILE = EXAMPLE.read_text().split("recycle: [100, 9000]\n")[1]
Mistake = Callable[[pytest.MonkeyPatch], None]


def broken(policy: str) -> Sequence[str]:
    text = FILE.replace("${policy}", policy).replace("${recycle}", "9000")
    outcome = play(loads(text), cells_library())
    assert outcome.switching is not None
    assert any(request.stops for request in outcome.switching.requests) or outcome.switching.broken
    return outcome.switching.broken


def over_too_early(patch: pytest.MonkeyPatch) -> None:
    over = SwitchPolicy.over

    def told(self: SwitchPolicy, request: int) -> None:
        over(self, request)
        report = self.serving.reports[request]
        assert report.ended is not None
        report.ended -= 100

    patch.setattr(SwitchPolicy, "over", told)


def over_without_a_launch(patch: pytest.MonkeyPatch) -> None:
    def told(*of: object) -> Strand:
        yield from ()

    patch.setattr(SwitchPolicy, "run", told)


def keeps_its_beginning(patch: pytest.MonkeyPatch) -> None:
    stopped = SwitchPolicy.stopped

    def told(self: SwitchPolicy, wanted: WantedTask) -> None:
        began = self.serving.reports[wanted.number].began
        stopped(self, wanted)
        self.serving.reports[wanted.number].began = began

    patch.setattr(SwitchPolicy, "stopped", told)


def counts_turns_before(patch: pytest.MonkeyPatch) -> None:
    stopped = SwitchPolicy.stopped

    def told(self: SwitchPolicy, wanted: WantedTask) -> None:
        stopped(self, wanted)
        report = self.serving.reports[wanted.number]
        report.stops[-1] = replace(report.stops[-1], ran=report.ran)

    patch.setattr(SwitchPolicy, "stopped", told)


def starts_once(patch: pytest.MonkeyPatch) -> None:
    start = SwitchPolicy.start

    def begun(self: SwitchPolicy, wanted: WantedTask, slot: Slot, limit: int) -> Strand:
        if self.serving.reports[wanted.number].stops:
            wanted = replace(wanted, task=replace(wanted.task, start=0))
        yield from start(self, wanted, slot, limit)

    patch.setattr(SwitchPolicy, "start", begun)


def counts_attempts(by: int) -> Mistake:
    """One too many at each start, or none."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        start = SwitchPolicy.start

        def begun(self: SwitchPolicy, wanted: WantedTask, slot: Slot, limit: int) -> Strand:
            self.serving.reports[wanted.number].attempts += by
            yield from start(self, wanted, slot, limit)

        patch.setattr(SwitchPolicy, "start", begun)

    mistake.__name__ = f"counts_{1 + by}_attempts"
    return mistake


def cleans_quickly(patch: pytest.MonkeyPatch) -> None:
    clean = SwitchPolicy.clean

    def cleaned(self: SwitchPolicy, wanted: WantedTask, slot: Slot) -> Strand:
        yield from clean(self, replace(wanted, task=replace(wanted.task, clean=0)), slot)

    patch.setattr(SwitchPolicy, "clean", cleaned)


def no_recycling_of_who_was_stopped(patch: pytest.MonkeyPatch) -> None:
    clean = PipeSwitch._clean

    def cleaned(self: PipeSwitch, wanted: WantedTask, worker: _Standby) -> Strand:
        if self.queue.left(wanted):
            worker.ready = True
        else:
            yield from clean(self, wanted, worker)

    patch.setattr(PipeSwitch, "_clean", cleaned)


def half_recycled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PipeSwitch, "_started", lambda self, cycles: iter([Busy(cycles // 2)]))


def busy_workers(patch: pytest.MonkeyPatch) -> None:
    """A worker is used as if it were ready."""
    clean = PipeSwitch._clean

    def cleaned(self: PipeSwitch, wanted: WantedTask, worker: _Standby) -> Strand:
        worker.ready = True
        yield from clean(self, wanted, worker)

    patch.setattr(PipeSwitch, "_clean", cleaned)


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize(
    ("mistake", "policy", "says"),
    [
        (over_too_early, "pipeswitch", "is said to be over at cycle"),
        (over_too_early, "stop_start", "is said to be over at cycle"),
        (over_without_a_launch, "stop_start", "is over, and has had no turn"),
        (keeps_its_beginning, "pipeswitch", "is said to begin at cycle"),
        (counts_turns_before, "stop_start", "is said to have had"),
        (starts_once, "stop_start", "cycles; its file says 300"),
        (counts_attempts(by=1), "stop_start", "attempts; it was begun"),
        (counts_attempts(by=-1), "stop_start", "is said to have had 0 attempts; it was begun"),
        (cleans_quickly, "stop_start", "cycles; its file says 200"),
        (no_recycling_of_who_was_stopped, "pipeswitch", "times in"),
        (half_recycled, "pipeswitch", "took 4500 cycles; its file says 9000"),
        (busy_workers, "pipeswitch", "and all are being recycled"),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_it_is_told(monkeypatch: pytest.MonkeyPatch, mistake: Mistake, policy: str, says: str) -> None:
    mistake(monkeypatch)
    found = broken(policy)
    assert any(says in each for each in found), found


@pytest.mark.parametrize("policy", ["pipeswitch", "stop_start"])
def test_without_a_mistake_nothing_is(policy: str) -> None:
    assert broken(policy) == ()


def first_launch_told_late(patch: pytest.MonkeyPatch) -> None:
    over = SwitchPolicy.over

    def told(self: SwitchPolicy, request: int) -> None:
        over(self, request)
        self.serving.reports[request].first = self.serving.port.now

    patch.setattr(SwitchPolicy, "over", told)


def comes_early(patch: pytest.MonkeyPatch) -> None:
    def wait(self: SwitchPolicy, wanted: WantedTask) -> Strand:
        left = self.serving.since + wanted.at - self.serving.port.now - 200
        if left > 0:
            yield Busy(left)

    patch.setattr(SwitchPolicy, "arrival", wait)


def counts_from_power_up(patch: pytest.MonkeyPatch) -> None:
    begin_on = SwitchService._begin_on

    def begun(self: SwitchService, plan: SwitchPlan) -> None:
        self.since = 0
        for wanted, report in zip(plan.requests, self.reports, strict=True):
            report.wanted = wanted.at
        begin_on(self, plan)

    patch.setattr(SwitchService, "_begin_on", begun)


LATE = """
server: {cards: {a: {gpus: 3}}}
switching:
  gpu: a.1
  policy: POLICY
  tasks: {x: {layers: [{name: l, weights: 5000000, operations: 9000000000}], environment: 5}}
  requests: [{task: x, after: 3000}, {task: x, after: 90000}]
"""


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("mistake", "says"),
    [(comes_early, "is served from cycle"), (counts_from_power_up, "is said to have come at cycle")],
)
@pytest.mark.parametrize("policy", ["pipelined", "pipeswitch", "stop_start", "resident"])
def test_what_is_done_for_a_request_before_it_comes_is_told(
    monkeypatch: pytest.MonkeyPatch, policy: str, mistake: Mistake, says: str
) -> None:
    text = LATE.replace("POLICY", policy)
    assert play(loads(text), cells_library()).failures == ()
    mistake(monkeypatch)
    found = play(loads(text), cells_library()).switching
    assert found is not None
    assert any(says in each for each in found.broken), found.broken


def test_the_first_launch_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    first_launch_told_late(monkeypatch)
    assert any("is said to be launched first at" in each for each in broken("stop_start"))


@pytest.mark.parametrize(("lost_at", "told"), [(5000, False), (70000, True)])
def test_a_worker_is_recycled_unless_its_gpu_is_lost(lost_at: int, told: bool) -> None:
    """The run goes on elsewhere, for long."""
    part = Subtask(1, 8, 900)
    task = PlannedTask("x", 0, 0, 0, False, 1, 1, (part,), part, (part,))
    requests = [WantedTask(n, task, 0) for n in range(2)]
    plan = SwitchPlan("pipeswitch", ((0, 1), (0, 2)), requests, 8, 20, 0, 2, 2, 60000, False)
    reports = [
        RequestReport("x", first=at, began=at, ended=at + 900, ran=900, gpu=gpu) for gpu, at in ((0, 100), (1, lost_at))
    ]
    spans = [
        PhaseSpan(0, SwitchPhase.RUN, 0, 0, 100, 1000, 900),
        PhaseSpan(1, SwitchPhase.RUN, 0, 0, 1000, lost_at, 0, lost=True),
        PhaseSpan(1, SwitchPhase.RUN, 0, 1, lost_at, lost_at + 900, 900),
        PhaseSpan(1, SwitchPhase.CLEAN, None, 1, lost_at + 900, lost_at + 60900),
    ]
    assert [*mistold(plan, reports, spans)] == ["clean of request 0 (x) was done 0 times in 1 turns"] * told


def test_a_start_that_the_end_of_the_run_cuts_short_is_an_attempt() -> None:
    text = LATE.replace("POLICY", "stop_start").replace("environment: 5", "environment: 5, start: 9000")
    outcome = play(replace(loads(text), until=9000), cells_library())
    assert outcome.failures == ()
    assert outcome.switching is not None
    assert [request.attempts for request in outcome.switching.requests] == [1, 0]
