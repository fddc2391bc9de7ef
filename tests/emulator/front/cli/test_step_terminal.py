"""`ringhil step` on a real terminal (tmux): a screen opens, answers keys, and leaves the terminal as it was."""

import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command import RINGHIL, refusal

from ringhil.emulator.debug.recorder import record_run
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.scenario import loads
from ringhil.emulator.trace.recording import Recording

SERVER = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
timeline:
- {at: 9000, fault: dead, gpu: a.3}
until: 20000
"""
_LIMIT = 60.0  # seconds

tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class RealTerminal:
    """80 by 24, with a shell in it."""

    def __init__(self, folder: Path) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self._run("new-session", "-d", "-x", "80", "-y", "24", "env", "PS1=$ ", "sh")

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True, timeout=_LIMIT).stdout

    def type(self, text: str) -> None:
        """A line."""
        self._run("send-keys", "-l", text)
        self._run("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        """By tmux's names."""
        self._run("send-keys", *keys)

    def see(self, wanted: Callable[[str], bool]) -> str:
        """What is on it, as soon as that is so."""
        end = time.monotonic() + _LIMIT
        while not wanted(shown := self._run("capture-pane", "-p")):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    @property
    def alternate(self) -> bool:
        """Whether a program has the whole screen."""
        return self._run("display-message", "-p", "#{alternate_on}").strip() == "1"

    def close(self) -> None:
        """The shell ends, and tmux with it."""
        self._run("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[RealTerminal]:
    found = RealTerminal(tmp_path)
    yield found
    found.close()


def _command(*words: object) -> str:
    return shlex.join([*RINGHIL, "step", *map(str, words)])


@pytest.mark.rest
@tmux
def test_a_screen_opens_and_leaves_the_terminal_as_it_was(terminal: RealTerminal, tmp_path: Path) -> None:
    record_run(tmp_path / "r", loads(SERVER), cells_library())
    with Recording(tmp_path / "r") as recording:
        struck = recording.last_event("Struck")
        last = recording.last_number
    assert struck is not None
    terminal.type(f"cd {tmp_path}; stty -a > before; {_command('r')}; c=$?; stty -a > after; echo code $c")
    terminal.see(lambda shown: f"1 of {last}" in shown and "registers" in shown)
    assert terminal.alternate
    terminal.press("Down", "Down")
    terminal.see(lambda shown: f"3 of {last}" in shown)
    terminal.type("/kind == Struck")  # all at once, as it comes over a slow line
    terminal.see(lambda shown: f"{struck.number} of {last}" in shown and "3✗" in shown)
    terminal.press("q")
    terminal.see(lambda shown: "code 0" in shown and "messages and events" not in shown)
    assert not terminal.alternate
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


@pytest.mark.rest
@tmux
def test_a_servers_file_opens_at_once_and_nothing_is_left(terminal: RealTerminal, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVER.replace("until: 20000", "until: 2000000000"))
    (tmp_path / "t").mkdir()
    terminal.type(f"cd {tmp_path}; TMPDIR={tmp_path}/t NO_COLOR=1 {_command('s.yaml')}; echo code $?")
    terminal.see(lambda shown: "being recorded" in shown and "registers" in shown)
    terminal.press("q")
    terminal.see(lambda shown: "code 0" in shown)
    assert list((tmp_path / "t").iterdir()) == []


@tmux
def test_where_standard_error_is_a_file_it_does_commands(terminal: RealTerminal, tmp_path: Path) -> None:
    """The screen is drawn there: nobody would see it."""
    record_run(tmp_path / "r", loads(SERVER), cells_library())
    terminal.type(f"cd {tmp_path}; {_command('r')} 2> said; echo code $?")
    terminal.type("next Struck")
    terminal.see(lambda shown: "cycle 9000 a.3 Struck" in shown)
    terminal.type("quit")
    terminal.see(lambda shown: "code 0" in shown)


@pytest.mark.rest
@tmux
def test_what_cannot_be_shown_is_one_line(terminal: RealTerminal, tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("server: {}\n")
    said = refusal("step", tmp_path / "none.yaml")
    terminal.type(f"cd {tmp_path}; clear; {_command(tmp_path / 'none.yaml')}; echo code $?")
    shown = terminal.see(lambda shown: "code 2" in shown)
    assert said[:60] in shown.replace("\n", "")
