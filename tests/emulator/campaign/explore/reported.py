"""Campaigns that nobody has played."""

import random
from collections.abc import Iterable
from itertools import islice

from tests.emulator.campaign.explore.servers import RING

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.result import CaseResult
from ringhil.emulator.campaign.explore.space import Case, Round, Space
from ringhil.emulator.campaign.explore.store import Store, StoredCampaign
from ringhil.emulator.scenario import loads

PLAN = Plan(("dead", "hang", "link_cut"), depth=3, phases=4, random=50)
PASSED = CaseResult("pass", (), None, True, True, True, 20, 400, 1000, 12.5, "fault dead a.1", 5000, 5000)


def space(plan: Plan, text: str = RING, **rounds: int) -> Space:
    """The cases of a plan; `rounds`: length of each card's."""
    server = loads(text).server
    return Space(server, {card.name: Round(1000, 1000 + rounds.get(card.name, 40)) for card in server.cards}, plan)


def campaign(plan: Plan, text: str = RING, **rounds: int) -> StoredCampaign:
    """As a campaign of it is kept."""
    arguments = {**plan.to_json(), "after": 0, "shard": [1, 1], "whole": False}
    sizes = space(plan, text, **rounds).sizes
    return StoredCampaign(
        "ring", "sha256:5ce", f"name: ring\n{text}", "sha256:471", "0.3 abc", plan.seed, arguments, sizes
    )


def drawn(rng: random.Random) -> CaseResult:
    """A result as it might be."""
    bound = rng.randrange(500, 2000)
    took = rng.randrange(1, bound + bound // 20)
    verdict = rng.choices(("pass", "fail", "error", "hung"), (900, 30, 20, 10))[0]
    wrong = {"pass": None, "fail": "bounded_recovery"}.get(verdict, verdict)
    said = () if wrong is None else ("fault dead of a.1: not recovered", "another")
    flags = (rng.random() < 0.99, rng.choice([None, True]), took <= bound)
    return CaseResult(verdict, said, wrong, *flags, took // 2, took, bound, took / 34, "fault dead a.1", 9000, 9000)  # type: ignore[arg-type]


def filled(store: Store, kept: StoredCampaign, cases: Iterable[tuple[Case, CaseResult]]) -> int:
    """The number of the campaign, now in the store."""
    number = store.begin(kept)
    store.add(number, ((n, case, result) for n, (case, result) in enumerate(cases)))
    return number


def played(plan: Plan = PLAN, number: int = 10**6, seed: int = 1) -> Store:
    """A store with a campaign that was played up to a number of cases."""
    store, rng = Store(":memory:"), random.Random(seed)
    filled(store, campaign(plan), ((case, drawn(rng)) for case in islice(space(plan), number)))
    return store
