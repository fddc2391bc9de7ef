"""Chooses cases of a campaign by what a user asks for; users' words are values, never SQL."""

from dataclasses import dataclass

from ringhil.emulator.campaign.explore.errors import ExploreError
from ringhil.emulator.campaign.explore.store import Row, Store

# Those without a figure come last.
ORDERS = {
    "number": "number",
    "recovery": "recovery IS NULL, recovery DESC, number",
    "bound": "recovery IS NULL, CAST(recovery AS REAL) / max(bound, 1) DESC, number",
    "detection": "detection IS NULL, detection DESC, number",
    "cycles": "cycles IS NULL, cycles DESC, number",
}


@dataclass(frozen=True)
class Wanted:
    """Each may be None: any. `cls`, `place` and `key` know * and ?. `order`: one of ORDERS; `limit`: most rows."""

    cls: str | None = None
    place: str | None = None
    key: str | None = None
    verdict: str | None = None
    order: str = "number"
    limit: int = 20


def chosen(store: Store, campaign: int | None) -> int:
    """The campaign of that number, or the last one. Raises ExploreError when it isn't there."""
    known = list(store.campaigns())
    if not known:
        raise ExploreError(f"{store.path}: no campaign in it")
    if campaign is not None and campaign not in known:
        raise ExploreError(f"{store.path}: no campaign {campaign}; there are {', '.join(map(str, known))}")
    return known[-1] if campaign is None else campaign


def find(store: Store, campaign: int, wanted: Wanted) -> tuple[list[Row], int]:
    """The first rows, and how many there are in all."""
    parts, values = [], []
    for column, text in (("class", wanted.cls), ("key", wanted.key)):
        if text is not None:
            parts.append(f"{column} GLOB ?")
            values.append(text)
    if wanted.place is not None:
        # A case with several faults has its places in a row.
        parts.append("(', ' || place || ',') GLOB ?")
        values.append(f"*, {wanted.place},*")
    if wanted.verdict is not None:
        parts.append("verdict = ?")
        values.append(wanted.verdict)
    where = " AND ".join(parts)
    rows = list(store.rows(campaign, where, tuple(values), ORDERS[wanted.order], limit=wanted.limit))
    return rows, store.count(campaign, where, tuple(values))
