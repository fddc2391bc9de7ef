"""No type of event and no field can be left out of docs/reference/events.md."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from tests import events

from ringhil.emulator.events.recorded import IN_RECORDINGS

EMULATOR = Path(__file__).resolve().parents[3] / "emulator"


def told(path: Path) -> set[str]:
    """Types that a file tells on a stream: classes that are made where `tell` is called."""
    text = path.read_text()
    if "observations.tell(" not in text:
        return set()
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    events_made = [c.args[0] for c in calls if ast.unparse(c.func).endswith("observations.tell")]
    return {made.func.id for made in events_made if isinstance(made, ast.Call) and isinstance(made.func, ast.Name)}


def test_every_type_that_is_told_is_in_the_reference() -> None:
    found = {name for path in EMULATOR.rglob("*.py") for name in told(path)}
    assert len(found) > 10
    assert found <= {kind.__name__ for kind in events.every_type()}


def test_every_type_says_what_a_recording_has_of_it() -> None:
    assert set(IN_RECORDINGS) == set(events.every_type())


def test_every_module_that_has_types_of_events_is_in_the_reference() -> None:
    listed = {Path(str(module.__file__)).resolve() for module in (*events.OF_STREAM, *events.OF_JUDGE)}
    assert {path for path in EMULATOR.rglob("*.py") if "TOLD_BY: ClassVar" in path.read_text()} == listed


@pytest.mark.parametrize("kind", [*events.every_type(), *events.derived(), *events.types_of(events.observations)])
def test_every_type_has_a_cycle_or_is_what_firmware_says_and_each_field_a_meaning(kind: type) -> None:
    names = [name for name, _, meaning in events.described(kind) if meaning]
    assert "cycle" in names or kind.__module__ == events.observations.__name__
    assert kind.__doc__


def test_a_field_without_a_meaning_is_refused() -> None:
    @dataclass
    class New:
        """Something."""

        cycle: Annotated[int, "in which it happened"]
        cell: int

    with pytest.raises(ValueError, match=r"New\.cell doesn't say what it is"):
        list(events.described(New))
