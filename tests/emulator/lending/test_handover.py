"""Data that is handed over: to guests that have a GPU, unchanged, packed if they like, read by nobody else (V6)."""

import http.client
import os
import random
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.once import built_once
from tests.protocol.c.library import STRICT, compile_c

from ringhil.emulator.lending import agent
from ringhil.emulator.lending.certificate import AUTHORITY, CERTIFICATE, HERE, KEY, make_certificate
from ringhil.emulator.lending.client import LendClient, LendClientError
from ringhil.emulator.lending.loans import IdleTimes
from ringhil.emulator.lending.tokens import node_token
from ringhil.emulator.web_server import TlsFiles

from .served import TOKEN, Served, served
from .test_web import WISH
from .world import NODES

AGENTS = Path(agent.__file__).parent
NEVER = IdleTimes(period=1 << 40, grace=0)
GUEST = node_token(TOKEN, NODES[0])


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate."""
    folder = tmp_path_factory.mktemp("certificate")
    make_certificate(folder, HERE, 1)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is handed over."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory, certified: Path, data: Path) -> Iterator[Served]:
    """A server by HTTPS, which has lent a GPU to the first guest."""
    tls = TlsFiles(certified / CERTIFICATE, certified / KEY)
    with served(tmp_path_factory.mktemp("secure"), tls=tls, data=data, idle=NEVER) as server:
        client = LendClient(server.url, GUEST, certified / AUTHORITY)
        attached(client)
        yield server


SIZES = st.one_of(st.integers(0, 3), st.integers(1, 3).map(lambda n: n << 18), st.integers(0, 1 << 20))


def attached(client: LendClient) -> int:
    """A loan whose guest has its GPU."""
    loan: int = client.request(WISH)["id"]
    for _ in range(1000):
        if client.loan(loan)["state"] == "in_guest":
            return loan
        time.sleep(0.01)
    raise AssertionError(client.loan(loan))


@settings(max_examples=12)
@given(size=SIZES, seed=st.integers(0, 99), even=st.booleans(), packed=st.booleans())
def test_data_arrives_unchanged(
    secure: Served, certified: Path, data: Path, size: int, seed: int, even: bool, packed: bool
) -> None:
    content = bytes(size) if even else random.Random(seed).randbytes(size)
    (data / "weights.bin").write_bytes(content)
    got = BytesIO()
    client = LendClient(secure.url, GUEST, certified / AUTHORITY)
    assert client.fetch("weights.bin", got, packed=packed) == size
    assert got.getvalue() == content
    assert {"name": "weights.bin", "size": size} in client.data()


def agents(factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """As a guest calls them."""

    def build(folder: Path) -> None:
        done = compile_c(*STRICT, AGENTS / "ringhil_agent.c", AGENTS / "posix.c", "-o", folder / "agent")
        assert (done.returncode, done.stderr) == (0, "")

    python = [sys.executable, "-I", "-S", str(AGENTS / "ringhil_agent.py")]
    return {"C": [str(built_once(factory, "agent-plain", build) / "agent")], "Python": python}


@pytest.fixture(params=["C", "Python", "Python by HTTPS"])
def fetching(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, list[str]]:
    """An agent, and whether it speaks HTTPS."""
    return "HTTPS" in request.param, agents(tmp_path_factory)[request.param.split()[0]]


@pytest.mark.rest(but_one_in=3)
def test_agents_fetch_what_the_server_has(
    fetching: tuple[bool, list[str]], tmp_path: Path, data: Path, certified: Path
) -> None:
    """As long as their guest has a GPU; and no file is left that isn't whole."""
    secure, command = fetching
    content = random.Random(3).randbytes(700_001) + bytes(100_000)
    (data / "weights.bin").write_bytes(content)
    tls = TlsFiles(certified / CERTIFICATE, certified / KEY) if secure else None
    out = tmp_path / "got"
    env = {"RINGHIL_TOKEN": GUEST, "RINGHIL_CA": str(certified / AUTHORITY)}
    with served(tmp_path, tls=tls, data=data, idle=NEVER) as server:
        where = server.url.removeprefix("http://")

        def fetch(name: str) -> tuple[int, str]:
            words = [*command, where, NODES[0], "data", name, str(out)]
            done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

        code, said = fetch("weights.bin")
        assert (code, out.exists()) == (1, False)
        assert "403" in said
        client = LendClient(server.url, TOKEN, certified / AUTHORITY)
        loan = attached(client)
        assert fetch("weights.bin")[0] == 0
        assert out.read_bytes() == content
        out.unlink()
        assert fetch("nothing.bin")[0] == 1
        client.release(loan)
        assert fetch("weights.bin")[0] == 1
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith("got")) == []


