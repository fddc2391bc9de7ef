"""A launch takes no longer than is computed, whoever shares its GPU."""

import pytest

from ringhil.emulator.scenario import loads
from ringhil.emulator.server.hosting import longest_launch

SERVER = "server: {cards: {a: {gpus: 4}}, settings: {default_slice: 200, context_switch: 10}}\n"
SHARED = """
sharing:
  groups: {team: {slice: 50}}
  applications:
    x: {gpu: a.2, steps: 1, compute: 90, state: 5}
    y: {gpu: a.2, steps: 1, compute: 90, slice: SLICE}
"""
SWITCHED = """
switching:
  gpu: a.2
  tasks: {t: {layers: [{name: l, weights: 1, operations: 1}]}}
  requests: [{task: t}]
"""


@pytest.mark.parametrize(("slice_", "shortest"), [(1000, 50), (40, 40)])
def test_each_round_takes_the_slices_of_all_and_their_switches(slice_: int, shortest: int) -> None:
    """On a slow GPU four times as many cycles are needed."""
    longest = longest_launch(loads(SERVER + SHARED.replace("SLICE", str(slice_))))
    rounds = 4 * 900 // shortest + 1
    assert longest(900) == 4 * 900 + rounds * 2 * (max(200, slice_) + 10 + 5)


def test_of_requests_there_are_as_many_as_contexts() -> None:
    assert longest_launch(loads(SERVER + SWITCHED))(1000) == 4000 + 21 * 16 * 210
