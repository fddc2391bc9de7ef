"""What a campaign could strike, from what the store says of it: so that what was never struck can be seen."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.report_figures import PAIRS, SINGLES, Figures
from ringhil.emulator.campaign.explore.rows import StoredCampaign
from ringhil.emulator.campaign.explore.space import Round, Space
from ringhil.emulator.scenario import FAULTS, loads


@dataclass(frozen=True)
class Terrain:
    """`cards`: of each kind and place that can be, the card; `phases`: how many of single faults each card's round has,
    None when that isn't known. `known`: False when the scenario can't be read, and only what was struck is known."""

    cards: dict[tuple[str, str], str]
    phases: dict[str, int] | None
    known: bool
    together: bool = False
    apart: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds in the order of the campaign."""
        return tuple(self.spots)

    @cached_property
    def spots(self) -> dict[str, Counter[str]]:
        """How many places there are for each kind, by card."""
        found: dict[str, Counter[str]] = {}
        for (kind, _), card in self.cards.items():
            found.setdefault(kind, Counter())[card] += 1
        return found

    def couples(self, first: str, second: str) -> int:
        """How many pairs of places two kinds have, in the order in which cases name them."""
        ones, others = self.spots[first].total(), self.spots[second].total()
        ordered = ones * (ones - 1) if first == second else ones * others
        if self.apart:
            return ordered
        if not self.together:
            return 0
        kinds = self.kinds
        return ordered // 2 if first == second else ordered * (kinds.index(first) < kinds.index(second))


def terrain(campaign: StoredCampaign, figures: Figures) -> Terrain:
    """The terrain of a campaign, from what was struck in it."""
    space = _space(campaign)
    cards = {} if space is None else {(spot.kind, spot.where): spot.card for spot in space.spots}
    for kind, place, _ in (*figures.singles, *figures.several):
        cards.setdefault((kind, place), place.partition(".")[0])
    pairs = None if space is None or PAIRS not in campaign.space else campaign.arguments.get("pairs")
    phases = None if space is None else _phases(campaign, space)
    return Terrain(cards, phases, space is not None, pairs in ("together", "both"), pairs in ("apart", "both"))


def _space(campaign: StoredCampaign) -> Space | None:
    """The space with rounds of one phase; None when this version can't read the campaign."""
    try:
        server = loads(campaign.scenario).server
        return Space(server, {card.name: Round(0, 0) for card in server.cards}, _plan(campaign.arguments))
    except (ValueError, TypeError):
        return None


def _plan(arguments: dict[str, Any]) -> Plan:
    def several(name: str, usual: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(arguments.get(name, usual))

    known = {name: arguments[name] for name in ("depth", "phases", "pairs") if name in arguments}
    lasts = several("lasts", Plan.lasts)
    return Plan(several("kinds", tuple(FAULTS)), several("places", ()), lasts=lasts, **known)


def _phases(campaign: StoredCampaign, space: Space) -> dict[str, int] | None:
    """The phases, from the number of single faults; the store doesn't hold the rounds, which may differ by card."""
    size, once = campaign.space.get(SINGLES, 0), space.sizes.get(SINGLES, 0)
    wanted = campaign.arguments.get("phases")
    names = {spot.card for spot in space.spots}
    if once and size % once == 0 and (len(names) == 1 or size // once == wanted):
        return dict.fromkeys(names, size // once)
    return None
