"""What is planned for tasks that follow one another is what their file says, to the page and the cycle."""

from dataclasses import fields, replace

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching.plan import PlannedTask, SwitchPlan
from ringhil.emulator.judge.switching.planned import misplanned
from ringhil.emulator.scenario import Scenario, loads
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server import server as servers
from ringhil.emulator.server.hosting import switching_plan

from .playing import play

TEXT = """
server: {cards: {a: {gpus: 3}}, settings: {device_memory: 900}}
switching:
  gpu: [a.2, a.1]
  policy: pipelined
  cycle: 300
  page: 700
  rate: 999
  link: 12345
  piece: 333
  second_preset: 101
  recycle: 7
  tasks:
    x:
      start: 901
      clean: 91
      environment: 9
      subtasks: 2
      batch: 3
      layers:
      - {name: k, weights: 5000001, operations: 1400000, outputs: 3000000}
      - {name: l, weights: 7000001, operations: 1900000, outputs: 5000000}
      - {name: m, weights: 1000001, operations: 4400000, outputs: 10}
    y: {kind: training, steps: 3, layers: [{name: l, weights: 5000000, operations: 77777, outputs: 99}]}
  requests: [{task: x}, {task: y, after: 40}, {task: x, after: 41}]
"""


def planned(text: str = TEXT) -> tuple[Scenario, SwitchPlan]:
    server = LiveServer(loads(text), cells_library())
    plan = switching_plan(server.scenario, server.wiring)
    server.engine.close()
    assert plan is not None
    return server.scenario, plan


def told(scenario: Scenario, plan: SwitchPlan) -> list[str]:
    assert scenario.switching is not None
    return [*misplanned(scenario.switching, scenario.server.settings.device_memory, plan)]


@pytest.mark.parametrize("first", ["", "first_preset: 300"])
@pytest.mark.parametrize("policy", ["pipelined", "pipeswitch", "stop_start", "resident"])
def test_what_is_planned_is_right(policy: str, first: str) -> None:
    text = TEXT.replace("pipelined", policy).replace("  second", f"  {first}\n  second")
    assert told(*planned(text)) == []


def other(value: object) -> object:
    """Of the same kind."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value[1:]  # type: ignore[index]


@pytest.mark.parametrize("name", [each.name for each in fields(SwitchPlan) if each.name != "policy"])
def test_another_value_is_told(name: str) -> None:
    scenario, plan = planned()
    assert len(told(scenario, replace(plan, **{name: other(getattr(plan, name))}))) == 1


def test_another_policy_is_told() -> None:
    scenario, plan = planned()
    wrong = replace(plan, policy="resident")
    assert told(scenario, wrong) == ["policy: resident is planned; the file says pipelined"]


@pytest.mark.parametrize("name", [each.name for each in fields(PlannedTask) if each.name not in ("name", "whole")])
def test_another_value_of_a_task_is_told(name: str) -> None:
    scenario, plan = planned()
    task = plan.requests[0].task
    task = replace(task, **{name: other(getattr(task, name))})
    found = told(scenario, replace(plan, requests=[replace(plan.requests[0], task=task), plan.requests[1]]))
    assert any(text.startswith("task x: ") for text in found), found


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("name", ["pages", "data", "cycles"])
def test_another_size_of_a_part_is_told(name: str, number: int) -> None:
    scenario, plan = planned()
    wanted = plan.requests[number]
    for what in "whole", "subtasks", "layers":
        parts = getattr(wanted.task, what)
        one = parts if what == "whole" else parts[-1]
        one = replace(one, **{name: getattr(one, name) + 1})
        wrong = one if what == "whole" else (*parts[:-1], one)
        requests = [*plan.requests]
        requests[number] = replace(wanted, task=replace(wanted.task, **{what: wrong}))
        found = told(scenario, replace(plan, requests=requests[: number + 1]))
        assert any(text.startswith(f"task {wanted.task.name}: {what.rstrip('s')}") for text in found), found


def test_a_run_that_is_planned_otherwise_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        servers,
        "switching_plan",
        lambda *all_: replace(switching_plan(*all_), left=5),  # type: ignore[type-var]
    )
    outcome = play(loads(TEXT), cells_library())
    assert any("left: 5 is planned; the file says 2" in each for each in outcome.failures), outcome.failures
