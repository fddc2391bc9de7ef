"""A management port with the terminals that people have: pyserial's miniterm, socat, and a shell's echo and cat."""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.emulator.serial.port.test_terminal import shown
from tests.emulator.serial.served import ONE, Served

from ringhil.emulator.serial.client import CardClient, RefusedError

needs_socat = pytest.mark.skipif(shutil.which("socat") is None, reason="socat isn't installed: apt-get install socat")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    listen = ("--listen", "pty", "--listen", "tcp://127.0.0.1:0")
    with Served(tmp_path, ONE, *listen, "--clock", "200000") as served:
        with CardClient.open(served.ports["a"][1], timeout=20) as card:
            while not _is_counted(card):
                pass
        yield served


def _is_counted(card: CardClient) -> bool:
    """The ring is paced: an entry GPU is elected some milliseconds after power-up."""
    with suppress(RefusedError):
        return card.last_census().count == 4
    return False


@contextmanager
def running(*command: str, **given: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """A program that is ended with it: one that goes on would be waited for."""
    with subprocess.Popen(command, **given) as process:
        try:
            yield process
        finally:
            process.kill()


def test_miniterm(served: Served) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "serial.tools.miniterm", served.ports["a"][0], "115200"])
    shown(terminal, "--- Quit: Ctrl+]")
    os.write(terminal, b"read a.1 watchdog\r")
    shown(terminal, "watchdog          0x00000040         64\n> ")
    os.write(terminal, b"census\r")
    assert "counting\n> " in shown(terminal, "4 of 4 GPUs work")
    os.write(terminal, b"\x1d")  # Ctrl+]
    with suppress(OSError):  # it has gone
        shown(terminal, "--- exit ---")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(terminal)


def test_echo_and_cat(served: Served) -> None:
    port = served.ports["a"][0]
    with running("cat", port, stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        subprocess.run(["sh", "-c", 'echo help > "$1"', "sh", port], check=True)
        help_ = shown(cat.stdout.fileno(), "this\n> ")
    assert "census, last                have the ring counted; the last accepted count\n" in help_


@needs_socat
def test_socat_types(served: Served) -> None:
    host_and_port = served.ports["a"][1].removeprefix("socket://")
    with running("socat", "-", f"TCP:{host_and_port}", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as socat:
        assert socat.stdin is not None
        assert socat.stdout is not None
        socat.stdin.write(b"info\n")
        socat.stdin.flush()
        shown(socat.stdout.fileno(), "card a, 4 GPUs, cycle ")
        socat.stdin.close()


@needs_socat
def test_socat_makes_a_port_of_a_socket(served: Served, tmp_path: Path) -> None:
    host_and_port, port = served.ports["a"][1].removeprefix("socket://"), tmp_path / "card"
    with running("socat", f"PTY,link={port},raw,echo=0", f"TCP:{host_and_port}") as socat:
        while not port.exists():
            assert socat.poll() is None
        with CardClient.open(str(port), timeout=20) as card:
            assert card.census(timeout=30).count == 4
