"""A run that was recorded, and a session with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads

from .hand import SERVER


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "r"
    record_run(path, loads(SERVER), cells_library())
    return path


@pytest.fixture
def session(recorded: Path) -> Iterator[DebugSession]:
    with DebugSession(recorded, cells_library()) as found:
        yield found
