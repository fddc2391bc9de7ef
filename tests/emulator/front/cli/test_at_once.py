"""What a command prints as things happen is there at once, also in a pipe: who reads it need not wait for the end."""

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.command import started

SERVER = "server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}\n"


@contextmanager
def running(*words: str, here: Path) -> "Iterator[subprocess.Popen[str]]":
    pipe = subprocess.PIPE
    with started(*words, cwd=here, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def line_of(process: "subprocess.Popen[str]") -> bytes:
    """The first bytes that come, of one that goes on."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 120)[0], "nothing came"
    found = os.read(process.stdout.fileno(), 1 << 16)
    assert process.poll() is None
    return found


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_events_of_a_card(tmp_path: Path, as_json: tuple[str, ...]) -> None:
    (tmp_path / "s.yaml").write_text(SERVER)
    with running("serve", "s.yaml", "--listen", "tcp://127.0.0.1:0", "--json", here=tmp_path) as served:
        (url,) = json.loads(line_of(served))["ports"]["a"]
        with running("card", url, "watch", *as_json, here=tmp_path) as watching:
            assert line_of(watching).endswith(b"\n")


def test_answers_of_step(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"{SERVER}until: 2000\n")
    with running("step", "s.yaml", "--json", here=tmp_path) as stepping:
        assert stepping.stdin is not None
        for _ in range(3):
            stepping.stdin.write("step\n")
            stepping.stdin.flush()
            assert json.loads(line_of(stepping))["command"] == "step"
