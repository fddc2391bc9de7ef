"""The agents of guests, in C99 and in Python: they ask a real HTTP server, and take no harm from one that lies (V1)."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.once import built_once
from tests.protocol.c.library import SANITIZED, STRICT, compile_c

from ringhil.emulator.lending import agent

FOLDER = Path(agent.__file__).parent
TOKEN, NODE = "i-0000002d.5ecre7", "i-0000002d"
LOAN = {"id": 7, "node": NODE, "gpu": "a.3", "state": "bound", "hostdev": '<hostdev id="0"/>\n', "error": None}


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Compiled, and careful."""

    return [str(built_once(tmp_path_factory, "agent", lambda folder: _build(folder, FOLDER / "posix.c")) / "agent")]


@pytest.fixture(scope="module")
def lied_to(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with answers from standard input."""
    liar = Path(__file__).with_name("agent_liar.c")
    return built_once(tmp_path_factory, "agent-liar", lambda folder: _build(folder, liar)) / "agent"


def _build(folder: Path, main: Path) -> None:
    options = (*STRICT, *SANITIZED, f"-I{FOLDER}")
    done = compile_c(*options, FOLDER / "ringhil_agent.c", main, "-o", folder / "agent")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(params=["C", "Python"])
def command(request: pytest.FixtureRequest, in_c: list[str]) -> list[str]:
    """An agent as a guest calls it: Python's without anything that is installed."""
    return in_c if request.param == "C" else [sys.executable, "-I", "-S", str(FOLDER / "ringhil_agent.py")]


class _Lending(BaseHTTPRequestHandler):
    """As far as an agent sees it."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[tuple[str, str, object]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(body, 201 if body["kind"] == "training" else 409)

    def do_GET(self) -> None:
        self._answer(None, 200 if self.path == "/v1/loans/7" else 404)

    do_DELETE = do_GET

    def _answer(self, body: object, status: int) -> None:
        self.asked.append((self.command, self.path, body))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            status = 401
        found = LOAN if status < 300 else {"error": f"it is {status}", "loans": [{"gpu": "a.0"}]}
        data = json.dumps(found, indent=status % 2 or None).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """HOST:PORT."""
    _Lending.asked.clear()
    with HTTPServer(("127.0.0.1", 0), _Lending) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


def run(command: list[str], *words: str, token: str = TOKEN) -> tuple[int, dict[str, Any], str]:
    """Exit code, what it printed, and what it complained of."""
    environment = {**os.environ, "RINGHIL_TOKEN": token}
    done = subprocess.run([*command, *words], capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.stderr.count("\n") <= 1, done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def test_it_requests_asks_and_releases(command: list[str], server: str) -> None:
    """What is asked is what the API takes; what is printed is what it answered."""
    told = {"id": "7", "gpu": "a.3", "state": "bound", "error": ""}
    assert run(command, server, NODE, "request", "training", "4096") == (0, {"http": 201, **told}, "")
    assert run(command, server, NODE, "status", "7") == (0, {"http": 200, **told}, "")
    assert run(command, server, NODE, "release", "7") == (0, {"http": 200, **told}, "")
    wish = {"node": NODE, "kind": "training", "size": 4096}
    assert _Lending.asked == [
        ("POST", "/v1/loans", wish),
        ("GET", "/v1/loans/7", None),
        ("DELETE", "/v1/loans/7", None),
    ]


def test_a_refusal_has_its_reason_and_exit_code_1(command: list[str], server: str) -> None:
    """Nothing is free, there is no such loan, or the token is wrong."""
    for status, *words in ((409, "request", "other", "0"), (404, "status", "8"), (404, "release", "8")):
        code, found, _ = run(command, server, NODE, *words)
        assert (code, found["http"], found["error"], found["gpu"]) == (1, status, f"it is {status}", "")
    code, found, _ = run(command, server, NODE, "status", "7", token="wrong")
    assert (code, found["http"]) == (1, 401)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing",), "wanted is"),
        (("status",), "wanted is"),
        (("request", "training", "-1"), "SIZE is no number"),
        (("request", "training", "1x"), "SIZE is no number"),
        (("request", 'a"b', "1"), "a word is empty"),
        (("status", "7\r\nX: y"), "a word is empty"),
        (("release", "../gpus"), "a word is empty"),
        (("release", ""), "a word is empty"),
    ],
)
def test_what_cannot_be_asked_is_not(command: list[str], server: str, words: tuple[str, ...], says: str) -> None:
    """One line, exit code 2, and nobody is asked."""
    code, found, line = run(command, server, NODE, *words)
    assert (code, found) == (2, {})
    assert says in line
    assert _Lending.asked == []


def test_nobody_there_is_one_line(command: list[str]) -> None:
    """Exit code 2."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        code, found, line = run(command, f"127.0.0.1:{free.getsockname()[1]}", NODE, "status", "7")
    assert (code, found, line.count("\n")) == (2, {}, 1)


@contextmanager
def liar(answer: bytes) -> Iterator[str]:
    """Says this to whoever asks first."""

    def serve() -> None:
        line, _ = listener.accept()
        with line, suppress(OSError):
            line.recv(1 << 16)
            line.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield "{}:{}".format(*listener.getsockname())
        thread.join()


def _whole(status: int, headers: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\n%b\r\n\r\n%b" % (status, headers, body)


BODIES = st.one_of(
    st.binary(max_size=300),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=80)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(["id", "gpu", "state", "error", "x", 'a"b']), inner, max_size=4),
        ),
        max_leaves=6,
    ).map(lambda value: json.dumps(value).encode()),
)
LENGTHS = st.one_of(st.none(), st.integers(-1, 20000))


