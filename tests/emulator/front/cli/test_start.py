"""A command loads what it needs, and nothing that only others need: its start is most of a short run."""

import subprocess
import sys

import pytest

_SAID = """
import sys
from ringhil.emulator.front.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""
_LINES = {"serial", "elftools", "ringhil.emulator.serial.client", "ringhil.emulator.loop.loading"}
_REPORTS = {"jinja2", "starlette", "distributed", "sqlalchemy", "ringhil.emulator.view.web"}


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("arguments", "others"),
    [
        (["--help"], {"numpy", "construct", "ruamel", "rich", *_LINES, *_REPORTS}),
        (["run", "examples/one-card.yaml"], {"ringhil.emulator.debug.recorder", *_LINES, *_REPORTS}),
        (["explore", "--help"], {"ringhil.emulator.campaign.verify", "ringhil.emulator.cluster", *_LINES, *_REPORTS}),
    ],
)
def test_loads_what_it_needs(arguments: list[str], others: set[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _SAID, *arguments], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "click" in loaded, done.stderr
    assert not loaded & others
