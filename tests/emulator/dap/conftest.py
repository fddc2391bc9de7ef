"""A recording with a count of four, a lost role and firmware that handles messages; a client that has launched it."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.command import started
from tests.emulator.dap.client import Client

from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.engine.library import Library
from ringhil.emulator.scenario import loads

SERVER = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
timeline:
- {at: 9000, fault: dead, gpu: a.3}
- {at: 16000, fault: dead, gpu: a.0}
until: 24000
"""

Begin = Callable[..., tuple[Client, "subprocess.Popen[str]"]]


@pytest.fixture(scope="package")
def recorded(tmp_path_factory: pytest.TempPathFactory, library: Library) -> Path:
    path = tmp_path_factory.mktemp("dap") / "r.rec"
    record_run(path, loads(SERVER), library)
    return path


@pytest.fixture(scope="package")
def begin() -> Iterator[Begin]:
    """Starts `ringhil step --dap` with these arguments."""
    with ExitStack() as stack:

        def begun(*arguments: object, **options: object) -> tuple[Client, "subprocess.Popen[str]"]:
            streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            process = stack.enter_context(started("step", *arguments, "--dap", **{**streams, **options}))
            stack.callback(process.kill)
            assert process.stdin is not None
            assert process.stdout is not None
            return Client(process.stdout.fileno(), process.stdin.fileno()), process

        yield begun


@pytest.fixture(scope="module")
def client(begin: Begin, recorded: Path) -> Client:
    """Before the first message."""
    found, _ = begin()
    found.launch(program=str(recorded))
    assert found.start()["reason"] == "entry"
    return found
