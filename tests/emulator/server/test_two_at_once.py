"""Several faults at once, anywhere, at any cycle: still no wrong count is accepted, and no work lost.

Two or three random faults on rings of three to seven GPUs, close together in time, half of them cleared again.
The members that reach the CPU are also held against an own, cautious truth: after everything has settled, the
last report must name exactly the GPUs that work and are reached.
"""

import random
from dataclasses import dataclass

import pytest

from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

SILENT = ("dead", "hang", "babble")
LIARS = ("corrupt", "skip_count", "double_count")
PERIOD = 400


@dataclass(frozen=True)
class Trouble:
    size: int
    events: tuple[str, ...]
    failed: frozenset[int]  # in the end
    cuts: frozenset[int]
    liars: frozenset[int]

    @property
    def working(self) -> set[int]:
        """Working GPUs that the entry GPU 0 reaches, one way or the other."""
        reached = {0}
        for link in range(self.size - 1):
            if link in self.cuts:
                break
            reached.add(link + 1)
        for link in range(self.size - 1, 0, -1):
            if link in self.cuts:
                break
            reached.add(link)
        return reached - self.failed


def trouble(seed: int) -> Trouble:
    rng = random.Random(seed)
    size, wanted = rng.choice([3, 4, 5, 7]), rng.choice([2, 2, 3])
    events, struck, left = [], set[tuple[str, int]](), set[tuple[str, int]]()
    while len(struck) < wanted:
        kind = rng.choice([*SILENT, *LIARS, "link_cut"])
        place = rng.randrange(size) if kind == "link_cut" else rng.randrange(1, size)
        if (kind, place) in struck:
            continue
        struck.add((kind, place))
        where = f"link: a.{place}-a.{(place + 1) % size}" if kind == "link_cut" else f"gpu: a.{place}"
        at = rng.randrange(300, 1200)
        events.append(f"{{at: {at}, fault: {kind}, {where}}}")
        if rng.random() < 0.5:
            events.append(f"{{at: {at + rng.randrange(1, 1500)}, clear: {kind}, {where}}}")
        else:
            left.add((kind, place))

    def those(*kinds: str) -> frozenset[int]:
        return frozenset(place for kind, place in left if kind in kinds)

    return Trouble(size, tuple(events), those(*SILENT), those("link_cut"), those(*LIARS))


HUNDREDS = [0, *(pytest.param(n, marks=pytest.mark.slow(part="work")) for n in range(1, 50))]


@pytest.mark.rest
@pytest.mark.parametrize("hundred", HUNDREDS)
def test_no_wrong_count_whatever_comes_together(library: Library, hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        case = trouble(seed)
        text = f"server: {{cards: {{a: {{gpus: {case.size}}}}}, settings: {{census_period: {PERIOD}}}}}\n"
        if seed % 2:
            text += "workload: {units: 60, size: 300}\n"
        text += "timeline:\n" + "".join(f"  - {event}\n" for event in case.events)
        server = Run(loads(text), library)
        outcome = server.run()
        card = outcome.cards["a"]
        server.engine.close()
        assert outcome.broken("wrong_count") == (), f"seed {seed}\n{text}"
        assert outcome.failures == (), f"seed {seed}\n{text}"
        if not case.liars:
            assert set(card.members) == case.working, f"seed {seed}\n{text}"
            assert card.count == len(case.working), f"seed {seed}\n{text}"


LARGE = "server: {cards: {a: {gpus: 80}}, settings: {census_period: 2000}}\ntimeline:\n"


@pytest.mark.rest(but_one_in=2)
@pytest.mark.parametrize("second", ["{at: 9001, clear: dead, gpu: a.3}", "{at: 9001, fault: double_count, gpu: a.20}"])
def test_on_large_rings_what_leaves_the_count_unchanged_is_seen(library: Library, second: str) -> None:
    first = "{at: 9000, fault: dead, gpu: a.9}"
    before = "{at: 100, fault: dead, gpu: a.3}"
    events = [before, first, second] if "clear" in second else [first, second]
    server = Run(loads(LARGE + "".join(f"  - {event}\n" for event in events)), library)
    assert server.run().broken("wrong_count") == ()
