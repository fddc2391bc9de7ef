"""What `elsewhere` says leads each tool to the same message or event."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.command import refusal, ringhil
from tests.emulator.debug.test_replaying import record

from ringhil.emulator.loop.loading import firmware_of

NUMBER = 150
SERVER = """
server:
  cards: {a: {gpus: 3, host_links: [0, 1]}}
until: 9000
"""


def done(command: str) -> None:
    """As a shell does it."""
    words = shlex.split(command)
    assert words.pop(0) == "ringhil"
    assert ringhil(*words).returncode == 0


def stepped(*words: object, lines: str) -> list[dict[str, Any]]:
    """What the commands say."""
    done = ringhil(*words, "--json", "--script", "-", said=lines)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.rest(but_one_in=2, start=1)
@pytest.mark.parametrize("own", [(), ("--firmware", "*=ringhil.firmware.boot:our_program")], ids=["ours", "own"])
def test_each_tool_is_led_to_the_same_moment(own: tuple[str, ...], tmp_path: Path) -> None:
    """Also where the file's name is awkward, and with firmware of one's own."""
    path = record(tmp_path / "it's a run.rec", SERVER, firmware_of(own[1:]))
    here, state = stepped("step", path, "--at", NUMBER, *own, lines="elsewhere\nstate a.1\n")
    tools, cycle = here["elsewhere"], here["cycle"]
    assert here["message"]["number"] == NUMBER
    assert state["firmware"]

    program, *words = shlex.split(tools["terminal"])
    assert program == "ringhil"
    shown, same = stepped(*words, lines="show\nstate a.1\n")
    assert (shown["message"], same["firmware"]) == (here["message"], state["firmware"])
    assert shlex.split(tools["browser"]) == ["ringhil", "view", str(path), "--at", str(NUMBER), *own]
    editor = urlsplit(tools["editor"])
    assert (editor.scheme, editor.netloc, editor.path) == ("vscode", "ringhil.ringhil", "/step")
    assert parse_qs(editor.query) == {"program": [str(path)], "at": [str(NUMBER)]}

    export, viewer = tools["GTKWave"].split(" && ")
    done(export)
    program, _, save, waves = shlex.split(viewer)
    assert (program, Path(waves).exists()) == ("gtkwave", True)
    zoom = next(line for line in Path(save).read_text().splitlines() if line.startswith("*"))
    assert int(zoom.split()[1]) == cycle

    dissector, export, viewer = tools["Wireshark"].split(" && ")
    done(dissector)
    done(export)
    program, _, script, _, packet, capture = shlex.split(viewer)
    assert (program, packet) == ("wireshark", str(NUMBER))
    asks = ["tshark", "-X", script, "-r", capture, "-Y", f"frame.number == {NUMBER}", "-T", "fields", "-e"]
    time = subprocess.run([*asks, "frame.time_epoch"], capture_output=True, text=True, check=True).stdout
    assert round(float(time) * 1e9) == cycle


def test_a_number_that_there_is_not_is_one_line(tmp_path: Path) -> None:
    path = record(tmp_path / "r", SERVER)
    assert "there are 1 to" in refusal("step", path, "--at", 10**6, "--script", "-")
    assert "1" in refusal("step", path, "--at", 0)
