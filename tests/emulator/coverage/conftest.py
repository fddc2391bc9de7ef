"""Counts of a real run."""

from pathlib import Path

import pytest
from tests.once import built_once

from .built import play, program


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of the same design."""

    def build(folder: Path) -> None:
        executable = program(folder)
        play(executable, 1, 100, folder / "one.dat")
        play(executable, 7, 30, folder / "two.dat")

    folder = built_once(tmp_path_factory, "covered", build)
    return folder / "one.dat", folder / "two.dat"
