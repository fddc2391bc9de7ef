"""Runs that can be looked at in the site: `docs/runs/NAME.md` is a page of the project, and says what to type; in the
site the page of `ringhil view` stands at its place, with the run of `examples/NAME.yaml`. So a link to it leads
somewhere in both."""

import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
NAMES = sorted(path.stem for path in (ROOT / "docs/runs").glob("*.md"))


def on_post_build(config: MkDocsConfig) -> None:
    """Play them, all at a time."""
    started = {name: _started(name, Path(config.site_dir) / "docs/runs") for name in NAMES}
    for name, process in started.items():
        _, errors = process.communicate()
        if process.returncode:
            raise PluginError(f"docs/runs/{name}.md: {errors.strip()}")


def _started(name: str, folder: Path) -> "subprocess.Popen[str]":
    command = ["-m", "ringhil.emulator", "view", ROOT / f"examples/{name}.yaml", "--html", folder / f"{name}.html"]
    return subprocess.Popen([sys.executable, *map(str, command)], stderr=subprocess.PIPE, text=True)
