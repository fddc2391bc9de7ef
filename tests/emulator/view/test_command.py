"""`ringhil view`: where the page is, one line for what is wrong, and nothing left behind."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest
from tests.command import ringhil

from ringhil.emulator.front.cli import lend_usage, place, view
from ringhil.emulator.view.files import PageError, built

from .conftest import SERVER

CLUSTER = Path(__file__).resolve().parents[3] / "examples/cluster.yaml"


@contextmanager
def viewing(*arguments: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", "ringhil.emulator", "view", *arguments, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["ready"] is True
        yield ready["url"], process
    finally:
        process.kill()
        process.communicate()


def fetched(url: str, path: str, **headers: str) -> tuple[int, bytes]:
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    found = answer.status, answer.read()
    line.close()
    return found


def test_without_the_page_it_says_how_to_build_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringhil.emulator.view.files.files", lambda _: tmp_path)
    with pytest.raises(PageError, match=r"^the page was not built: .*; `make page` builds it$"):
        built()


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (place.command, (str(CLUSTER),)),
        (view.command, (str(CLUSTER),)),
        (lend_usage.usage, ()),
        (view.command, ("sqlite:///lending.db",)),
    ],
)
def test_without_the_page_nothing_is_played(
    command: click.Command, shown: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no database is opened."""
    (tmp_path / "built").mkdir()
    monkeypatch.setattr("ringhil.emulator.view.files.files", lambda _: tmp_path)
    monkeypatch.setattr("ringhil.emulator.front.cli.place_fleet.RunPlayers.play", None)
    with pytest.raises(click.ClickException, match=r"^the page was not built: .*; `make page` builds it$"):
        command.main([*shown, "--html", str(tmp_path / "p.html")], standalone_mode=False)
    assert [*tmp_path.iterdir()] == [tmp_path / "built"]


@pytest.mark.rest
def test_a_page_that_stands_alone_is_one_file(recorded: Path, tmp_path: Path) -> None:
    done = ringhil("view", recorded, "--html", tmp_path / "p.html", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"schema": "view/1", "html": str(tmp_path / "p.html")})
    text = (tmp_path / "p.html").read_text()
    assert '<script type="application/json" id="ringhil">{' in text
    assert "Content-Security-Policy" in text
    again = ringhil("view", recorded, "--html", recorded)
    assert again.returncode == 2
    assert "would take the place of what is read" in again.stderr


def test_a_server_file_is_run_and_shown_until_it_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SERVER)
    with viewing(str(file)) as (url, process):
        assert fetched(url, "/")[0] == 200
        assert fetched(url, "/api/follow")[1].endswith(b"\n\n")
        about = json.loads(fetched(url, "/api/about")[1])
        assert (about["title"], about["verdict"]) == ("two cards", "pass")
        group = os.getpgid(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.communicate() == ("", "")
    assert group == os.getpgid(0)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("what", ["cut off", "server"])
def test_nothing_stays_whatever_ends_it(
    how: signal.Signals, what: str, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / what, tmp_path / "tmp"
    if what == "server":
        file.write_text(SERVER.replace("until: 40000", "until: 4000000"))
    else:
        file.write_bytes(recorded.read_bytes()[: recorded.stat().st_size * 2 // 3])
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with viewing(str(file)) as (url, process):
        assert json.loads(fetched(url, "/api/about")[1])["cut_off"] is (what == "cut off")
        assert [*folder.glob("ringhil-*")]
        process.send_signal(how)
        process.wait(20)
    ends = time.monotonic() + 6
    while [*folder.iterdir()] and time.monotonic() < ends:
        time.sleep(0.05)
    assert [*folder.iterdir()] == []


def test_from_other_machines_it_wants_the_token(recorded: Path) -> None:
    with viewing(str(recorded), "--listen", "0.0.0.0:0") as (url, _):
        there = f"http://127.0.0.1:{urlsplit(url).port}"
        assert fetched(there, "/api/about")[0] == 401
        assert fetched(there, f"/?{urlsplit(url).query}")[0] == 303


@pytest.mark.rest
def test_what_is_wrong_is_one_line(recorded: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(recorded.read_bytes()[:4000])
    other = tmp_path / "other"
    content = bytearray(recorded.read_bytes())
    content[60:64] = (99).to_bytes(4)  # `user_version` of SQLite's header
    other.write_bytes(content)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = {
            (str(recorded), "--listen", f"127.0.0.1:{port}"): "Address already in use",
            (str(recorded), "--listen", "nowhere"): "--listen: found 'nowhere'; allowed is HOST:PORT",
            (str(tmp_path / "none"),): "No such file",
            ("tcp://127.0.0.1:4711",): "tcp://127.0.0.1:4711: cannot be opened",
            (f"socket://127.0.0.1:{port}", "--html", str(tmp_path / "p")): "are for a run; found the URL of a card",
            (f"socket://127.0.0.1:{port}", "--events", "role"): "--events: found 'role'; allowed are frames, roles",
            (str(recorded), "--baud", "115200"): "--baud and --events are for a card",
            (str(CLUSTER), "--events", "roles"): "--baud and --events are for a card",
            ("replay://session.jsonl",): "answers what was asked in it, and nothing else",
            (str(cut),): "",
            (str(other),): "is version 99 of the format",
        }
        for arguments, text in cases.items():
            done = ringhil("view", *arguments, "--json")
            assert (done.returncode, done.stdout) == (2, ""), arguments
            assert len(done.stderr.splitlines()) == 1
            assert text in done.stderr


def test_without_a_browser_the_address_is_there(recorded: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = ringhil("view", str(recorded), env=env | {"BROWSER": "/nonexistent"})
    assert done.returncode == 2
    assert done.stdout.startswith("http://127.0.0.1:")
    assert "--no-open" in done.stderr
