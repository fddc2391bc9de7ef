"""Runs that were recorded, each with a server that shows it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.emulator.debug.test_doomed import LOST

from ringhil.emulator.debug.commands import Commands
from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.view.futures import view_doomed
from ringhil.emulator.view.messages import ViewDoomed

from .asking import Asked, asking

SERVER = """
name: two cards
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 4, host_links: [0, 1]}}
  boundary_links: [{from: [a.3, a.4], to: [b.2, b.3]}]
workload: {units: 20, size: 600}
timeline:
- {at: 9000, fault: dead, gpu: a.2}
- {at: 15000, fault: link_cut, link: b.1-b.2}
- {at: 20000, fault: dead, gpu: a.0}
- {at: 30000, clear: dead, gpu: a.2}
until: 40000
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "r.rec"
    record_run(path, loads(SERVER), cells_library())
    return path


@pytest.fixture(scope="module")
def asked(recorded: Path) -> Iterator[Asked]:
    with asking(recorded) as found:
        yield found


@pytest.fixture(scope="module")
def session(recorded: Path) -> Iterator[DebugSession]:
    with DebugSession(recorded, cells_library()) as found:
        yield found


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that failed, and not from its beginning on."""
    path = tmp_path_factory.mktemp("lost") / "r.rec"
    record_run(path, loads(LOST), cells_library())
    return path


@pytest.fixture(scope="module")
def doomed(lost: Path) -> ViewDoomed:
    """Since when, as the Python API says."""
    with DebugSession(lost, cells_library()) as session:
        return view_doomed(session.recording, Commands(session).do("doomed")["doomed"])
