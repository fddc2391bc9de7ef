"""Who waits for the other end of a FIFO or a pipe is ended by the first signal, with the code that is documented."""

import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests import command
from tests.command import ringhil
from tests.emulator.campaign.verify.strict_junit import check

RING = "server: {cards: {a: {gpus: 4}}, settings: {census_period: 600}}\nuntil: 4000\n"
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
TO_FIFO = [
    "verify good.yaml --junit fifo",
    "verify good.yaml --codequality fifo",
    "verify good.yaml --junit out.xml --codequality fifo",
    "rtl check --rule control.own --no-waves --junit fifo",
    "run good.yaml --record fifo",
    "export run.rec --format jsonl -o fifo",
    "export run.rec --format pcapng -o fifo",
    "export --format dissector -o fifo",
]
FILLING = [
    "verify many --junit fifo",
    "verify many --junit -",
    "run good.yaml --record -",
    "export run.rec --format jsonl -o fifo",
    "export run.rec --format pcapng -o -",
    "schema",
    "verify many --json",
]
ROOM = 4096  # bytes: the least that a pipe has
# A process each: most of them are for `make soak`.
EACH, EACH_FILLING = (
    [
        pytest.param(command, *ending, marks=[pytest.mark.slow(part="benches")] if (row + column) % 6 else [])
        for row, command in enumerate(commands)
        for column, ending in enumerate(SIGNALS)
    ]
    for commands in (TO_FIFO, FILLING)
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the ring."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "good.yaml").write_text(RING)
    assert ringhil("run", "good.yaml", "--record", "run.rec", cwd=folder).returncode == 0
    return folder / "run.rec"


@pytest.fixture
def folder(recording: Path, tmp_path: Path) -> Path:
    """A scenario, many of them, its recording, and a FIFO."""
    (tmp_path / "many").mkdir()
    for name in ("good", *(f"many/{number}" for number in range(20))):
        (tmp_path / f"{name}.yaml").write_text(RING)
    (tmp_path / "run.rec").write_bytes(recording.read_bytes())
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


@contextmanager
def started(words: str, folder: Path, output: int = subprocess.PIPE) -> Iterator["subprocess.Popen[str]"]:
    process = command.started("-v", *words.split(), cwd=folder, stdout=output, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until_it_waits(process: "subprocess.Popen[str]") -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.endswith(": fifo: nobody reads it yet\n"):
            return
    raise AssertionError(f"it has ended with code {process.wait()}")


def filled(pipe: int, process: "subprocess.Popen[str]") -> bool:
    """Whether the pipe has come to have no room, before the process ends."""
    while process.poll() is None:
        if not select.select([], [pipe], [], 0)[1]:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("command", "number", "code"), EACH)
def test_a_fifo_that_nobody_reads(folder: Path, command: str, number: int, code: int) -> None:
    with started(command, folder) as process:
        wait_until_it_waits(process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert ("ringhil: interrupted" in errors) == (number == signal.SIGINT)
    assert "Traceback" not in errors
    assert not list(folder.glob(".*.partial"))


def test_the_reports_that_can_be_written_are(folder: Path) -> None:
    with started("verify good.yaml --junit out.xml --codequality fifo", folder) as process:
        wait_until_it_waits(process)
        process.terminate()
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "(interrupted: not played: " in output
    assert check((folder / "out.xml").read_text()).attrib["errors"] == "1"


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(("command", "number", "code"), EACH_FILLING)
def test_a_reader_that_takes_nothing(folder: Path, command: str, number: int, code: int) -> None:
    """Whatever is left, for a pipe or a FIFO, isn't waited for once more at the end."""
    reading, output = os.pipe()
    fifo = os.open(folder / "fifo", os.O_RDWR)
    pipe = fifo if "fifo" in command else output
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ROOM)
    with started(command, folder, output) as process:
        assert filled(pipe, process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    for descriptor in (reading, output, fifo):
        os.close(descriptor)
    assert process.returncode == code, errors
    assert "Traceback" not in errors


def test_who_reads_late_reads_all(folder: Path) -> None:
    with started("export run.rec --format jsonl -o fifo", folder) as process:
        wait_until_it_waits(process)
        text = (folder / "fifo").read_text()
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert output == f"{text.count(chr(10)) - 1} messages and events\n"