def test_only_files_of_the_folder_are_handed_over(secure: Served, certified: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (data / "link").symlink_to(tmp_path / "secret")
    (data / "below").mkdir()
    (data / ".hidden").write_text("hidden")
    client = LendClient(secure.url, TOKEN, certified / AUTHORITY)
    assert not {"link", "below", ".hidden"} & {each["name"] for each in client.data()}
    outside = f"../{tmp_path.name}/secret"
    for name in ("link", "below", ".hidden", outside, "..", ".", "%2e%2e%2fsecret", "x\0", "nothing", "a" * 200):
        with pytest.raises(LendClientError) as error:
            client.fetch(name, BytesIO(), packed=False)
        assert error.value.status == 404, name


def test_who_has_no_gpu_gets_no_data_while_another_has_one(secure: Served, certified: Path, data: Path) -> None:
    (data / "weights.bin").write_bytes(b"weights")
    LendClient(secure.url, GUEST, certified / AUTHORITY).fetch("weights.bin", BytesIO(), packed=False)
    other = LendClient(secure.url, node_token(TOKEN, NODES[1]), certified / AUTHORITY)
    for ask in (other.data, lambda: other.fetch("weights.bin", BytesIO(), packed=False)):
        with pytest.raises(LendClientError, match="has no GPU") as error:
            ask()
        assert error.value.status == 403


@pytest.mark.parametrize("coding", ["gzip", "identity", "gzip;q=0"])
def test_a_file_that_changes_on_its_way_is_never_taken_for_whole(
    secure: Served, certified: Path, data: Path, coding: str
) -> None:
    """By any client of HTTP, which knows nothing of the digest."""
    size, path = 3_000_000, data / "large.bin"
    context = ssl.create_default_context(cafile=certified / AUTHORITY)
    for cut in (True, False):
        path.write_bytes(random.Random(5).randbytes(size))
        line = http.client.HTTPSConnection("127.0.0.1", secure.web.port, timeout=30, context=context)
        line.request("GET", "/v1/data/large.bin", None, {"Authorization": f"Bearer {GUEST}", "Accept-Encoding": coding})
        answer = line.getresponse()
        assert answer.getheader("Content-Encoding") == ("gzip" if coding == "gzip" else None)
        answer.read(1000)
        if cut:
            os.truncate(path, size - 700_000)
        else:
            with path.open("r+b") as changed:
                changed.write(b"another")
        assert _breaks_off(answer)
        line.close()


def _breaks_off(answer: http.client.HTTPResponse) -> bool:
    try:
        while answer.read(1 << 20):
            pass
    except (http.client.IncompleteRead, OSError):
        return True
    return bool(answer.length)


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("agent", ["C", "Python"])
def test_a_full_disk_leaves_no_file(
    tmp_path: Path, data: Path, tmp_path_factory: pytest.TempPathFactory, agent: str
) -> None:
    (data / "weights.bin").write_bytes(random.Random(6).randbytes(300_000))
    out = tmp_path / "got"

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    with served(tmp_path, data=data, idle=NEVER) as server:
        attached(LendClient(server.url, GUEST))
        words = [*agents(tmp_path_factory)[agent], server.url.removeprefix("http://"), NODES[0], "data", "weights.bin"]
        done = subprocess.run(
            [*words, str(out)],
            env={"RINGHIL_TOKEN": GUEST},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=little_room,
        )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("got")] == []


