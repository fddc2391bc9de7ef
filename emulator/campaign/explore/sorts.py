"""Failing cases by how they fail: what lasts goes before what passes, whatever the number of cases."""

from dataclasses import dataclass, field

from ringhil.emulator.campaign.explore.store import Row, Store

MOST_FILES = 100
_FAILED = "verdict != 'pass'"
_OTHERS = "lasts IS NOT 1, number"


@dataclass
class Sort:
    """Cases that fail in one way; `first`: of the campaign's order. `classes`: of all of them."""

    name: str
    first: Row
    classes: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """How many there are."""
        return len(self.classes)


def sorts(store: Store, campaign: int) -> list[Sort]:
    """All of a campaign: those that last first, then the most frequent."""
    found: dict[str, Sort] = {}
    for row in store.rows(campaign, _FAILED):
        name = row.result.sort or row.result.violated or row.result.verdict
        found.setdefault(name, Sort(name, row)).classes.append(row.cls)
    return sorted(found.values(), key=lambda sort: (not sort.first.result.lasts, -sort.cases))


def main_failures(store: Store, campaign: int, most: int = MOST_FILES) -> list[Row]:
    """Failing cases: one of each sort first, in the order of `sorts`, then others, those that last first."""
    firsts = [sort.first for sort in sorts(store, campaign)][:most]
    known = {row.key for row in firsts}
    others = store.rows(campaign, _FAILED, order=_OTHERS, limit=most)
    return [*firsts, *(row for row in others if row.key not in known)][:most]
