"""`ringhil nvml` and `ringhil serve --nvml`: what is wrong is said in one line."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import RINGHIL, refusal, ringhil
from tests.protocol.c.library import compile_c

from ringhil.emulator.nvml.library import CSRC, SOURCES

from .served import TEXT, Monitored


def test_a_socket_goes_with_its_server(tmp_path: Path) -> None:
    with Monitored(tmp_path, TEXT) as served:
        assert served.socket.is_socket()
        assert served.end(signal.SIGTERM) == (0, "")
        assert not served.socket.exists()
        done = served.run(sys.executable, "-c", "import ctypes; print(ctypes.CDLL('libnvidia-ml.so.1').nvmlInit_v2())")
        assert done.stdout == "9\n"  # the driver isn't loaded


def test_what_serve_refuses(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT)
    wanted = "with --nvml, processes of this machine join them, and can't be recorded"
    refused = ("serve", file, "--nvml", tmp_path / "s", "--record", tmp_path / "r", "--groups", tmp_path / "g")
    for more in ((), ("--json",)):
        assert refusal(*refused, *more) == f"ringhil serve: --groups: {wanted}"
    assert not (tmp_path / "r").exists()
    assert refusal("serve", file, "--nvml", file) == f"ringhil: {file}: is there, and no socket"


def test_what_nvml_refuses(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    assert "--socket" in refusal("nvml", "true")
    assert "--as: needs a program" in refusal("nvml", "--socket", socket, "--as", "one")
    line = refusal("nvml", "--socket", socket, "--as", "one", "true")
    assert line == f"ringhil: {socket}: cannot be connected to: No such file or directory"
    assert refusal("nvml", "--socket", socket, "--as", "", "true").endswith(
        "--as: found ''; allowed is an application's name"
    )
    socket.write_text("")
    for command in (["--as", "one", "true"], ["true"], []):
        assert refusal("nvml", "--socket", socket, *command) == f"ringhil: {socket}: is there, and no socket"


def test_a_program_that_nobody_will_hear_runs_and_that_is_said(tmp_path: Path, monitored: Monitored) -> None:
    """A server that is started later is found."""
    words = f"ringhil: {tmp_path / 's'}: nobody listens there yet: No such file or directory"
    for command, goes_on in ((["sh", "-c", "exit 7"], "; sh is started all the same"), ([], "")):
        done = ringhil("nvml", "--socket", tmp_path / "s", *command)
        assert (done.returncode, done.stderr) == (7 if command else 0, f"{words}{goes_on}\n")
        done = ringhil("nvml", "--socket", monitored.socket, *command)
        assert (done.returncode, done.stderr) == (7 if command else 0, "")
    done = ringhil("nvml", "--socket", monitored.socket, "no-such-program")
    assert (done.returncode, done.stderr) == (2, "ringhil: no-such-program: cannot be run: No such file or directory\n")


def test_a_program_in_an_application_ends_as_it_ends(monitored: Monitored) -> None:
    code = "import os, sys; os.kill(os.getpid(), 15) if os.fork() else sys.exit(7)"
    assert monitored.run(sys.executable, "-c", code, name="one").returncode == 143
    assert monitored.run("sh", "-c", "exit 7", name="one").returncode == 7
    done = monitored.run("true", name="three")
    assert (done.returncode, done.stderr) == (
        2,
        f"ringhil: {monitored.socket}: three: there is no such application; allowed are those of the served file\n",
    )


def test_who_stays_ends_with_its_program_also_where_the_library_is_built_first(
    monitored: Monitored, tmp_path: Path
) -> None:
    assert monitored.run("sh", "-c", "exit 7", name="one", env={"RINGHIL_CACHE": str(tmp_path)}).returncode == 7
    assert any(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_who_stays_is_one_to_the_program(monitored: Monitored, number: signal.Signals) -> None:
    code = f"trap 'exit 9' {number.name[3:]}; echo; read line"
    with _staying(monitored, code) as staying:
        staying.send_signal(number)
        assert staying.wait(60) == 9


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_a_key_of_the_terminal_ends_the_program_or_nothing(monitored: Monitored, number: signal.Signals) -> None:
    """The terminal sends it to both: who stays doesn't go before the program."""
    with _staying(monitored, "echo; read line; exit 9") as staying:
        staying.send_signal(number)
        staying.communicate("\n", timeout=60)
        assert staying.returncode == 9


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_who_stays_before_it_goes_on_after_its_fork(
    monitored: Monitored, number: signal.Signals
) -> None:
    """A busy machine: the program is faster than who stays."""
    program, wanted = ("exit 9", 9) if number == signal.SIGQUIT else ("exec sleep 20", 128 + number)
    code = f"""
import ctypes, functools, os
wait = functools.partial(ctypes.CDLL(None).usleep, 200000)
os.register_at_fork(after_in_parent=wait, after_in_child=lambda: os.kill(os.getppid(), {number}))
from ringhil.emulator.front.cli.main import main
main()
"""
    command = [sys.executable, "-c", code, *monitored.command("sh", "-c", program, name="one")[len(RINGHIL) :]]
    assert subprocess.run(command, timeout=60, check=False).returncode == wanted


def _staying(monitored: Monitored, code: str) -> "subprocess.Popen[str]":
    """Its program has begun."""
    command = monitored.command("sh", "-c", code, name="one")
    staying = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert staying.stdout is not None
    assert staying.stdout.readline() == "\n"
    return staying


def test_a_program_that_goes_elsewhere_finds_the_socket_and_our_library_first(monitored: Monitored) -> None:
    command = [*RINGHIL, "nvml", "--socket", monitored.socket.name, "sh", "-c"]
    command.append('echo "$RINGHIL_NVML"; echo "$LD_LIBRARY_PATH"')
    environment = os.environ | {"LD_LIBRARY_PATH": "/other:/another"}
    there, where = subprocess.check_output(command, cwd=monitored.socket.parent, env=environment, text=True).split()
    assert there == str(monitored.socket)
    ours, _, others = where.partition(":")
    assert (Path(ours) / "libnvidia-ml.so.1").is_file()
    assert others == "/other:/another"


def test_the_library_is_clean_c(tmp_path: Path) -> None:
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion")
    for source in SOURCES:
        done = compile_c(*strict, "-O2", "-c", f"-I{CSRC}", source, "-o", tmp_path / "x.o")
        assert (done.returncode, done.stderr) == (0, "")
