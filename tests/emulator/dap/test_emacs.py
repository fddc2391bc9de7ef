"""Another client: Emacs' dap-mode."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.command import RINGHIL

from ringhil.emulator.trace.recording import RecordedMessage, Recording


@pytest.mark.slow(part="editors")
def test_emacs_steps_a_recording(recorded: Path) -> None:
    emacs = shutil.which("emacs")
    if emacs is None or not Path("/usr/share/emacs/site-lisp/elpa").is_dir():
        pytest.skip("needs Emacs with dap-mode: apt-get install emacs-nox elpa-dap-mode")
    environment = {**os.environ, "RINGHIL": " ".join(RINGHIL), "PROGRAM": str(recorded)}
    script = Path(__file__).with_name("emacs.el")
    done = subprocess.run(
        [emacs, "--batch", "-l", script], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    places = [line.removeprefix("at ") for line in done.stderr.splitlines() if line.startswith("at ")]
    with Recording(recorded) as recording:
        numbers = [each.number for each in recording.all() if isinstance(each, RecordedMessage)]
        last = recording.last_number
    assert places[:1] == ["before the first message"], done.stderr
    assert [int(place.partition(":")[0]) for place in places[1:]] == [*numbers[:3], last]
