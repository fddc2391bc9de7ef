"""A census however frequent doesn't use up the allowance that guards the ring against its own entry GPU."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

SCENARIO = """
server: {{cards: {{a: {{gpus: 4}}}}, settings: {{census_period: {period}}}}}
until: 20000
timeline:
  - {{at: 0, fault: double_count, gpu: a.2}}
  - {{at: 9000, clear: double_count, gpu: a.2}}
expect:
  - {{end: true, count: {{a: 4}}, reachable: {{a: true}}}}
"""


@pytest.mark.parametrize("period", [1, 10, 100, 150, 200, 400, 1000])
def test_the_entry_gpu_is_never_muted(period: int) -> None:
    """Also with all the attempts that a liar costs."""
    server = Run(loads(SCENARIO.format(period=period)), cells_library())
    outcome = server.run()
    assert server.engine.peek(0, "mutes") == 0
    assert outcome.failures == ()
