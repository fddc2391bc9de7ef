"""`ringhil firmware check` with a board: what is played against it alone, and one that is pulled out meanwhile."""

from pathlib import Path

import pytest
from tests.command import ringhil

from .boards import after, wire

FEW = ("lease", "warden", "registers")


@pytest.mark.rest
def test_a_board_keeps_what_is_played_against_it_alone(port: str, tmp_path: Path) -> None:
    done = ringhil("firmware", "check", port, *FEW, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[-1] == f"{port}: {len(lines) - 1} kept, 0 broken, 0 not judged"
    assert {line.split()[1].split(".")[0] for line in lines[:-1]} == {*FEW}


def test_one_that_is_pulled_out_is_broken(port: str, tmp_path: Path) -> None:
    with wire(port, after(60), pulled=True) as name:
        done = ringhil("firmware", "check", name, "lease.from_claim", "lease.renewed", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert any(line.startswith("FAIL lease.") and "it is gone: " in line for line in lines), lines
    assert "promised: " in done.stdout
