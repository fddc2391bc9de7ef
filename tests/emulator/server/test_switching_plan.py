"""Tasks that follow one another, in cycles and pages: where a file says what these are, all of it is in that."""

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer
from ringhil.emulator.server.hosting import switching_plan

TEXT = """
server: {cards: {a: {gpus: 3}}, settings: {device_memory: 400}}
switching:
  gpu: a.2
  cycle: 500
  page: 2048
  rate: 1000
  first_preset: 300
  second_preset: 101
  recycle: 7
  tasks:
    x: {start: 900, clean: 90, environment: 9, layers: [{name: l, weights: 5000000, operations: 1400000}]}
  requests: [{task: x}, {task: x, after: 40}]
"""


def test_times_and_sizes_are_in_the_units_of_the_file() -> None:
    """A cycle stands for half a microsecond, a page for 2 MiB; what is begun counts as whole."""
    server = LiveServer(loads(TEXT), cells_library())
    plan = switching_plan(server.scenario, server.wiring)
    server.engine.close()
    assert plan is not None
    assert plan.gpus == ((0, 2),)
    assert (plan.first, plan.second, plan.recycle) == (150, 51, 14)
    assert [request.at for request in plan.requests] == [0, 80]
    task = plan.requests[0].task
    assert (task.start, task.clean, task.environment) == (1800, 180, 5)
    assert (task.whole.pages, task.most) == (3, 8)
    assert task.whole.cycles == 3  # 2.8