def _answer(status: int, body: bytes, length: int | None, cut: int) -> bytes:
    header = b"content-length: %d" % (len(body) if length is None else length)
    return _whole(status, header, body)[: None if cut > 900 else cut]


ANSWERS = st.one_of(
    st.binary(max_size=400),
    st.builds(_answer, st.sampled_from([200, 201, 204, 404, 999]), BODIES, LENGTHS, st.integers(0, 3000)),
)


@settings(max_examples=15)
@given(answers=st.lists(ANSWERS, max_size=40))
def test_no_answer_harms_the_agent_in_c(lied_to: Path, answers: list[bytes]) -> None:
    """Each ends it with one of its results and texts that fit; the sanitizers say nothing."""
    told = b"".join(struct.pack("=I", len(answer)) + answer for answer in answers)
    done = subprocess.run([lied_to], input=told, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert len(rows) == len(answers)
    for result, *lengths in rows:
        assert result in (0, 1, 2, 3)
        assert max(lengths) < 128


@pytest.mark.parametrize(
    "make",
    [
        lambda: _whole(200, b"content-length: 99999999999999999999", b"{}"),
        lambda: _whole(200, b"content-length: 20000", b" " * 20000),
        lambda: _whole(200, b"content-length: 9", b"[" * 9),
        lambda: b"SSH-2.0-OpenSSH\r\n\r\n",
        lambda: b"",
    ],
)
def test_what_is_no_answer_is_one_line(command: list[str], make: Callable[[], bytes]) -> None:
    """Too large, cut, or of something else. An agent in C reads no JSON but its own four members."""
    with liar(make()) as where:
        code, found, line = run(command, where, NODE, "status", "7")
    if make()[-9:] == b"[" * 9 and "-I" not in command:
        assert (code, found["gpu"]) == (0, "")
    else:
        assert (code, found, line.count("\n")) == (2, {}, 1)


def test_the_core_needs_no_library(tmp_path: Path) -> None:
    """As in a kernel: nothing is left to be linked."""
    source, made = FOLDER / "ringhil_agent.c", tmp_path / "agent.o"
    done = compile_c(*STRICT, "-ffreestanding", "-fno-builtin", "-nostdlib", "-c", source, "-o", made)
    assert (done.returncode, done.stderr) == (0, "")
    undefined = subprocess.run(["nm", "-u", made], capture_output=True, text=True, check=True).stdout
    assert undefined.split() == []
