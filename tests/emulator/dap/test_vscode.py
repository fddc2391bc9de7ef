"""Another client: VS Code itself, in a browser (code-server). `PICTURE=1` renews docs/img/editors.png."""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from tests.command import RINGHIL

from ringhil.emulator.trace.recording import RecordedMessage, Recording

ROOT = Path(__file__).resolve().parents[3]
CODE, CHROMIUM, NPM = (shutil.which(name) for name in ("code-server", "chromium", "npm"))
_LIMIT = 60_000  # ms
_SILENT = ("--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust")
_SETTINGS = {
    "chat.disableAIFeatures": True,
    "debug.internalConsoleOptions": "neverOpen",
    "debug.openDebug": "openOnSessionStart",
    "debug.showInStatusBar": "always",
    "editor.minimap.enabled": False,
    "window.menuBarVisibility": "hidden",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}
_LINE = "self.lease_until = now + self.config.lease"

pytestmark = [
    pytest.mark.slow(part="editors"),
    pytest.mark.skipif(not (CODE and CHROMIUM and NPM), reason="needs code-server, npm and chromium"),
]


class Editor:
    """VS Code, and what it shows."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.stack, self.variables = page.locator(".debug-call-stack"), page.locator(".debug-variables")

    def runs(self, command: str) -> None:
        """Say what `ringhil` is, in the settings of the machine: those of the user don't hold in a remote window."""
        settings = self.folder / "user" / "Machine" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps({"ringhil.command": command}))

    def start(self) -> None:
        expect(self.page.locator(".statusbar-item", has_text="Step a run")).to_be_visible()
        self.page.keyboard.press("F5")

    def control(self, name: str) -> None:
        """Click a button of the debugger's toolbar."""
        self.page.click(f".debug-toolbar .codicon-debug-{name}")

    def stops_at(self, text: str) -> None:
        expect(self.stack.locator(".stack-frame").first).to_contain_text(text)

    def command(self, name: str) -> None:
        self.page.keyboard.press("F1")
        box = self.page.locator(".quick-input-widget input[type=text]")
        box.fill(f">{name}")
        self.page.locator(".quick-input-list .monaco-list-row").first.click()

    def breaks_on_line(self, file: str, number: int) -> None:
        self.page.keyboard.press("Control+P")
        self.page.locator(".quick-input-widget input[type=text]").fill(f"{file}:{number}")
        expect(self.page.locator(".quick-input-list .monaco-list-row").first).to_contain_text(file)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".monaco-editor .line-numbers.active-line-number")).to_have_text(str(number))
        self.page.keyboard.press("F9")
        expect(self.page.locator(".monaco-editor .codicon-debug-breakpoint")).to_be_visible()

    def breaks_on_messages(self, condition: str) -> None:
        self.command("Debug: Add Function Breakpoint")
        self.page.locator(".debug-breakpoints .inputBoxContainer input").fill(condition)
        self.page.keyboard.press("Enter")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files of the tutorial, in a folder."""
    text = (ROOT / "docs" / "tutorials" / "firmware.md").read_text()
    found = tmp_path / "server"
    (found / ".vscode").mkdir(parents=True)
    for name, language in (("server.yaml", "yaml"), ("mine.py", "python")):
        block = re.search(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        assert block is not None
        (found / name).write_text(block[1])
    return found


@pytest.fixture
def editor(tmp_path: Path, project: Path) -> Iterator[Editor]:
    """VS Code in the project's folder, with the extension."""
    assert CODE is not None
    (tmp_path / "user" / "User").mkdir(parents=True)
    (tmp_path / "user" / "User" / "settings.json").write_text(json.dumps(_SETTINGS))
    (tmp_path / "ringhil").write_text(f'#!/bin/sh\nexec {" ".join(RINGHIL)} "$@"\n')
    (tmp_path / "ringhil").chmod(0o755)
    where = ("--user-data-dir", str(tmp_path / "user"), "--extensions-dir", str(tmp_path / "extensions"))
    packed = ROOT / "editors" / "vscode" / "ringhil.vsix"
    for preparation in (["make", "vscode"], [CODE, *where, "--install-extension", str(packed)]):
        subprocess.run(preparation, cwd=ROOT, check=True, capture_output=True, timeout=600)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with ExitStack() as stack, (tmp_path / "code.log").open("w") as log:
        command = [CODE, *_SILENT, *where, "--bind-addr", address, str(project)]
        server = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        stack.callback(server.terminate)
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=CHROMIUM)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(_LIMIT)
        expect.set_options(timeout=_LIMIT)
        while "HTTP server listening" not in (tmp_path / "code.log").read_text():
            assert server.poll() is None
            page.wait_for_timeout(200)
        page.goto(f"http://{address}/?folder={project}")
        expect(page.get_by_text("mine.py")).to_be_visible()
        yield Editor(page, tmp_path)
        page.screenshot(path=tmp_path / "last.png")
        browser.close()


