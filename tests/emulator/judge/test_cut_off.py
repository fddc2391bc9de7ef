"""A GPU that nothing has happened to, and that no census finds any more: its tasks fail, and that is no mistake."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

TEXT = """
server: {{cards: {{a: {{gpus: 5, host_links: [0, 1]}}}}}}
sharing:
  groups: {{team: {{memory: 600}}}}
  applications:
    x: {{gpu: a.2, group: team, wants: 30, steps: 40, compute: 900}}
    y: {{gpu: a.2, group: team, wants: 30, steps: 40, host: 300, compute: 900, start: {start}}}
timeline:
- {{at: 12000, fault: link_cut, link: a.1-a.2}}
- {{at: 12000, fault: link_cut, link: a.2-a.3}}
- {{at: {back}, clear: link_cut, link: a.2-a.3}}
"""


@pytest.mark.parametrize(("start", "back"), [(0, 90_000), (14_000, 90_000), (0, 26_000)])
def test_no_alarm_is_false(start: int, back: int) -> None:
    """Also of who comes later, and when it is found again."""
    run = Run(loads(TEXT.format(start=start, back=back)), cells_library())
    outcome = run.run()
    run.close()
    assert outcome.failures == ()
    assert [str(each.why).rpartition(": ")[2] for each in outcome.applications.values()] == ["the GPU was lost"] * 2
