"""The applications of a server as a whole: when each begins and ends, and what its group is given."""

from tests.emulator.host.groups.grouped import Grouped

TEXT = """
sharing:
  applications:
    x: {gpu: a.1, wants: 10, steps: 3, compute: 900, again: true, priority: 3}
    y: {gpu: a.2, wants: 10, steps: 6, compute: 900, start: 4321}
    w: {gpu: a.3, memory: 10, wants: 100, steps: 1, host: 5000, compute: 900}
    z: {gpu: a.3, wants: 100, steps: 6, compute: 900, start: 2000}
until: 60000
"""


def test_each_begins_at_its_time_and_who_goes_on_ends_with_those_that_have_not_failed() -> None:
    """What z wants w has."""
    told = list[tuple[int, int]]()
    with Grouped(TEXT) as server:
        server.run.server.applications.on_progress = lambda done, total: told.append((done, total))
        server.to(2000)
        assert [server.read(f"{name}/gpu.priority") for name in "xy"] == ["3\n", "default\n"]
        server.to(60_000)
        x, y, w, z = server.run.server.applications.reports.values()
    assert x.began is not None
    assert y.began == x.began + 4321
    assert z.failed == "out of memory at initialisation: the GPU has no more"
    assert w.failed is None
    assert x.ended is not None
    assert y.trained is not None
    assert y.trained - 900 < x.ended < y.trained + 2 * 900
    assert x.steps > 3
    assert told == sorted(told)  # steps that are done again are no progress
    assert told[-1] == (3 + 6 + 1, 3 + 6 + 6 + 1)
