"""Applications ask for what their file says and give everything back; requests are served on the GPUs of the file, in
their order, with all of their model; else it is told."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.contexts.command import Command
from ringhil.emulator.host.switching.pipelined import Pipelined, _Job
from ringhil.emulator.host.switching.pipeswitch import PipeSwitch, _Coming
from ringhil.emulator.host.switching.plan import Subtask, WantedTask
from ringhil.emulator.host.switching.policy import Slot, SwitchPolicy
from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.host.switching.service import SwitchService
from ringhil.emulator.host.switching.strands import Strand
from ringhil.emulator.host.tasks import applications
from ringhil.emulator.host.tasks.applications import Applications
from ringhil.emulator.host.tasks.process import Busy, Program
from ringhil.emulator.host.tasks.training import Surroundings, TaskReport, TrainingTask, training
from ringhil.emulator.scenario import loads
from ringhil.protocol.wire import Compute

from .playing import assert_named, play, violations

SHARED = """
seed: 3
server:
  cards: {a: {gpus: 4, host_links: [0, 1]}}
  settings: {device_memory: 3000, context_switch: 20, default_slice: 1000}
sharing:
  applications:
    x: {gpu: a.2, steps: 3, host: 300, compute: 900, input: 2000, wants: 90}
    y: {gpu: a.3, steps: 2, host: 0, compute: 1700, memory: 700, start: 900}
    z: {gpu: a.3, steps: 2, host: 90, compute: 700, memory: 700, again: true}
"""

Mistake = Callable[[pytest.MonkeyPatch], None]


def other(**wrong: object) -> Mistake:
    """A task's program takes something else for what its file says."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        def program(task: TrainingTask, key: int, report: TaskReport, around: Surroundings) -> Program:
            return training(replace(task, **wrong), key, report, around)  # type: ignore[arg-type]

        patch.setattr(applications, "training", program)

    return mistake


def at_once(patch: pytest.MonkeyPatch) -> None:
    def begin(self: Applications) -> None:
        for process in self._processes.values():
            process.start()

    patch.setattr(Applications, "begin", begin)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (other(input=1000), "x copies 1000 bytes in a step; its file says 2000"),
        (other(input=0), "x copies nothing in a step; its file says 2000 bytes"),
        (other(compute=450), "z computes 450 cycles in a step; its file says 700"),
        (other(host=10), "x works on the CPU for 10 cycles in a step; its file says 300"),
        (other(steps=1), "x has done 1 steps; its file says 3"),
        (other(wants=45), "x takes 1350 of the 3000 pages that it is told of; it wants 2700"),
        (other(piece=999), "asks for 999 pages at a time; its file says 256"),
        (other(again=False), "z ends while x has steps to do"),
        (at_once, "y begins after 0 cycles; its file says 900"),
    ],
)
def test_what_an_application_asks_for_is_what_its_file_says(
    monkeypatch: pytest.MonkeyPatch, mistake: Mistake, says: str
) -> None:
    assert_named(mistake, SHARED, "work_once", says, monkeypatch)


def more_memory(report: TaskReport) -> None:
    report.memory += 1
    report.told += 1


def later(report: TaskReport) -> None:
    assert report.ready is not None
    report.ready += 1


def younger(report: TaskReport) -> None:
    assert report.began is not None
    report.began += 1


def older(report: TaskReport) -> None:
    assert report.ended is not None
    report.ended += 1


def longer(report: TaskReport) -> None:
    report.trained = None if report.trained is None else report.trained * 2


def alone(report: TaskReport) -> None:
    report.switches = 0


def unasked(report: TaskReport) -> None:
    report.run = None


@pytest.mark.parametrize(
    ("spoils", "at_end", "says"),
    [
        (more_memory, False, ["x says that it was told of", "x says that it has held"]),
        (later, False, ["x says that it was ready at cycle"]),
        (younger, True, ["x says that it began at cycle", "y says that it began at cycle"]),
        (older, True, ["x says that it ended at cycle", "y says that it ended at cycle"]),
        (longer, False, ["x says that it had done its steps at cycle"]),
        (alone, True, ["y says that it had its GPU in turns behind others: 0; it was"]),
        (unasked, True, ["x says that it had the GPU for 0 cycles; its launches had 2700"]),
    ],
)
def test_what_an_application_says_of_itself_is_so(
    monkeypatch: pytest.MonkeyPatch, spoils: Callable[[TaskReport], None], at_end: bool, says: Sequence[str]
) -> None:
    """It is told otherwise when its program gives back what it has, or has ended."""
    assert violations(SHARED) == ()

    def program(task: TrainingTask, key: int, report: TaskReport, around: Surroundings) -> Program:
        asks, answer = training(task, key, report, around), None
        while True:
            try:
                wanted = asks.send(answer)
            except StopIteration:
                if at_end:
                    spoils(report)
                return
            if not at_end and isinstance(wanted, Command) and wanted.compute is Compute.DESTROY:
                spoils(report)
            answer = yield wanted

    monkeypatch.setattr(applications, "training", program)
    found = [each.text for each in play(loads(SHARED), cells_library()).broken("work_once")]
    for words in says:
        assert any(words in text for text in found), found


