"""Boards that are processes of this machine."""

from collections.abc import Iterator

import pytest

from . import library
from .boards import process


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A board as a process."""
    return library.board(tmp_path_factory)


@pytest.fixture
def port(program: str) -> Iterator[str]:
    """Of one that runs."""
    with process(program) as name:
        yield name
