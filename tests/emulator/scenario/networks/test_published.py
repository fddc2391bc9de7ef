"""Published networks: their tables are what their definitions give, and add up to what is published of them."""

import pytest

from ringhil.emulator.scenario.networks.__main__ import NETWORKS, texts
from ringhil.emulator.scenario.networks.table import PUBLISHED, TABLES, published_layers

# Parameters, of which every library that has these networks counts as many; multiplications for one sample, in 10^9.
FACTS = {
    "resnet-152": (60_192_808, 11.5),
    "inception-v3": (23_834_568, 5.71),
    "bert-base": (109_482_240, 22.5),
}


def test_the_files_are_what_the_definitions_give() -> None:
    """`make generate` writes them."""
    assert {name: (TABLES / f"{name}.yaml").read_text() for name in PUBLISHED} == texts()


@pytest.mark.parametrize("name", NETWORKS)
def test_they_have_as_many_parameters_and_operations_as_published(name: str) -> None:
    layers = published_layers(name)
    parameters, products = FACTS[name]
    assert sum(layer.weights for layer in layers) == 4 * parameters
    assert sum(layer.operations for layer in layers) / 2e9 == pytest.approx(products, rel=0.005)
    assert len({layer.name for layer in layers}) == len(layers)
