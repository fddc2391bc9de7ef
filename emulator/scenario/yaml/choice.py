"""Keys that exclude one another."""

from collections.abc import Sequence
from typing import TypeVar

from ringhil.emulator.scenario.yaml.errors import quoted
from ringhil.emulator.scenario.yaml.marks import Loc, Source
from ringhil.emulator.scenario.yaml.suggest import listing

Key = TypeVar("Key", bound=str)


def exactly_one(source: Source, loc: Loc, keys: Sequence[Key]) -> Key:
    """The one of `keys` that the mapping at `loc` has; raises ScenarioError unless it has exactly one."""
    given = sorted((key for key in keys if (*loc, key) in source.keys), key=lambda key: source.keys[(*loc, key)])
    if len(given) == 1:
        return given[0]
    allowed = f"allowed is exactly one of {listing(keys)}"
    if not given:
        raise source.error(loc, f"none of the keys that say which; {allowed}")
    problem = f"key {quoted(given[1])} beside {quoted(given[0])}; {allowed}"
    raise source.error((*loc, given[1]), problem, key=True)
