"""A server for the tests of a file that only look at it. It works as long as it is there: slowly."""

from collections.abc import Iterator

import pytest

from .served import TEXT, Monitored


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    with Monitored(tmp_path_factory.mktemp("nvml"), TEXT, "--clock", "200000") as served:
        yield served
