"""Tasks that wait for what never comes: a run without `until` ends all the same, and has failed."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.switching.pipelined import Pipelined
from ringhil.emulator.host.switching.strands import Strand, Until
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

SERVER = "server: {cards: {a: {gpus: 4}}, settings: {device_memory: 8000}}\n"
TASKS = """
switching:
  gpu: a.2
  tasks: {t: {layers: [{name: l, weights: 1000000, operations: 9000000}]}}
  requests: [{task: t}]
"""
SHARED = "sharing: {applications: {x: {gpu: a.2, wants: 1, steps: 2, compute: 50}}}\n"


def until_never() -> Strand:
    yield Until(lambda: False)


def failures(text: str) -> tuple[str, ...]:
    run = Run(loads(SERVER + text), cells_library())
    try:
        return run.run().failures
    finally:
        run.close()


def test_a_request_that_nothing_prepares_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failures(TASKS) == ()
    monkeypatch.setattr(Pipelined, "strands", lambda self: [until_never()])
    (said,) = failures(TASKS)
    assert "request 0 (t) was lost: it was not done, and has not failed" in said


@pytest.mark.parametrize("work", ["", "workload: {units: 9, size: 100}\n"])
def test_an_application_that_is_never_answered_has_not_ended(monkeypatch: pytest.MonkeyPatch, work: str) -> None:
    assert failures(SHARED + work) == ()
    monkeypatch.setattr(Driver, "ask", lambda *of: None)
    assert failures(SHARED + work) == ("x has not ended, and waits for nothing that will come",)


@pytest.mark.rest
def test_who_still_waits_is_waited_for() -> None:
    """A GPU that is slow for long: nothing else happens for more than a hundred times as long as a run waits for."""
    slow = "sharing: {applications: {x: {gpu: a.2, wants: 1, steps: 1, compute: 3000000}}}\n"
    assert failures(slow + "timeline: [{at: 1, fault: slow, gpu: a.2}]\n") == ()
