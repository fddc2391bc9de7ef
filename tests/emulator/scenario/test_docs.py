"""docs/scenarios.md says what the code does."""

import re
from dataclasses import asdict
from pathlib import Path

from ringhil.emulator.scenario import FAULTS, Settings, json_schema, loads
from ringhil.protocol.wire import GPU_TYPES

PAGE = (Path(__file__).parents[3] / "docs" / "scenarios.md").read_text()


def rows(heading: str) -> dict[str, list[str]]:
    """Table rows of a section, by their first cell."""
    section = PAGE.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {row[0].strip("`"): row[1:] for row in cells}


def test_the_example_loads() -> None:
    example = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)[0]
    assert loads(example).name == "two cards, one GPU dies"


def test_every_setting_stands_there_with_its_default() -> None:
    table = rows("### `settings`")
    assert {name: table[name][1] for name in asdict(Settings())} == {
        name: str(value) for name, value in asdict(Settings()).items()
    }


def test_every_fault_stands_there_with_its_target_and_effect() -> None:
    table = rows("## `timeline`")
    for name, fault in FAULTS.items():
        assert table[name] == [f"`{fault.target}`", fault.effect]


def test_every_key_and_gpu_type_stands_there() -> None:
    schema = json_schema()
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part["properties"]}
    assert not {key for key in keys | GPU_TYPES.keys() if not re.search(f"`{key}[`:]", PAGE)}
