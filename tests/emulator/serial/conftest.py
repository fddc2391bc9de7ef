"""A server that has been powered up, and a management port of its card, without a line."""

from collections.abc import Iterator

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.managed_card import ManagedCard
from ringhil.emulator.serial.port import ManagementPort
from ringhil.emulator.server import LiveServer

from .served import ONE


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """In cycle 3000."""
    server = LiveServer(loads(ONE), cells_library())
    server.start()
    server.run_to(3000)
    yield server
    server.engine.close()


@pytest.fixture
def port(server: LiveServer) -> ManagementPort:
    """Of the server's card, for one client."""
    return ManagementPort(ManagedCard(server, 0))
