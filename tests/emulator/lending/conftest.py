"""The databases in which loans and usage are: the same tests on all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringhil.emulator.lending.database import METADATA, open_database

from .databases import DatabaseServer, database_server, missing

_SERVERS = [pytest.param(name, marks=pytest.mark.slow(part="databases")) for name in ("mariadb", "postgresql")]


def _running(kind: str) -> Iterator[DatabaseServer]:
    if needed := missing(kind):
        pytest.skip(f"{kind} isn't installed: no {needed}")
    with database_server(kind) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[DatabaseServer]:
    yield from _running("mariadb")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[DatabaseServer]:
    yield from _running("postgresql")


@pytest.fixture(params=_SERVERS)
def server(request: pytest.FixtureRequest) -> DatabaseServer:
    """A real one with nothing in it, to be stopped and started."""
    found: DatabaseServer = request.getfixturevalue(request.param)
    with open_database(found.url) as database:
        METADATA.drop_all(database.engine)
    return found


@pytest.fixture(params=["sqlite", *_SERVERS])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lending.db"
    found: DatabaseServer = request.getfixturevalue(request.param)
    with open_database(found.url) as database:
        METADATA.drop_all(database.engine)
    return found.url
