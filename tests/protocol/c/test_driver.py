"""The driver in C at the port of an emulated card: what applications are told is what the one in Python tells them."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import ringhil
from tests.emulator.serial.served import Served

from ringhil.protocol.line.management import LineFault

from .applications import GPU, LOST, PATIENCE, ByPython, by_c

SERVER = "server: {cards: {a: {gpus: 5, host_links: [0, 1]}}, settings: {device_memory: 100}}\n"
MEMORY = ["create 1 60", "allocate 1 50", "create 2 80", "allocate 2 51", "allocate 2 81", "allocate 2 50", "free 1 51"]
WORK = ["copy 1 3 700", "copy 1 99 8", "launch 1 3000", "launch 2 500", "query 2 0", "wait 1", "wait 2", "query 1 1"]
OTHERS = ["configure 1 90", "create 1 5", "allocate 3 1", "launch 1 900000", "cancel 1", "wait 1", "query 2 4"]
END = ["destroy 1", "query 1 0", "allocate 2 50", "destroy 2"]
ALL = [*MEMORY, *WORK, *OTHERS, *END]
STEPS = [f"{what} 1 {amount}" for _ in range(30) for what, amount in (("copy", "1 300"), ("launch", 200), ("wait", ""))]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served"), SERVER, "--listen", "pty", "--listen", "pty") as served:
        yield served


@pytest.mark.rest
def test_applications_are_told_the_same_by_both(served: Served, program: Path) -> None:
    """Memory and its limits, launches, refusals; twice: whoever comes next is no stranger to the contexts."""
    python = ByPython(SERVER)
    told = python.play(ALL)
    python.close()
    for _ in range(2):
        said, resent = by_c(program, served.ports["a"][0], ALL, patience=60_000)
        taken = [each for each, line in zip(said, ALL, strict=True) if line.startswith("launch")]
        assert [each for each, line in zip(said, ALL, strict=True) if not line.startswith("launch")] == told
        held = [50 << 32 | limit for limit in (60, 80, 60)]  # or it was over when the driver came to look
        assert all(
            each in (("started", digest, 0), ("done", 0, each[2])) for each, digest in zip(taken, held, strict=True)
        )
        assert resent == 0
    assert {each[0] for each in told} == {
        *("done", "cancelled", "invalid", "over_limit", "no_memory"),
        *("no_context", "exists"),
    }


def test_memory_that_one_wants_costs_another_nothing(served: Served, program: Path) -> None:
    """Two programs at once, each at a port of its own: one does its steps, the other wants more than there is."""
    one = ["create 1 60", "allocate 1 60", *STEPS, "query 1 1", "destroy 1"]
    other = ["create 7 100", *["allocate 7 100"] * 60, "query 7 2", "destroy 7"]
    ports = served.ports["a"]
    command = [program, ports[1], str(GPU), str(PATIENCE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as greedy:
        assert greedy.stdin is not None
        greedy.stdin.write(other[0] + "\n")
        greedy.stdin.flush()
        assert greedy.stdout is not None
        assert greedy.stdout.readline().endswith("done\n")
        said, _ = by_c(program, ports[0], ["keep 1", *one[:2]])
        greedy.stdin.write("\n".join(other[1:]))
        greedy.stdin.close()
        said, _ = by_c(program, ports[0], one[2:])
        refused = greedy.stdout.read().splitlines()
    assert {each[0] for each in said} == {"done", "started"}
    assert said[-2] == ("done", 30 * 200, 0)
    assert [line.partition("the ")[2] for line in refused[:60]] == ["GPU has no more memory"] * 60
    assert refused[60].startswith("0 0 0 000000000000003c ")


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize(
    "faults",
    [
        [f"fault {LineFault.DEAD.code} 0"],
        [f"fault {LineFault.LINK_BIT_ERRORS.code} {link} 800" for link in (GPU - 1, GPU)],
    ],
    ids=["the entry GPU fails", "noise"],
)
def test_what_is_lost_on_the_way_goes_out_again(tmp_path: Path, program: Path, faults: list[str]) -> None:
    """Each command is carried out once all the same: the GPU says what it worked, and what it holds."""
    script = ["create 1 60", "allocate 1 10", "launch 1 200000", *faults, "wait 1", "allocate 1 10", *STEPS]
    with Served(tmp_path, SERVER, "--listen", "pty") as served:
        said, resent = by_c(program, served.ports["a"][0], [*script, "query 1 1", "query 1 0", "destroy 1"])
    assert {each[0] for each in said} == {"done", "started"}
    assert said[-3:] == [("done", 200_000 + 30 * 200, 0), ("done", 20 << 32 | 60, 0), ("done", 60, 0)]
    assert resent > 0


def test_a_gpu_that_fails_is_said_to_be_lost(served: Served, program: Path) -> None:
    """And its contexts with it: when it is back, they are created anew."""
    dead = LineFault.DEAD.code
    script = ["create 1 60", "launch 1 4000000000", f"fault {dead} 4", "wait 1", "allocate 1 1", f"end {dead} 4"]
    said, _ = by_c(program, served.ports["a"][0], script, gpu=4)
    assert said[2:] == [LOST, LOST]


@pytest.mark.rest
def test_a_program_that_is_killed_leaves_nothing_and_replays(tmp_path: Path, program: Path) -> None:
    """Its contexts are listed while it is there; the next program on its line, any command, ends them. Those that are
    to stay are freed by hand."""
    record = tmp_path / "session"
    with Served(tmp_path, SERVER, "--listen", "pty", "--listen", "pty", "--record", str(record)) as served:
        port, other = served.ports["a"]
        command = [program, port, str(GPU), str(PATIENCE)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed:
            assert killed.stdin is not None
            assert killed.stdout is not None
            killed.stdin.write("create 1 60\nallocate 1 50\nlaunch 1 4000000000\ncreate 2 5\n")
            killed.stdin.flush()
            assert [killed.stdout.readline().split()[0] for _ in range(4)] == ["0"] * 4
            rows = json.loads(ringhil("card", other, "contexts", "--json").stdout)
            assert [tuple(row.values()) for row in rows] == [
                (GPU, 1, "connected", 1, "applications", 50, 60),
                (GPU, 2, "connected", 1, "applications", 0, 5),
            ]
            killed.kill()
        said, _ = by_c(program, port, ["keep 1", "create 1 80", "allocate 1 80"])
        assert [each[0] for each in said] == ["done", "done"]
        assert ringhil("card", other, "contexts").stdout.split()[7:] == [
            *(f"a.{GPU}", "1", "80", "80"),
            *("2", "applications", "kept"),
        ]
        assert ringhil("card", other, "contexts", "--free", f"a.{GPU}", "1").stdout.startswith(
            f"context 1 of a.{GPU} was destroyed at cycle "
        )
        assert ringhil("card", other, "contexts").stdout == "no client has a context\n"
        wrong = ringhil("card", other, "contexts", "--free", "a.2", "16")
        assert (wrong.returncode, wrong.stderr.splitlines()[-1]) == (
            2,
            "ringhil card URL contexts: --free: context '16': allowed are 0 .. 15",
        )
        assert served.end(signal.SIGINT) == (0, "")
    assert ringhil("replay", record).stdout.startswith("identical: ")
