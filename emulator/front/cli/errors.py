"""Errors of the input or the environment, as one line and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.campaign.cluster.errors import ClusterError
from ringhil.emulator.host.workload import DataError
from ringhil.emulator.nvml.messages import SocketError
from ringhil.emulator.scenario import ScenarioError
from ringhil.emulator.server.foreign import FirmwareError
from ringhil.emulator.server.node_choice import NodeError
from ringhil.emulator.testbench.stimulus import StimulusError
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.waves import WaveError

_EXPLAINED = (
    ScenarioError,
    DataError,
    BuildError,
    ClusterError,
    FirmwareError,
    NodeError,
    RecordingError,
    SocketError,
    StimulusError,
    WaveError,
)


@contextmanager
def explained() -> Iterator[None]:
    """Turn what may be wrong with input and environment into a message for the user."""
    try:
        yield
    except _EXPLAINED as error:
        raise click.ClickException(str(error)) from error
