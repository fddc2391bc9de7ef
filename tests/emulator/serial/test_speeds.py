"""Speeds are said in one place."""

import ast
from pathlib import Path

import pytest

from ringhil.emulator.serial.speeds import BAUD, BAUDS

EMULATOR = Path(__file__).resolve().parents[3] / "emulator"


@pytest.mark.parametrize("number", [BAUD, BAUDS[1]])
def test_the_usual_speed_and_the_highest_one_stand_in_one_file(number: int) -> None:
    found = []
    for path in sorted([*(EMULATOR / "serial").rglob("*.py"), *(EMULATOR / "front" / "cli").glob("*.py")]):
        constants = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        found += [path.name for constant in constants if constant.value == number]
    assert found == ["speeds.py"]
