"""`ringhil nvml` and `ringhil serve --nvml`: what is wrong is said in one line."""

import signal
import sys
from pathlib import Path

from tests.command import refusal, ringhil
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
    socket.write_text("")
    assert refusal("nvml", "--socket", socket, "--as", "one", "true").endswith(
        "cannot be connected to: Connection refused"
    )


def test_a_program_that_nobody_will_hear_runs_and_that_is_said(tmp_path: Path, monitored: Monitored) -> None:
    """A server that is started later is found."""
    words = f"ringhil: {tmp_path / 's'}: nobody listens there yet: No such file or directory\n"
    for command in (["sh", "-c", "exit 7"], []):
        done = ringhil("nvml", "--socket", tmp_path / "s", *command)
        assert (done.returncode, done.stderr) == (7 if command else 0, words)
        done = ringhil("nvml", "--socket", monitored.socket, *command)
        assert (done.returncode, done.stderr) == (7 if command else 0, "")
    done = ringhil("nvml", "--socket", monitored.socket, "no-such-program")
    assert (done.returncode, done.stderr) == (2, "ringhil: no-such-program: cannot be run: No such file or directory\n")


def test_a_program_in_an_application_ends_as_it_ends(monitored: Monitored) -> None:
    code = "import os, sys; os.kill(os.getpid(), 15) if os.fork() else sys.exit(7)"
    assert monitored.run(sys.executable, "-c", code, name="one").returncode == 143
    assert monitored.run("sh", "-c", "exit 7", name="one").returncode == 7
    done = monitored.run("true", name="three")
    assert (done.returncode, done.stderr) == (2, f"ringhil: {monitored.socket}: three: there is no such application\n")


def test_the_library_is_clean_c(tmp_path: Path) -> None:
    strict = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion")
    for source in SOURCES:
        done = compile_c(*strict, "-O2", "-c", f"-I{CSRC}", source, "-o", tmp_path / "x.o")
        assert (done.returncode, done.stderr) == (0, "")
