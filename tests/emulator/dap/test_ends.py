"""However a session ends, no process and no file is left; what is no message of the protocol ends it in one line."""

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import ANEW, refusal, started
from tests.emulator.dap.client import Client
from tests.emulator.dap.conftest import SERVER, Begin
from tests.emulator.scenario.samples import unhurried

from ringhil.emulator.dap.wire import MOST_BODY, Incoming, WireError, decoded


@pytest.fixture
def scratch(tmp_path: Path) -> dict[str, str]:
    """An environment whose files and processes can be told from others'."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "server.yaml").write_text(SERVER)
    return {**os.environ, "TMPDIR": str(tmp_path / "scratch"), "RINGHIL_TESTS_MARK": str(tmp_path)}


def _left(scratch: dict[str, str]) -> tuple[list[str], list[str]]:
    """Processes and files of a session."""
    mark = f"RINGHIL_TESTS_MARK={scratch['RINGHIL_TESTS_MARK']}".encode()
    running = list[str]()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (each / "environ").read_bytes().split(b"\0"):
                running.append(each.name)
        except OSError:
            continue
    return running, [each.name for each in Path(scratch["TMPDIR"]).iterdir()]


def _all_gone(scratch: dict[str, str]) -> None:
    deadline = time.monotonic() + 20
    while (left := _left(scratch)) != ([], []) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == ([], [])


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("moment", ["at once", "launching", "stopped", "stepping", "going", "leaving"])
@pytest.mark.parametrize("how", ["gone", "SIGTERM", "SIGKILL"])
def test_nothing_is_left_when_the_client_is_gone(
    scratch: dict[str, str], tmp_path: Path, moment: str, how: str
) -> None:
    """A signal: the adapter itself is ended, too."""
    command = ("step", tmp_path / "server.yaml", "--dap")
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(*command, env={**scratch, ANEW: "1"}, **streams) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = Client(process.stdout.fileno(), process.stdin.fileno())
        if moment == "launching":
            client.begin("initialize")
            client.begin("launch")
        elif moment != "at once":
            client.launch()
            client.start()
            assert _left(scratch)[1]
        if moment == "stepping":
            client.move("next")
            client.frames()
            client.begin("next")
        elif moment == "going":
            client.begin("setFunctionBreakpoints", breakpoints=[{"name": "count == 77"}])
            client.begin("continue")
        elif moment == "leaving":
            client.begin("disconnect")
        if how != "gone":
            process.send_signal(signal.Signals[how])
        process.stdin.close()
        process.stdout.close()
        process.wait(20)
    _all_gone(scratch)


@pytest.mark.rest
def test_a_client_takes_its_leave_whatever_is_being_done(scratch: dict[str, str], begin: Begin, tmp_path: Path) -> None:
    """Here a run that would take days."""
    (tmp_path / "server.yaml").write_text(SERVER.replace("24000", "1000000000"))
    client, process = begin(tmp_path / "server.yaml", env={**scratch, ANEW: "1"})
    launch = client.begin("launch")
    assert client.event("output")["output"].startswith("playing")
    leave = client.begin("disconnect")
    assert client.answer(leave)["success"]
    assert launch < leave
    client.event("terminated")
    assert process.wait(10) == 0
    _all_gone(scratch)


def test_a_pause_breaks_off_what_goes_on(begin: Begin, recorded: Path) -> None:
    """It stays where it had come to; a later request is done as ever."""
    client, process = begin(recorded)
    client.launch()
    client.start()
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": "count == 77"}])
    going, pause = client.begin("continue"), client.begin("pause")
    assert client.answer(going)["success"]
    assert client.event("stopped")["reason"] in ("pause", "step")
    assert client.answer(pause)["success"]
    assert client.move("reverseContinue")["reason"] == "entry"
    client.ask("disconnect")
    assert process.wait(10) == 0


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", "header: found 'GET / HTTP/1.1'; allowed is Content-Length: NUMBER"),
        (b"Content-Length: 99999999\r\n\r\n", "found 99,999,999 bytes; allowed are 1,048,576"),
        (b"x" * 2000, "found 2000 bytes without an end of the header; allowed are 1024"),
        (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "header: found 2 lines Content-Length; needed is one"),
        (b"Content-Type: x\r\n\r\n", "header: found 0 lines Content-Length; needed is one"),
    ],
)
def test_another_protocol_is_refused_in_one_line(recorded: Path, sent: bytes, words: str) -> None:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started("step", recorded, "--dap", **streams) as process:
        assert process.stdin is not None
        os.write(process.stdin.fileno(), sent)
        _, errors = process.communicate(timeout=30)
    (line,) = errors.splitlines()
    assert words in line
    assert process.returncode == 2


@unhurried
@given(
    bodies=st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                max_leaves=5,
            ).map(lambda value: json.dumps(value).encode()),
            st.builds(
                lambda command, arguments: json.dumps(
                    {"seq": 1, "type": "request", "command": command, "arguments": arguments}
                ).encode(),
                st.sampled_from(["scopes", "evaluate", "variables", "goto", "setBreakpoints", "source", "stackTrace"]),
                st.dictionaries(
                    st.sampled_from(["frameId", "expression", "variablesReference", "targetId", "source", "line"]),
                    st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2),
                    max_size=3,
                ),
            ),
            st.just(b"[" * 100_000),
        ),
        max_size=5,
    )
)
def test_a_message_that_is_none_is_told_and_the_session_goes_on(client: Client, bodies: list[bytes]) -> None:
    for body in bodies:
        client.send_bytes(body)
    asked = client.begin("threads")
    while True:
        found = client.hear()
        if found["type"] == "response" and found["request_seq"] == asked and found["command"] == "threads":
            break
        text = found.get("message") or (found.get("body") or {}).get("output", "")
        assert "\n" not in text.rstrip("\n")
        assert "Traceback" not in text
    assert found["success"]


@unhurried
@given(bodies=st.lists(st.binary(max_size=50), max_size=5), cuts=st.lists(st.integers(0, 400), max_size=6))
def test_messages_are_whole_however_their_bytes_come(bodies: list[bytes], cuts: list[int]) -> None:
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    incoming, places = Incoming(), sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    found = [body for start, end in pairwise(places) for body in incoming.feed(data[start:end])]
    assert found == bodies


@given(st.binary(max_size=200))
def test_any_bytes_are_messages_or_an_error_of_ours(data: bytes) -> None:
    with suppress(WireError):
        for body in Incoming().feed(data):
            assert len(body) <= MOST_BODY
            with suppress(ValueError):
                assert isinstance(decoded(body), dict)


# ------------------------------------------------------------------------------------------------------- over a socket


def _connected(line: str) -> tuple[socket.socket, Client]:
    host, _, port = line.removeprefix("listening at ").rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    return connection, Client(connection.fileno(), connection.fileno())


def test_clients_of_a_socket_have_sessions_of_their_own(recorded: Path) -> None:
    """Two at once, one of them is gone without a word; nobody launches or writes what isn't on the command line."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started("step", recorded, "--dap", "127.0.0.1:0", **streams) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        first, one = _connected(line)
        second, other = _connected(line)
        web, _ = _connected(line)
        with first, second, web:
            web.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            assert web.recv(100) == b""
            one.ask("initialize")
            assert "over TCP what is launched stands on the command line" in one.refused(
                "launch", program="/etc/passwd"
            )
            one.ask("launch")
            one.event("initialized")
            one.start()
            other.launch()
            other.start()
            assert "over TCP nobody names files" in one.refused("evaluate", expression="branch /tmp/x", context="repl")
            one.move("next")
            first.close()
            other.move("next")
            assert other.number() == 1
            other.ask("disconnect")
        process.send_signal(signal.SIGTERM)
        process.wait(20)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("0.0.0.0:4711", "found '0.0.0.0'; allowed is an address of this machine alone"),
        ("example.org:4711", "found 'example.org'; allowed is an address of this machine alone"),
        ("4711", "found '4711'; allowed is HOST:PORT"),
        ("127.0.0.1:99999", "found '127.0.0.1:99999'; allowed is HOST:PORT"),
    ],
)
def test_an_address_that_is_not_for_this_machine_alone_is_refused(recorded: Path, where: str, words: str) -> None:
    assert words in refusal("step", recorded, "--dap", where)


def test_an_address_in_use_is_one_line(recorded: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        where = f"127.0.0.1:{busy.getsockname()[1]}"
        assert f"--dap {where}: cannot be listened at" in refusal("step", recorded, "--dap", where)


def test_options_that_do_not_go_together(recorded: Path) -> None:
    assert "--dap has its own messages" in refusal("step", recorded, "--json", "--dap")
    assert "needed is RECORDING|SERVER.yaml" in refusal("step")
    assert "found no RECORDING|SERVER.yaml" in refusal("step", "--dap", "127.0.0.1:0")
