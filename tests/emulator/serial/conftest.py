"""Servers that have been powered up, a run, and a management port of a card, without a line."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.emulator.serial.port.port import ManagementPort
from ringhil.emulator.server import LiveServer

from .served import ONE


@contextmanager
def powered_up() -> Iterator[LiveServer]:
    server = LiveServer(loads(ONE), cells_library())
    server.start()
    server.run_to(3000)
    yield server
    server.engine.close()


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """In cycle 3000."""
    with powered_up() as server:
        yield server


@pytest.fixture(scope="module")
def going() -> Iterator[LiveServer]:
    """Another one, for tests that let time pass beside those that don't."""
    with powered_up() as server:
        yield server


@pytest.fixture
def port(server: LiveServer) -> ManagementPort:
    """Of the server's card, for one client."""
    return ManagementPort(ManagedCard(server, 0))


@pytest.fixture
def run() -> Iterator[Run]:
    """That has started."""
    run = Run(loads(ONE), cells_library())
    run.start()
    yield run
    run.close()
