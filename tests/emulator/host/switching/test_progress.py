"""How many requests have been served, as a run goes on; and how many tasks a GPU has contexts for."""

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

TEXT = """
server: {cards: {a: {gpus: 3}}}
switching:
  gpu: a.1
  policy: resident
  tasks:
"""
TASK = "    t%d: {start: 10, environment: 1, layers: [{name: l, weights: 1000, operations: 9000000}]}\n"


def test_each_request_that_is_served_is_told_and_the_sixteenth_task_has_no_context() -> None:
    """Context 0 is nobody's."""
    tasks, told = range(16), list[tuple[int, int]]()
    requests = ", ".join(f"{{task: t{n}}}" for n in tasks)
    run = Run(loads(TEXT + "".join(TASK % n for n in tasks) + f"  requests: [{requests}]\n"), cells_library())
    run.server.switching.on_progress = lambda served, wanted: told.append((served, wanted))
    outcome = run.run()
    run.close()
    assert outcome.failures == ()
    assert outcome.switching is not None
    assert [request.failed for request in outcome.switching.requests] == [False] * 15 + [True]
    assert sorted(served for served, _ in told) == [served for served, _ in told] == [*range(1, 17)]
    assert {wanted for _, wanted in told} == {16}
