"""Speeds are said in one place, and each that is allowed can be told to a client."""

import ast
from pathlib import Path

import pytest
from tests.command import refusal
from tests.emulator.serial.served import ONE

from ringhil.emulator.serial.client import CardClient, CardError
from ringhil.emulator.serial.line import BAUD, BAUDS, CLOCKS

EMULATOR = Path(__file__).resolve().parents[4] / "emulator"


@pytest.mark.parametrize("number", [BAUD, BAUDS[1]])
def test_the_usual_speed_and_the_highest_one_stand_in_one_file(number: int) -> None:
    found = []
    for path in sorted([*(EMULATOR / "serial").rglob("*.py"), *(EMULATOR / "front" / "cli").glob("*.py")]):
        constants = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        found += [str(path.relative_to(EMULATOR)) for constant in constants if constant.value == number]
    assert found == ["serial/line/__init__.py"]


def test_the_fastest_clock_can_be_told_and_a_faster_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "server.yaml").write_text(ONE)
    url = f"emulated://{tmp_path}/server.yaml?clock="
    with CardClient.open(f"{url}{CLOCKS[1]}") as card:
        assert card.info.clock == CLOCKS[1]
    with pytest.raises(CardError, match=f"found '{CLOCKS[1] + 1}'; allowed is a whole number from 1 to {CLOCKS[1]}$"):
        CardClient.open(f"{url}{CLOCKS[1] + 1}")
    assert f"found '{CLOCKS[1] + 1}'" in refusal("serve", tmp_path / "server.yaml", "--clock", CLOCKS[1] + 1)


@pytest.mark.parametrize("found", ["1e6", "1.5", "0x10", "", "-1", "9" * 5000])
@pytest.mark.parametrize(
    ("command", "option", "limits"),
    [("serve", "--clock", CLOCKS), ("serve", "--baud", BAUDS), ("card", "--baud", BAUDS)],
)
def test_what_is_no_speed_is_named_with_what_is_allowed(
    command: str, option: str, limits: tuple[int, int], found: str
) -> None:
    shown = f"'{found}'" if len(found) < 50 else f"'{found[:56]}..."
    said = refusal(command, f"{option}={found}", "server.yaml")
    assert said == (
        f"ringhil {command}: Invalid value for '{option}': "
        f"found {shown}; allowed is a whole number from {limits[0]} to {limits[1]}"
    )
