"""Shared by all tests of emulator/."""

import pytest

from ringhil.emulator.engine.library import Library, cells_library


@pytest.fixture(scope="session")
def library() -> Library:
    """The engine over cells of our own RTL."""
    return cells_library()