SWITCHED = """
server: {cards: {a: {gpus: 4}}, settings: {device_memory: 8000, context_switch: 14, default_slice: 500}}
switching:
  gpu: [a.2, a.1]
  policy: POLICY
  tasks:
    one: {layers: [{name: a, weights: 30000000, operations: 20000000000},
      {name: b, weights: 90000000, operations: 20000000000}], subtasks: 2, clean: 500, environment: 20}
  requests: [{task: one}, {task: one}]
timeline: [{at: 9000, fault: dead, gpu: a.2}]
"""
PIPELINED, PIPESWITCH = (SWITCHED.replace("POLICY", policy) for policy in ("pipelined", "pipeswitch"))


def keeps(patch: pytest.MonkeyPatch) -> None:
    def destroy(self: Slot) -> Strand:
        self.held = 0
        yield from ()

    patch.setattr(Slot, "destroy", destroy)


def test_a_context_that_is_kept_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "was not destroyed when its task had ended"
    assert_named(keeps, PIPELINED, "memory_isolated", says, monkeypatch)


def half(patch: pytest.MonkeyPatch) -> None:
    copy = Slot.copy
    patch.setattr(Slot, "copy", lambda self, size, piece: copy(self, size // 2, piece))


def last_first(patch: pytest.MonkeyPatch) -> None:
    begin = SwitchService._begin_on
    patch.setattr(SwitchService, "_begin_on", lambda self, plan: begin(self, replace(plan, gpus=plan.gpus[::-1])))


def gives_up(patch: pytest.MonkeyPatch) -> None:
    def lost(self: SwitchService) -> None:
        for report in self.reports:
            report.failed = "the GPU was lost, and there is no other"

    patch.setattr(SwitchService, "_lost", lost)


def early(patch: pytest.MonkeyPatch) -> None:
    def bring(self: PipeSwitch, request: int, sizes: list[int], coming: _Coming) -> Strand:
        coming.arrived = len(sizes)
        return arrives(self, request, sizes, coming)

    arrives = PipeSwitch._bring
    patch.setattr(PipeSwitch, "_bring", bring)


def counts_on(patch: pytest.MonkeyPatch) -> None:
    lost = SwitchService._lost

    def keeps_account(self: SwitchService) -> None:
        ran = [report.ran for report in self.reports]
        lost(self)
        for report, had in zip(self.reports, ran, strict=True):
            report.ran += had + 1

    patch.setattr(SwitchService, "_lost", keeps_account)


def on_terms(place: int) -> Mistake:
    """Its contexts have a slice, a priority or a state."""
    terms = [0, 0, 0]
    terms[place] = 16

    def mistake(patch: pytest.MonkeyPatch) -> None:
        payload = Command.payload

        def other(self: Command) -> bytes:
            slice_, priority, state = terms
            created = replace(self, slice=slice_, priority=priority, state=state)
            return payload(created if self.compute is Compute.CREATE else self)

        patch.setattr(Command, "payload", other)

    return mistake


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("mistake", "text", "says"),
    [
        *((on_terms(place), PIPELINED, "requests name none") for place in range(3)),
        (half, PIPELINED, "bytes were copied to GPU 1, card 0; what was served there takes"),
        (last_first, PIPELINED, "GPU 1, card 0, is used; GPU 2, card 0, is not lost"),
        (gives_up, PIPELINED, "GPU 1, card 0, is not lost, and has refused nothing"),
        (early, PIPESWITCH, "is computed before it is there"),
        (counts_on, PIPELINED, "cycles of the engine; its launches had"),
    ],
)
def test_a_request_that_is_served_otherwise_is_told(
    monkeypatch: pytest.MonkeyPatch, mistake: Mistake, text: str, says: str
) -> None:
    assert violations(text) == ()
    mistake(monkeypatch)
    outcome = play(loads(text), cells_library())
    assert outcome.switching is not None
    assert any(says in each for each in outcome.switching.broken), outcome.switching.broken


WELL = {
    policy: SWITCHED.replace("POLICY", policy).partition("timeline:")[0]
    for policy in ("pipelined", "pipeswitch", "stop_start", "resident")
}


def takes_none(of: str) -> Mistake:
    """No memory for an environment, or for a part."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        start, prepare = SwitchPolicy.start, SwitchPolicy.prepare

        def begun(self: SwitchPolicy, wanted: WantedTask, slot: Slot, limit: int) -> Strand:
            yield from start(self, replace(wanted, task=replace(wanted.task, environment=0)), slot, limit)

        def prepared(self: SwitchPolicy, request: int, slot: Slot, subtask: Subtask, part: int | None) -> Strand:
            yield from prepare(self, request, slot, replace(subtask, pages=0), part)

        if of == "environment":
            patch.setattr(SwitchPolicy, "start", begun)
        else:
            patch.setattr(SwitchPolicy, "prepare", prepared)

    return mistake


def computes_twice(patch: pytest.MonkeyPatch) -> None:
    run = SwitchPolicy.run

    def again(self: SwitchPolicy, request: int, slot: Slot, cycles: int, part: int | None) -> Strand:
        yield from run(self, request, slot, cycles, part)
        if request == 1:
            yield from run(self, request, slot, cycles, part)

    patch.setattr(SwitchPolicy, "run", again)


def large_pieces(patch: pytest.MonkeyPatch) -> None:
    copy = Slot.copy
    patch.setattr(Slot, "copy", lambda self, size, piece, *more: copy(self, size, piece + 16, *more))


def starts_late(patch: pytest.MonkeyPatch) -> None:
    first_stage = Pipelined._first_stage

    def late(self: Pipelined, job: _Job, slot: Slot) -> Strand:
        yield Busy(1)
        yield from first_stage(self, job, slot)

    patch.setattr(Pipelined, "_first_stage", late)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("mistake", "policy", "says"),
    [
        (takes_none("environment"), "pipelined", "pages were taken of GPU 2, card 0; requests take"),
        (takes_none("environment"), "resident", "pages were taken of GPU 2, card 0; requests take"),
        (takes_none("parts"), "stop_start", "pages were taken of GPU 2, card 0; requests take"),
        (computes_twice, "stop_start", "cycles were launched on GPU 2, card 0; requests take"),
        (computes_twice, "pipeswitch", "cycles were launched on GPU 2, card 0; requests take"),
        (computes_twice, "resident", "cycles were launched on GPU 2, card 0; requests take"),
        (large_pieces, "stop_start", "bytes at once; a piece has"),
        (large_pieces, "pipelined", "bytes at once; a piece has"),
        (starts_late, "pipelined", "request 0 starts at cycle"),
    ],
)
def test_what_is_done_beside_what_is_asked_for_is_told(
    monkeypatch: pytest.MonkeyPatch, mistake: Mistake, policy: str, says: str
) -> None:
    text = WELL[policy]
    assert violations(text) == ()
    mistake(monkeypatch)
    outcome = play(loads(text), cells_library())
    assert outcome.switching is not None
    assert any(says in each for each in outcome.switching.broken), outcome.switching.broken


def test_where_there_is_no_room_a_first_stage_may_wait() -> None:
    text = WELL["pipelined"].replace("policy: pipelined", "policy: pipelined\n  first_preset: 150")
    outcome = play(loads(text), cells_library())
    assert outcome.failures == ()
    assert outcome.switching is not None
    first, second = (each for each in outcome.switching.phases if each.phase == SwitchPhase.START)
    assert second.began_ms > first.ended_ms


@pytest.mark.parametrize("gone", [300, 9000])
def test_a_gpu_that_was_lost_before_anybody_came_is_well(monkeypatch: pytest.MonkeyPatch, gone: int) -> None:
    """The census has noticed, or hasn't."""
    fault = f"timeline: [{{at: 9000, fault: dead, gpu: a.2}}, {{at: {9000 + gone}, clear: dead, gpu: a.2}}]\n"
    text = re.sub(r"requests:.*\]", "requests: [{task: one, after: 60000}]", PIPELINED)
    text = text.partition("timeline:")[0] + fault
    assert violations(text) == ()
    last_first(monkeypatch)
    outcome = play(loads(text), cells_library())
    assert outcome.switching is not None
    assert any("GPU 2, card 0, is not lost" in each for each in outcome.switching.broken), outcome.switching.broken


@pytest.mark.parametrize("policy", ["pipeswitch", "resident"])
def test_one_that_was_asked_for_something_ahead_is_lost(policy: str) -> None:
    fault = "timeline: [{at: 9000, fault: dead, gpu: a.2}, {at: 18000, clear: dead, gpu: a.2}]\n"
    text = re.sub(r"requests:.*\]", "requests: [{task: one, after: 60000}]", SWITCHED.replace("POLICY", policy))
    outcome = play(loads(text.partition("timeline:")[0] + fault), cells_library())
    assert outcome.failures == ()
    assert outcome.switching is not None
    assert [request.gpu for request in outcome.switching.requests] == ["a.1"]


def test_what_is_served_otherwise_in_the_very_last_cycle_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    last_first(monkeypatch)
    whole = play(loads(PIPELINED), cells_library())
    assert whole.switching is not None
    (found,) = [each for each in whole.switching.broken if "is not lost" in each]
    first = int(found.split()[1].rstrip(":"))
    for until, told in ((first - 1, False), (first, True)):
        outcome = play(replace(loads(PIPELINED), until=until), cells_library())
        assert outcome.switching is not None
        assert any("is not lost" in each for each in outcome.switching.broken) == told, until
