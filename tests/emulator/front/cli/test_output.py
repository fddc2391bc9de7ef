"""Standard output that is full, closed, or read by nobody, whatever is printed there: never exit code 0 or 1."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.command import RINGHIL, ringhil

from ringhil.emulator.coverage.cross import Cross
from ringhil.emulator.coverage.functional_json import save
from ringhil.emulator.testbench.stimulus import Peek, Post, Stimulus

RING = (
    "server: {cards: {a: {gpus: 4}}, settings: {census_period: 600, firmware_latency: 8, host_latency: 8, "
    "keepalive_interval: 400, wait_to_restore: 900}}\nuntil: 4000\n"
)
EXPLORE = "explore good.yaml --faults dead --phases 1 --lasts left --number 2"
COMMANDS = [
    "run good.yaml",
    "run good.yaml --json",
    "run good.yaml --record -",
    "verify good.yaml",
    "verify good.yaml --json",
    "verify good.yaml --junit -",
    "verify good.yaml --codequality -",
    "verify good.yaml --list",
    "verify good.yaml --list --json",
    EXPLORE,
    f"{EXPLORE} --json",
    f"{EXPLORE} --report -",
    "explore query store",
    "explore query store --json",
    "explore query store --campaigns",
    "explore compare store store",
    "explore compare store store --json",
    "schema",
    "rtl check --list",
    "rtl check --rule control.own --no-waves",
    "rtl check --rule control.own --no-waves --json",
    "rtl check --rule control.own --no-waves --junit -",
    "rtl build",
    "rtl build --json",
    "rtl viewers -o views",
    "rtl play stimulus.json",
    "rtl play stimulus.json --json",
    "rtl coverage functional.json",
    "rtl coverage functional.json --json",
    "--help",
    "--version",
    "explore query --help",
]
DAILY = {
    "run good.yaml",
    "verify good.yaml --junit -",
    f"{EXPLORE} --report -",
    "rtl check --rule control.own --no-waves --junit -",
    "--help",
}
# Two processes each: the others are for `make soak`.
EACH = [c if c in DAILY else pytest.param(c, marks=pytest.mark.slow(part="benches")) for c in COMMANDS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario, a store of a campaign, a stimulus and functional coverage."""
    made = tmp_path_factory.mktemp("output")
    (made / "good.yaml").write_text(RING)
    (made / "stimulus.json").write_text(Stimulus.of([Post(5, 0, bytes(32)), Peek(20, 0)]).to_json())
    save(made / "functional.json", [Cross("c", {"a": ("x", "y")})], {"c": {("x",): 1}})
    assert ringhil(*EXPLORE.split(), "--store", "store", cwd=made).returncode == 0
    return made


def printed_to(descriptor: int, folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return ringhil(*command.split(), cwd=folder, stdout=descriptor)


@pytest.mark.rest(but_one_in=4)
@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", EACH)
def test_no_room_is_one_line_and_code_2(folder: Path, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = printed_to(full.fileno(), folder, command)
    assert done.returncode == 2, done.stderr
    *table, line = done.stderr.splitlines()
    assert line == "ringhil: stdout: cannot be written: No space left on device"
    assert not table or command.endswith(" -"), "where a report is on standard output, tables are on the other"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("command", EACH)
def test_a_reader_that_goes_ends_it_as_other_tools_are_ended(folder: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = printed_to(writing, folder, command)
    os.close(writing)
    assert done.returncode == -signal.SIGPIPE, done.stderr
    assert done.stderr == "" or command.endswith(" -")
    assert "Traceback" not in done.stderr


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("command", ["run good.yaml", "verify good.yaml --json", "schema", "--help"])
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_output_is_code_2(folder: Path, command: str, closed: str) -> None:
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *RINGHIL, *command.split()]
    done = subprocess.run(shell, cwd=folder, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stderr == ("" if "2>&-" in closed else "ringhil: stdout: cannot be written: it is closed\n")


@pytest.mark.rest
def test_without_standard_error_the_work_is_done(folder: Path) -> None:
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *RINGHIL, "-v", "verify", "good.yaml"]
    done = subprocess.run(shell, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("1 passed, 0 failed: ")
