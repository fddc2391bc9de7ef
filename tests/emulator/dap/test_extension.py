"""The extension for VS Code says what the adapter takes."""

import json
import re
import shutil
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ringhil.emulator.dap.arguments import DapLaunch

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "editors" / "vscode"


def _manifest() -> Any:
    return json.loads((FOLDER / "package.json").read_text())


def test_its_attributes_are_those_of_the_adapter_and_of_the_page() -> None:
    (debugger,) = _manifest()["contributes"]["debuggers"]
    said = debugger["configurationAttributes"]["launch"]["properties"]
    assert set(said) == {field.alias or name for name, field in DapLaunch.model_fields.items()}
    for page in (ROOT / "docs" / "howto" / "editors.md", FOLDER / "README.md"):
        assert set(said) <= set(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE))


def test_it_has_the_version_of_ringhil_and_a_lock_without_addresses() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    assert _manifest()["version"] == lock["version"] == version("ringhil")
    packages = [each for name, each in lock["packages"].items() if name]
    assert packages
    assert all("integrity" in each and "resolved" not in each for each in packages)


@pytest.mark.slow(part="editors")
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_it_is_packed_with_nothing_else_in_it() -> None:
    done = subprocess.run(["make", "vscode"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(FOLDER / "ringhil.vsix") as packed:
        found = {name for name in packed.namelist() if name.startswith("extension/")}
    assert found == {f"extension/{name}" for name in ("LICENSE.txt", "extension.js", "package.json", "readme.md")}
