"""Firmware's source is changed, and the recorded run goes on with it from the moment where it is."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.command import ringhil
from tests.emulator.debug.test_questions import CARD

from ringhil.emulator.debug.commands import Commands
from ringhil.emulator.debug.editing import Sources
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.recorder import RunRecorder
from ringhil.emulator.debug.replaying import RunReplay
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.loop.loading import firmware_of
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import RecordedMessage, Recording

MINE = """
from ringhil.firmware.boot import Boot, our_program
from ringhil.firmware.commands import Send
from ringhil.protocol import codec
from ringhil.protocol.frames import Keepalive
from dataclasses import replace

STRETCH = 0


class Program:
    def __init__(self, boot: Boot) -> None:
        self._ours = our_program(boot)

    def start(self, now):
        return self._ours.start(now)

    def on_frame(self, frame, port, bad, now):
        return self._ours.on_frame(frame, port, bad, now)

    def on_status(self, status):
        return self._ours.on_status(status)

    def on_timer(self, name, now):
        return [self.stretched(action) for action in self._ours.on_timer(name, now)]

    def stretched(self, action):
        if isinstance(action, Send) and action.frame[0] == Keepalive.KIND:
            message = codec.decode(action.frame, link=False)
            message = replace(message, multiplier=message.multiplier + STRETCH)
            return replace(action, frame=codec.encode(message))
        return action
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's firmware, of a name of its own for each test."""
    path = tmp_path / f"mine_{abs(hash(tmp_path)) % 10**9}.py"
    path.write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop(path.stem, None)


def session(mine: Path) -> DebugSession:
    choice = firmware_of([f"a.1={mine.stem}:Program"])
    path, run = mine.with_suffix(".rec"), Run(loads(CARD % ""), cells_library(), firmware=choice)
    with RunRecorder(path, run, firmware=choice.given) as recorder:
        recorder.end(run.run())
    run.close()
    return DebugSession(path, cells_library(), firmware=choice)


def told(path: Path, cell: int) -> list[tuple[int, int]]:
    """Cycle and multiplier of the keepalives of a GPU."""
    with Recording(path) as recording:
        sent = [m for m in recording.messages() if m.way == 1 and m.cell == cell and m.kind == 0x12]
        return [(message.cycle, message.frame[26]) for message in sent]


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("change", [("STRETCH = 0", "STRETCH = 2"), (".multiplier + STRETCH", ".multiplier + 2")])
def test_new_code_goes_on_from_here_and_the_first_message_that_differs_is_shown(
    mine: Path, change: tuple[str, str]
) -> None:
    with session(mine) as opened:
        commands = Commands(opened)
        commands.do("go 20000")
        assert opened.firmware("a.1") is not None
        here = opened.cycle
        mine.write_text(MINE.replace(*change))
        found = commands.do(f"edit {mine.with_suffix('.new')}")
        assert found["modules"] == [mine.stem]
        assert found["misfits"] == []
        assert found["message"]["gpu"] == "a.1", found
        assert found["message"]["cycle"] > here
        assert {"where": "multiplier", "there": 5, "here": 3} in found["differs"]
        # Once more, from the same state: what runs has not been spoiled by the first attempt.
        mine.write_text(MINE)
        commands.do("go 20000")
        assert commands.do(f"edit {mine.with_suffix('.same')}")["moved"] is False
    for cycle, multiplier in told(mine.with_suffix(".new"), 1):
        assert multiplier == (3 if cycle <= here else 5)


def test_what_was_edited_can_be_read_and_not_run_again(mine: Path) -> None:
    with session(mine) as opened:
        opened.go(20_000)
        opened.edit(mine.with_suffix(".new"))
    with Recording(mine.with_suffix(".new")) as recording, pytest.raises(RecordingError, match="exchanged in cycle"):
        RunReplay(recording, cells_library())
    choice = firmware_of([f"a.1={mine.stem}:Program"])
    with DebugSession(mine.with_suffix(".new"), cells_library(), firmware=choice) as edited:
        assert edited.step(30)
        assert isinstance(edited.here, RecordedMessage)
        with pytest.raises(DebugError, match="its firmware was exchanged in cycle"):
            edited.registers("a.0")


def test_source_that_is_not_sound_changes_nothing(mine: Path) -> None:
    with session(mine) as opened:
        opened.go(20_000)
        for text, says in (("x = (", ":1: '(' was never closed"), ("1 / 0", "ZeroDivisionError: division by zero")):
            mine.write_text(text)
            with pytest.raises(DebugError) as refused:
                opened.edit(mine.with_suffix(".new"))
            assert says in str(refused.value)
        mine.write_text(MINE)
        assert opened.edit(mine.with_suffix(".new"))[0] == "pass"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    path = tmp_path / "edited_one.py"
    path.write_text(
        "from dataclasses import dataclass\nfrom enum import Enum\n\n"
        "class Kind(Enum):\n    A = 1\n\n"
        "@dataclass\nclass Old:\n    x: int = 1\n\n"
        "    def double(self):\n        return 2 * self.x\n\n"
        "    @property\n    def half(self):\n        return self.x / 2\n\n"
        "    @staticmethod\n    def three():\n        return 3\n\n"
        "class Child(Old):\n    def double(self):\n        return super().double() + 1\n\n"
        "def one():\n    return 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import edited_one  # type: ignore[import-not-found]

    yield edited_one
    del sys.modules["edited_one"]


def change(module: ModuleType, *pairs: tuple[str, str]) -> tuple[list[str], list[str]]:
    sources, path = Sources((module.__name__,)), Path(str(module.__file__))
    text = path.read_text()
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    return sources.reload()


def test_what_runs_has_the_new_code_and_keeps_its_memory(module: ModuleType) -> None:
    old, child, one = module.Old(7), module.Child(5), module.one
    assert change(
        module,
        ("2 * self.x", "helped(4) * self.x"),
        ("self.x / 2", "self.x / 4"),
        ("return 3", "return 33"),
        ("+ 1", "+ 100"),
        ("return 1\n", "return 11\n\ndef helped(value):\n    return value\n"),
        ("x: int = 1", "x: int = 1\n    y: int = 8"),
    ) == (["edited_one"], [])
    assert (old.double(), child.double(), old.half, old.three(), one()) == (28, 120, 1.75, 33, 11)
    assert (old.x, old.y, module.Old(1, 2).y) == (7, 8, 2)
    assert isinstance(old, module.Old)


def test_what_does_not_fit_is_told(module: ModuleType) -> None:
    _, misfits = change(
        module, ("A = 1", "A = 2"), ("x: int = 1", "y: str\n    x: int = 1"), ("class Child(Old)", "class Child")
    )
    assert sorted(misfits) == [
        "edited_one.Child: has other bases",
        "edited_one.Kind: has other members",
        "edited_one.Old.y: is new and has no default; what runs has no value for it",
    ]


@pytest.mark.rest
def test_on_the_command_line(mine: Path, tmp_path: Path) -> None:
    session(mine).close()
    (tmp_path / "script").write_text(f"go 20000\nedit {tmp_path / 'new'}\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    done = ringhil(
        "step", mine.with_suffix(".rec"), "--firmware", f"a.1={mine.stem}:Program", "--script", tmp_path / "script",
        "--json", env=environment,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["moved"], found["modules"], found["verdict"]) == (False, [], "pass")
