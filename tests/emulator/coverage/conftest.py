"""Counts of a real run."""

from pathlib import Path

import pytest

from .built import play, program


@pytest.fixture(scope="session")
def executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(tmp_path_factory.mktemp("covered"))


@pytest.fixture(scope="session")
def counted(executable: Path) -> tuple[Path, Path]:
    """Two runs of the same design."""
    folder = executable.parent
    return play(executable, 1, 100, folder / "one.dat"), play(executable, 7, 30, folder / "two.dat")
