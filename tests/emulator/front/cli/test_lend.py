"""`ringhil lend serve` with its people's commands: a GPU is lent, survives a crash, is given back; all ends cleanly."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.command import refusal, ringhil, started

ROOT = Path(__file__).resolve().parents[4]
FILE = """
name: lender
server:
  cards: {a: {gpus: 4, host_links: [0, 1], types: {default: T4}}}
  power: {T4: {run_power: 700, idle_power: 100}}
"""


@contextmanager
def lender(folder: Path, *options: str, text: str = FILE) -> Iterator[tuple["subprocess.Popen[str]", dict[str, str]]]:
    """The server, and what its people have in their environment."""
    (folder / "server.yaml").write_text(text)
    words = ("lend", "serve", "server.yaml", "--attachment", "sim", "--work", "0.1", "--json", *options)
    with started(*words, cwd=folder, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            assert ready["ready"] is True
            yield process, os.environ | {"RINGHIL_LEND_URL": ready["url"], "RINGHIL_LEND_TOKEN": ready["token"]}
        finally:
            process.kill()


def said(env: dict[str, str], *words: object) -> Any:
    done = ringhil("lend", *words, "--json", env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_for(env: dict[str, str], state: str) -> dict[str, Any]:
    for _ in range(100):
        (loan,) = said(env, "list")["loans"]
        if loan["state"] == state:
            found: dict[str, Any] = loan
            return found
        time.sleep(0.05)
    raise AssertionError(f"the loan is {loan['state']}, not {state}")


def test_a_loan_outlives_its_server_and_comes_back(tmp_path: Path) -> None:
    """The server is killed; the next one on the same database knows the guest's GPU, and takes it back."""
    token = ("--token-file", "token")
    with lender(tmp_path, *token) as (process, env):
        loan = said(env, "request", "i-0000002d", "--kind", "training", "--size", "1GiB")
        assert (loan["id"], loan["node"], loan["state"], loan["size"]) == (1, "i-0000002d", "bound", 1 << 30)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    with lender(tmp_path, *token) as (process, env):
        assert env["RINGHIL_LEND_TOKEN"] == (tmp_path / "token").read_text().strip()
        again = wait_for(env, "in_guest")
        assert (again["gpu"], again["node"]) == (loan["gpu"], "i-0000002d")
        assert "i-0000002d" in ringhil("lend", "list", "--gpus", env=env).stdout
        assert "on its way back" in ringhil("lend", "release", 1, env=env).stdout
        assert wait_for(env, "free")["reason"] == "released"
        host, port = env["RINGHIL_LEND_URL"].removeprefix("http://").split(":")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, int(port)), timeout=5)


def test_nothing_free_is_exit_code_1_with_the_time_to_wait(tmp_path: Path) -> None:
    with lender(tmp_path, "--map", "video=a.2") as (_, env):
        said(env, "request", "i-00000001", "--mapping", "video")
        done = ringhil("lend", "request", "i-00000002", "--mapping", "video", env=env)
        assert (done.returncode, done.stdout) == (1, "")
        assert "one may be free in" in done.stderr
        assert "there are: video" in refusal("lend", "request", "i-00000003", "--mapping", "audio", env=env)
        token = ringhil("lend", "token", "i-00000009", env=env).stdout.strip()
        assert "found that of a guest" in refusal("lend", "token", "i-0000000a", "--token", token, env=env)
        assert "another guest's" in refusal("lend", "release", 1, env=env | {"RINGHIL_LEND_TOKEN": token})


def test_the_first_loan_goes_as_its_page_says(tmp_path: Path) -> None:
    with lender(tmp_path, text=_block("## The first loan", "yaml")) as (_, env):
        _play(_block("## The first loan", "console"), env, tmp_path)


def test_data_goes_by_https_as_its_page_says(tmp_path: Path) -> None:
    content = random.Random(1).randbytes(3000)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights.bin").write_bytes(content)
    assert ringhil("lend", "certificate", "keys", cwd=tmp_path).returncode == 0
    assert (tmp_path / "keys" / "server-key.pem").stat().st_mode & 0o777 == 0o600
    assert "name another folder" in refusal("lend", "certificate", "keys", cwd=tmp_path)
    with lender(tmp_path, "--tls", "keys", "--data", "data") as (_, env):
        assert env["RINGHIL_LEND_URL"].startswith("https://")
        assert "certificate" in refusal("lend", "list", env=env)
        _play(_block("### Data for guests", "console"), env | {"RINGHIL_LEND_CA": "keys/ca-cert.pem"}, tmp_path)
    assert (tmp_path / "weights.bin").read_bytes() == content


def _block(title: str, kind: str) -> str:
    """The first of its kind in a part of the page."""
    page = (ROOT / "docs/howto/lending.md").read_text().partition(f"{title}\n")[2]
    found = re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


def _play(console: str, env: dict[str, str], folder: Path) -> None:
    """Each command says what the page says."""
    for part in console.split("$ ringhil ")[1:]:
        words, *wanted = part.splitlines()
        for _ in range(50):  # time passes between two commands of a reader
            found = [line.rstrip() for line in ringhil(*words.split(), env=env, cwd=folder).stdout.splitlines()]
            if found == wanted:
                break
            time.sleep(0.1)
        assert found == wanted, words


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--listen", "here"), "HOST:PORT"),
        (("--listen", "127.0.0.1:99999"), "HOST:PORT"),
        (("--database", "oracle://x"), "sqlite:///FILE"),
        (("--map", "video=b.1"), "there are a.0"),
        (("--map", "video"), "NAME=GPU"),
        (("--group", "a.0,a.9"), "there is no such GPU"),
        (("--group", "a.0,a.1", "--group", "a.1,a.2"), "is in two groups"),
        (("--token-file", "short"), "letters, digits"),
        (("--period", "0"), "more than 0"),
        (("--tls", "nowhere"), "ringhil lend certificate"),
        (("--data", "nowhere"), "nowhere: No such"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path: Path, words: tuple[str, ...], wanted: str) -> None:
    (tmp_path / "server.yaml").write_text(FILE)
    (tmp_path / "short").write_text("secret\n")
    line = refusal("lend", "serve", "server.yaml", "--attachment", "sim", *words, cwd=tmp_path)
    assert wanted in line
    assert "secret" not in line


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("request", "i-1"), "RINGHIL_LEND_URL"),
        (("request", "i-1", "--url", "http://127.0.0.1:9"), "RINGHIL_LEND_TOKEN"),
        (("list", "--url", "ftp://x", "--token", "t"), "http://HOST:PORT"),
        (("list", "--url", "http://127.0.0.1:9", "--token", "t"), "Connection refused"),
        (("request", "i-1", "--size", "10 apples"), "16GiB"),
        (("token", "x", "--token", "t"), "i-0000002d"),
        (("list", "--url", "https://127.0.0.1:9", "--token", "t", "--ca", "/dev/null"), "no certificate"),
        (("data", "../x", "--url", "http://127.0.0.1:9", "--token", "t"), "allowed are letters"),
        (("data", "--packed"), "wanted is which file"),
        (("certificate", "keys", "--name", "a b"), "host name or an IP address"),
    ],
)
def test_people_who_ask_wrongly_are_told_in_one_line(words: tuple[str, ...], wanted: str) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RINGHIL_LEND")}
    assert wanted in refusal("lend", *words, env=env)
