"""Groups of layers are those of all possible ones that are computed first."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.host.switching.grouping import Costs, groups
from ringhil.emulator.host.switching.plan import Subtask

_LAYERS = st.lists(st.builds(Subtask, st.just(0), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8)
_COSTS = st.builds(Costs, st.integers(0, 20), st.integers(0, 3), st.integers(0, 20))


def ends(layers: list[Subtask], costs: Costs, cuts: tuple[tuple[int, int], ...]) -> float:
    """When the last group is computed: copies one after the other, computations as well, each after its copy."""
    copied = computed = 0.0
    for first, end in cuts:
        copied += costs.copy + costs.byte * sum(layer.data for layer in layers[first:end])
        computed = max(copied, computed) + costs.launch + sum(layer.cycles for layer in layers[first:end])
    return computed


@given(_LAYERS, _COSTS)
def test_no_other_way_ends_earlier(layers: list[Subtask], costs: Costs) -> None:
    chosen = groups(layers, costs)
    assert [first for first, _ in chosen] == [0, *(end for _, end in chosen[:-1])]
    assert chosen[-1][1] == len(layers)
    number = len(layers)
    every = (
        tuple(pairwise((0, *cuts, number))) for size in range(number) for cuts in combinations(range(1, number), size)
    )
    assert ends(layers, costs, chosen) == min(ends(layers, costs, cuts) for cuts in every)
