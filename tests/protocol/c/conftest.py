"""What several tests of the C library need and what takes long to build."""

from pathlib import Path

import pytest

from . import library as c


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Applications that use the driver, by a script."""
    return c.program("driver", tmp_path_factory.mktemp("driver"), *c.SANITIZED)
