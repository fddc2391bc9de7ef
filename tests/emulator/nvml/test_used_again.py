"""A number of a process that is used again is another process: it is told nothing of what the one before was given."""

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.nvml import views
from ringhil.emulator.nvml.peer import PeerProcess
from ringhil.emulator.nvml.views import ALL, GpuView, views_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.server import LiveServer

SERVER = """
server: {cards: {a: {gpus: 3}}}
sharing: {applications: {one: {gpu: a.1, memory: 300, steps: 4, compute: 700}}}
"""
PARENT, CHILD, ROOT = 4711, 4712, 0


@pytest.mark.parametrize("again", [PARENT, CHILD])
def test_of_itself_or_of_its_parent(again: int, monkeypatch: pytest.MonkeyPatch) -> None:
    began = {PARENT: 100, CHILD: 200}
    monkeypatch.setattr(views, "began", began.get)
    monkeypatch.setattr(views, "lineage", lambda pid: [CHILD, PARENT] if pid == CHILD else [pid])

    def told(pid: int) -> GpuView:
        return found.view_of(PeerProcess(pid, ROOT, began[pid]))

    found = views_of(LiveServer(loads(SERVER), cells_library()))
    assert found.enter(PeerProcess(PARENT, ROOT, began[PARENT]), "one")
    given = told(PARENT)
    assert given.gpus == {(0, 1)}
    if again == CHILD:
        assert told(CHILD) == given
        monkeypatch.setattr(views, "lineage", lambda pid: [pid])  # its parent has ended, and is no one's parent now
        assert told(CHILD) == given
    began[again] += 1
    assert told(again) == ALL
