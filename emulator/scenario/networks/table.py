"""Tables of layers as files, and those of published networks, which are beside this file."""

from pathlib import Path

from pydantic import ValidationError

from ringhil.emulator.scenario.file import model_switching
from ringhil.emulator.scenario.file.explain import explain
from ringhil.emulator.scenario.file.schema import part_schema
from ringhil.emulator.scenario.networks.layers import Layer
from ringhil.emulator.scenario.writer import flow
from ringhil.emulator.scenario.yaml.events import read_text
from ringhil.emulator.scenario.yaml.parse import parse

TABLES = Path(__file__).with_name("tables")
PUBLISHED = tuple(sorted(path.stem for path in TABLES.glob("*.yaml")))


def read_layers(path: Path) -> tuple[Layer, ...]:
    """The layers of a file. Raises ScenarioError."""
    source = parse(read_text(path), str(path))
    try:
        table = model_switching.ModelTable.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source, root=part_schema("ModelTable")) from None
    return layers_of(table.layers)


def published_layers(name: str) -> tuple[Layer, ...]:
    """Those of one of `PUBLISHED`."""
    return read_layers(TABLES / f"{name}.yaml")


def layers_of(written: list[model_switching.ModelLayer]) -> tuple[Layer, ...]:
    """The same, checked."""
    return tuple(Layer(each.name, each.weights, each.outputs, each.operations) for each in written)


def table_text(source: str, layers: tuple[Layer, ...]) -> str:
    """The text of a file with these layers."""
    rows = (
        {"name": each.name, "weights": each.weights, "outputs": each.outputs, "operations": each.operations}
        for each in layers
    )
    return "\n".join([f"source: {flow(source)}", "layers:", *(f"  - {flow(row)}" for row in rows), ""])