def test_a_certificate_is_for_its_names_and_days(secure: Served, tmp_path: Path) -> None:
    make_certificate(tmp_path / "other", ("elsewhere.example",), 1)
    tls = TlsFiles(tmp_path / "other" / CERTIFICATE, tmp_path / "other" / KEY)
    with served(tmp_path, tls=tls) as server:
        with pytest.raises(LendClientError, match="certificate"):
            LendClient(server.url, TOKEN, tmp_path / "other" / AUTHORITY).gpus()
        command = [sys.executable, "-I", "-S", str(AGENTS / "ringhil_agent.py"), server.url, NODES[0], "status", "1"]
        env = {"RINGHIL_TOKEN": GUEST, "RINGHIL_CA": str(tmp_path / "other" / AUTHORITY)}
        assert "certificate" in subprocess.run(command, env=env, capture_output=True, text=True, check=False).stderr
    now = datetime(2026, 1, 1, tzinfo=UTC)
    make_certificate(tmp_path / "short", HERE, 3, now)
    made = x509.load_pem_x509_certificate((tmp_path / "short" / CERTIFICATE).read_bytes())
    assert made.not_valid_after_utc == now + timedelta(days=3)
    assert made.not_valid_before_utc <= now


@contextmanager
def between(port: int, change: bytes = b"", to: bytes = b"") -> Iterator[tuple[int, bytearray]]:
    """A relay to that port: its own, and all that has passed. `change`: bytes of answers that it puts others for."""
    passed = bytearray()

    def carry(source: socket.socket, target: socket.socket, change: bytes) -> None:
        with suppress(OSError):
            while piece := source.recv(1 << 16):
                passed.extend(piece)
                target.sendall(piece.replace(change, to) if change else piece)
            target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        with suppress(OSError):
            line, _ = listener.accept()
            with line, socket.create_connection(("127.0.0.1", port)) as other:
                back = threading.Thread(target=carry, args=(other, line, change))
                back.start()
                carry(line, other, b"")
                back.join()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], passed
        thread.join()


def test_nobody_between_reads_tokens_and_data(secure: Served, certified: Path, data: Path) -> None:
    (data / "weights.bin").write_bytes(b"between the lines " * 100)
    with between(secure.web.port) as (port, passed):
        client = LendClient(f"https://127.0.0.1:{port}", GUEST, certified / AUTHORITY)
        assert client.fetch("weights.bin", BytesIO(), packed=False) == 1800
    assert len(passed) > 1800
    for secret in (b"between the lines", GUEST.encode(), b"Bearer", b"weights.bin"):
        assert secret not in passed


def test_packed_data_is_small_on_its_way_and_what_is_changed_there_is_noticed(tmp_path: Path, data: Path) -> None:
    (data / "even.bin").write_bytes(b"even" * 250_000)
    (data / "marked.bin").write_bytes(b"MARK" + bytes(1000))
    with served(tmp_path, data=data) as server:
        for packed, most, least in ((True, 30_000, 0), (False, 2_000_000, 1_000_000)):
            with between(server.web.port) as (port, passed):
                LendClient(f"http://127.0.0.1:{port}", TOKEN).fetch("even.bin", BytesIO(), packed=packed)
            assert least < len(passed) < most
        with between(server.web.port, b"MARK", b"mark") as (port, _):
            client = LendClient(f"http://127.0.0.1:{port}", TOKEN)
            with pytest.raises(LendClientError, match="isn't what the server has"):
                client.fetch("marked.bin", BytesIO(), packed=False)
        with (
            between(server.web.port, b"unencoded-digest", b"x-another-digest") as (port, _),
            pytest.raises(LendClientError),
        ):
            LendClient(f"http://127.0.0.1:{port}", TOKEN).fetch("even.bin", BytesIO(), packed=False)


def test_a_server_that_is_not_known_is_told_nothing(secure: Served, tmp_path: Path) -> None:
    make_certificate(tmp_path, HERE, 1)
    with between(secure.web.port) as (port, passed), pytest.raises(LendClientError, match="certificate"):
        LendClient(f"https://127.0.0.1:{port}", GUEST, tmp_path / AUTHORITY).gpus()
    assert GUEST.encode() not in passed


def test_plain_http_gets_no_answer_from_https(secure: Served) -> None:
    with pytest.raises(LendClientError):
        LendClient(f"http://127.0.0.1:{secure.web.port}", GUEST).gpus()
