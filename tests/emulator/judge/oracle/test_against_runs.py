"""The oracle, from the timeline alone, against real runs: random faults on a server of two cards, seeded.

What must be there when all has settled is computed before anything runs; then the CPU's view is compared with it.
"""

import random
from functools import cache

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.judge.oracle import CardFaults, ServerTruth
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import Scenario, loads

SERVER = """server:
  cards:
    a: {gpus: 7, host_links: [0, 1, 2], weights: {default: 2, 5: 3}}
    b: {gpus: 6, host_links: [5, 0]}
  boundary_links:
    - {from: [a.2, a.3, a.4], to: [b.1, b.2, b.3]}
  settings: {census_period: 600, firmware_latency: 8, host_latency: 8, keepalive_interval: 400,
             wait_to_restore: 900, gpu_restore: 64, allowance_period: 512}
workload: {units: 90, size: 200, across: 30}
"""
ENTRY_TIME, LINK_TIME = 7_000, 12_500  # longer than any election takes with these settings
GPUS = [*(f"a.{gpu}" for gpu in range(7)), *(f"b.{gpu}" for gpu in range(6))]
LINKS = [f"{card}.{gpu}-{card}.{(gpu + 1) % size}" for card, size in (("a", 7), ("b", 6)) for gpu in range(size)]
CROSS = ["a.2-b.1", "a.3-b.2", "a.4-b.3"]
PLACES = {
    **dict.fromkeys(("dead", "hang", "babble", "switch_stuck_bypass", "switch_stuck_through", "slow"), GPUS),
    **dict.fromkeys(("link_cut", "link_one_way"), LINKS),
    "host_link_cut": ["a.0", "a.1", "a.2", "b.5", "b.0"],
    "boundary_link_cut": CROSS,
    "keepalive_loss": ["a.0", "a.1", "a.2", "a.3", "b.5", "b.0", "b.1"],
}
SEEDS = range(11, 30)


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def scenario(seed: int) -> Scenario:
    """Up to five events, some in a row and some long after one another; some faults end again."""
    rng, lines, now, active = random.Random(seed), list[str](), 6_000, list[tuple[str, str]]()
    for _ in range(rng.randrange(1, 6)):
        if active and rng.random() < 0.3:
            kind, where = active.pop(rng.randrange(len(active)))
            action = "clear"
        else:
            kind = rng.choice([*PLACES])
            where, action = rng.choice(PLACES[kind]), "fault"
            if (kind, where) in active:
                continue
            active.append((kind, where))
        target = "link" if "-" in where else "gpu"
        lines.append(f"  - {{at: {now}, {action}: {kind}, {target}: {where}}}\n")
        now += rng.choice([0, rng.randrange(300), rng.randrange(3_000), LINK_TIME])
    return loads(f"{SERVER}timeline:\n{''.join(lines)}until: {now + LINK_TIME + 2_000}\n")


def oracle(played: Scenario) -> ServerTruth:
    cards = [CardFaults(card.gpus) for card in played.server.cards]
    truth = ServerTruth(played.server, cards, lambda card: ENTRY_TIME, lambda group: LINK_TIME)
    for event in played.timeline:
        truth.put(event)
        truth.update(event.at)
    return truth


@cache
def played(seed: int) -> tuple[Scenario, Outcome]:
    file = scenario(seed)
    server = Run(file, cells_library())
    try:
        return file, server.run()
    finally:
        server.engine.close()


@pytest.mark.rest(but_one_in=10)
@pytest.mark.parametrize("seed", sampled(SEEDS, "scenarios", 2))
def test_a_real_run_ends_as_the_oracle_says(seed: int, library: Library) -> None:
    file, outcome = played(seed)
    truth = oracle(file)
    for number, described in enumerate(file.server.cards):
        card, role = outcome.cards[described.name], truth.entries[number]
        entry = None if card.entry is None else int(card.entry.split(".")[1])
        assert entry in role.holders
        assert entry is None or card.epoch >= role.lowest(outcome.cycles)
        seen, broken = truth.seen(number, entry), truth.broken(number, entry)
        assert (card.count, set(card.members)) == (seen.count, seen.members)
        assert card.reachable == bool(truth.able(number))
        name = described.name
        ends = broken and f"{name}.{broken.after}-{name}.{broken.before}"
        assert card.stranded == tuple(f"{name}.{gpu}" for gpu in sorted(broken.stranded if broken else ()))
        assert bool(card.cuts) == bool(broken)
        # One link alone is written as such, more as the GPUs at their ends: the same words.
        assert card.break_ == ends
    (link,), role = outcome.links, truth.links[0]
    held = None if link.active is None else int(link.active.split("-")[0].split(".")[1])
    assert held in role.holders
    assert held is None or link.epoch >= role.lowest(outcome.cycles)


@pytest.mark.rest
def test_the_runs_are_worth_it(library: Library) -> None:
    """Among them are breaks, GPUs cut off, roles that have moved."""
    outcomes = [played(seed)[1] for seed in SEEDS]
    cards = [card for outcome in outcomes for card in outcome.cards.values()]
    truths = [oracle(played(seed)[0]) for seed in SEEDS]
    assert any(card.stranded for card in cards)
    assert sum(card.break_ is not None for card in cards) >= 3
    assert sum(card.entry not in ("a.0", "b.5", None) for card in cards) >= 3
    assert sum(outcome.links[0].active not in (None, "a.2-b.1") for outcome in outcomes) >= 3
    # Mostly the oracle is not satisfied with just anybody.
    assert sum(len(role.holders) == 1 for truth in truths for role in truth.entries) > 1.2 * len(SEEDS)
    assert sum(len(truth.links[0].holders) == 1 for truth in truths) > 0.2 * len(SEEDS)
