"""One server for the tests that only look at it."""

from collections.abc import Iterator

import pytest

from .served import TEXT, Monitored


@pytest.fixture(scope="session")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    with Monitored(tmp_path_factory.mktemp("nvml"), TEXT, "--clock", "600000") as served:
        yield served
