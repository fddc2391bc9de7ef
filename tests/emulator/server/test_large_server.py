"""A full server: 16 cards of 64 GPUs in a chain, all elected and counted, 10,000 units of work, some across cards."""

import itertools

import pytest

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

GPUS, UNITS = 64, 10_000


@pytest.mark.rest
@pytest.mark.parametrize(
    "cards",
    [
        2,
        pytest.param(4, marks=pytest.mark.slow(part="engine")),
        pytest.param(16, marks=pytest.mark.slow(part="engine")),
    ],
)
def test_a_chain_of_large_cards(cards: int) -> None:
    names = [chr(ord("a") + n) for n in range(cards)]
    units = UNITS * cards // 16
    lines = ["server:", "  cards:", *(f"    {name}: {{gpus: {GPUS}, host_links: [0, 1]}}" for name in names)]
    lines += ["  boundary_links:"]
    lines += [f"    - {{from: [{a}.20, {a}.21], to: [{b}.41, {b}.40]}}" for a, b in itertools.pairwise(names)]
    lines += [f"workload: {{units: {units}, size: 1024, across: 10}}"]
    server = Run(loads("\n".join(lines)), cells_library())
    outcome = server.run()
    assert outcome.failures == ()
    assert [card.count for card in outcome.cards.values()] == [GPUS] * cards
    assert [card.entry for card in outcome.cards.values()] == [f"{name}.0" for name in names]
    assert [link.active for link in outcome.links] == [f"{a}.20-{b}.41" for a, b in itertools.pairwise(names)]
    assert outcome.work["completed"] == units
    assert outcome.work["crossed"] > units // 50
