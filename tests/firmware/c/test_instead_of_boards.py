"""A run that was recorded with a board is played again with other firmware in its place, and compared."""

from pathlib import Path

import pytest
from tests.command import ringhil

from . import library
from .boards import wire

SERVER = "server: {cards: {a: {gpus: 6, host_links: [0, 1, 2]}}}\nuntil: 12000\n"
SLOWER = """
from dataclasses import replace
from ringhil.firmware.boot import our_program
def slower(boot):
    return our_program(replace(boot, entry=replace(boot.entry, multiplier=2)))
"""


@pytest.fixture
def recorded(port: str, tmp_path: Path) -> Path:
    """In its folder there is the module `mine`, too. The board has gone meanwhile."""
    (tmp_path / "mine.py").write_text(SLOWER)
    (tmp_path / "s.yaml").write_text(SERVER)
    done = ringhil("run", "s.yaml", "--firmware", f"a.1={port}", "--record", "r.rec", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "r.rec"


@pytest.mark.rest
def test_firmware_that_does_otherwise_than_the_board_did_differs(recorded: Path) -> None:
    done = ringhil("replay", "r.rec", "--firmware", "a.1=mine:slower", cwd=recorded.parent)
    assert (done.returncode, done.stderr) == (1, "")
    differs, why = done.stdout.splitlines()
    assert differs.startswith("differs: cycle ")
    assert differs.endswith(", a.1 from_firmware keepalive: multiplier is 2, recorded 3")
    assert why.startswith("recorded with firmware.a.1 ringhil C; this is firmware.a.1 ")


@pytest.mark.slow(part="outside")
def test_firmware_that_does_what_the_board_did_is_identical(recorded: Path, tmp_path: Path) -> None:
    mine = library.built(tmp_path / "built")
    for firmware in ("ringhil.firmware.boot:our_program", str(mine)):
        done = ringhil("replay", "r.rec", "--firmware", f"a.1={firmware}", cwd=recorded.parent)
        assert (done.returncode, done.stdout[:10]) == (0, "identical:"), done.stderr


def test_another_board_is_asked(recorded: Path, port: str) -> None:
    pieces = list[bytes]()

    def heard(data: bytes) -> bytes:
        pieces.append(data)
        return data

    with wire(port, heard) as name:
        done = ringhil("replay", "r.rec", "--firmware", f"a.1={name}", cwd=recorded.parent)
    assert (done.returncode, done.stdout[:10]) == (0, "identical:"), done.stderr
    assert len(pieces) > 100


def test_firmware_of_all_others_leaves_the_board_what_it_is(recorded: Path) -> None:
    """A GPU that is named by itself is none of `*`."""
    done = ringhil("replay", "r.rec", "--firmware", "*=mine:slower", cwd=recorded.parent)
    assert done.returncode == 1, done.stderr
    assert ", a.0 from_firmware keepalive: multiplier is 2, recorded 3\n" in done.stdout
