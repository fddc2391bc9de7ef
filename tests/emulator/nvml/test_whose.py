"""What a process may see depends on which process it is, and on nothing that it says."""

import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from ringhil.emulator.nvml.client import NvmlClient
from ringhil.emulator.nvml.listener import MOST_OF_ONE
from ringhil.emulator.nvml.messages import VERSION, NvmlTopic, Question, SocketError

from .served import Monitored

# Without packages: a program that has only the library, found by whatever is in its environment.
COUNT = """
import ctypes, os, sys, time
def count():
    lib, count = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_uint(99)
    done = lib.nvmlInit_v2() or lib.nvmlDeviceGetCount_v2(ctypes.byref(count))
    return done or count.value
"""


def numbers(monitored: Monitored, code: str, **how: object) -> list[int]:
    done = monitored.run(sys.executable, "-c", COUNT + code, **how)  # type: ignore[arg-type]
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_settings_let_nobody_out(monitored: Monitored) -> None:
    """A child that is in no session of its parents', and whose parents have ended: it is in the application."""
    code = """
sys.stdout.flush()
if os.fork() == 0:
    os.setsid()
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle: time.sleep(0.001)
        environment = {k: os.environ[k] for k in ("LD_LIBRARY_PATH", "RINGHIL_NVML")}
        os.execve(sys.executable, [sys.executable, "-c", sys.argv[1] + "print(count())", ""], environment)
    os._exit(0)
os.wait()
"""
    assert numbers(monitored, "print(count())") == [6]
    done = monitored.run(sys.executable, "-c", COUNT + code, COUNT, name="one")
    assert (done.stdout.split(), done.stderr) == (["1"], "")


def test_nobody_goes_from_one_application_to_another(monitored: Monitored) -> None:
    done = monitored.run(*monitored.command("true", name="two"), name="one")
    why = "two: not for a process of another user, or one that is in another application or group"
    assert (done.returncode, done.stderr) == (2, f"ringhil: {monitored.socket}: {why}\n")


def test_a_gpu_that_one_may_not_see_is_not_told_of_under_its_number_either(monitored: Monitored) -> None:
    code = f"""
from pathlib import Path
from ringhil.emulator.nvml.client import NvmlClient
from ringhil.emulator.nvml.messages import NvmlTopic, Question
client = NvmlClient(Path({str(monitored.socket)!r}))
print(*(int(client.ask(Question(NvmlTopic.MEMORY, gpu)).status) for gpu in range(7)))
"""
    assert numbers(monitored, code) == [0] * 6 + [2]
    assert numbers(monitored, code, name="one") == [2, 2, 2, 2, 0, 2, 2]


def test_a_child_asks_for_itself(monitored: Monitored) -> None:
    """It was forked from one that had asked already."""
    code = f"""
print(count(), flush=True)
from pathlib import Path
if os.fork() == 0:
    from ringhil.emulator.nvml.client import NvmlClient
    NvmlClient(Path({str(monitored.socket)!r})).enter("one")
    print(count(), flush=True)
    os._exit(0)
os.wait()
print(count())
"""
    assert numbers(monitored, code) == [6, 1, 6]


def test_a_connection_is_of_use_to_nobody_but_who_has_made_it(monitored: Monitored) -> None:
    """It has ended, and left it to a child."""
    theirs, ours = os.pipe()
    if (child := os.fork()) == 0:
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.connect(str(monitored.socket))
        line.send(Question(NvmlTopic.HELLO, number=VERSION).packed())
        first = len(line.recv(4096))
        if os.fork() == 0:
            os.read(theirs, 1)  # until it has been waited for
            line.send(Question(NvmlTopic.COUNT).packed())
            Path(f"{monitored.socket}.said").write_text(json.dumps([first > 0, len(line.recv(4096))]))
        os._exit(0)
    os.waitpid(child, 0)
    os.write(ours, b"x")
    said = Path(f"{monitored.socket}.said")
    for _ in range(1000):
        if said.exists() and said.read_text():
            break
        time.sleep(0.01)
    assert json.loads(said.read_text()) == [True, 0]


def test_nor_while_who_has_made_it_is_there(monitored: Monitored) -> None:
    """A child that sends on its parent's connection isn't told what the parent may know; the parent asks again."""
    code = f"""
import socket
from ringhil.emulator.nvml.messages import VERSION, NvmlTopic, Question
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect({str(monitored.socket)!r})
def told(question):
    line.send(question.packed())
    return len(line.recv(4096))
print(int(told(Question(NvmlTopic.HELLO, number=VERSION)) > 0), int(told(Question(NvmlTopic.COUNT)) > 0), flush=True)
if os.fork() == 0:
    print(told(Question(NvmlTopic.COUNT)), flush=True)
    os._exit(0)
os.wait()
print(count())
"""
    assert numbers(monitored, code) == [1, 1, 0, 6]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run something as somebody else")
def test_another_users_processes_see_nothing_unless_they_are_in_an_application(monitored: Monitored) -> None:
    somebody = 65534
    # It can't read the folder with the library, which is loaded before.
    code = f"ctypes.CDLL('libnvidia-ml.so.1')\nos.setuid({somebody})\nprint(count())"
    assert numbers(monitored, code) == [0]
    assert numbers(monitored, code, name="two") == [1]
    client = f"""
from pathlib import Path
from ringhil.emulator.nvml.client import NvmlClient
os.setuid({somebody})
try:
    NvmlClient(Path({str(monitored.socket)!r})).enter("two")
except Exception as error:
    print(int("not for a process of another user" in str(error)))
"""
    assert numbers(monitored, client) == [1]


def test_one_process_has_so_many_connections_and_no_more(monitored: Monitored) -> None:
    clients = [NvmlClient(monitored.socket) for _ in range(MOST_OF_ONE)]
    # Closed before it has asked, after that, or while it waits for the answer.
    with pytest.raises(SocketError, match=r"Broken pipe|no server of ours|reset"):
        NvmlClient(monitored.socket)
    for client in clients:
        client.close()
    NvmlClient(monitored.socket).close()