def _launches(project: Path, **attributes: object) -> None:
    launch = {"type": "ringhil", "request": "launch", "name": "Step a run", **attributes}
    found = {"version": "0.2.0", "configurations": [launch]}
    (project / ".vscode" / "launch.json").write_text(json.dumps(found))


def test_vs_code_steps_the_run_of_a_servers_file_both_ways(project: Path, editor: Editor) -> None:
    """Breakpoints on an event and on a line of firmware, variables, back and reverse."""
    editor.runs(str(editor.folder / "ringhil"))
    _launches(project, program="${workspaceFolder}/server.yaml", firmware=["a.0=mine:Program"])
    number = 1 + [line.strip() for line in (project / "mine.py").read_text().splitlines()].index(_LINE)
    editor.breaks_on_line("mine.py", number)
    editor.breaks_on_messages("kind == Elected")
    editor.start()
    editor.stops_at("before the first message")
    editor.control("continue")
    editor.stops_at("Elected")
    editor.control("continue")
    editor.stops_at(f"mine.py{number}:1")
    for text in ("Locals", "port =ccw", "Registers of a.0", "Firmware of a.0", "Card a, as the CPU sees it"):
        expect(editor.variables).to_contain_text(text)
    expect(editor.variables).not_to_contain_text("__class__")
    if "PICTURE" in os.environ:
        editor.page.mouse.move(900, 700)
        expect(editor.page.get_by_role("tooltip")).to_have_count(0)
        editor.page.screenshot(path=ROOT / "docs" / "img" / "editors.png")
    editor.control("step-back")
    editor.stops_at(f"mine.py{number - 1}:1")
    editor.control("step-over")
    editor.stops_at(f"mine.py{number}:1")
    editor.control("reverse-continue")
    editor.stops_at("Elected")
    editor.control("reverse-continue")
    editor.stops_at("before the first message")


def test_vs_code_steps_a_recording_and_says_when_the_command_is_missing(
    project: Path, editor: Editor, recorded: Path
) -> None:
    shutil.copy(recorded, project / "r.rec")
    with Recording(recorded) as recording:
        first, second = [each.number for each in recording.all() if isinstance(each, RecordedMessage)][:2]
    editor.runs("no-such-ringhil")
    _launches(project, program="${workspaceFolder}/r.rec")
    dialog, toolbar = editor.page.get_by_role("dialog"), editor.page.locator(".debug-toolbar .codicon-debug-step-back")
    editor.page.wait_for_timeout(5000)  # VS Code has read both; a session that begins meanwhile may end without a word
    editor.start()
    expect(dialog).to_contain_text("There is no no-such-ringhil in PATH: set ringhil.command")
    editor.runs(str(editor.folder / "ringhil"))
    while not toolbar.is_visible():  # it takes a while until VS Code has read that
        editor.page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        editor.start()
        expect(dialog.or_(toolbar)).to_be_visible()
    editor.stops_at("before the first message")
    for control, number in (("step-over", first), ("step-over", second), ("step-back", first)):
        editor.control(control)
        editor.stops_at(f"{number}: cycle")
