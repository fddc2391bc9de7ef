"""Plain data from a file, and the line and column of every key and value in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ringhil.emulator.errors import printable
from ringhil.emulator.scenario.yaml.errors import ScenarioError, listing, quoted

Loc = tuple[str | int, ...]


class Position(NamedTuple):
    """A place in the text; both count from 1."""

    line: int
    column: int


def place_after(text: str) -> Position:
    """The place where the character that follows `text` stands."""
    lines = text.split("\n")
    return Position(len(lines), len(lines[-1]) + 1)


@dataclass(frozen=True)
class Source:
    """Parsed file: `data` of dicts with text keys, lists and scalars; marks by place in the data."""

    path: str
    data: object
    values: dict[Loc, Position]
    keys: dict[Loc, Position]

    def found(self, loc: Loc) -> object:
        """The data at `loc`, or None."""
        here: Any = self.data
        for step in loc:
            if isinstance(step, int) and not isinstance(here, list):
                return here  # a single value stands for a list of one
            try:
                here = here[step]
            except (KeyError, IndexError, TypeError):
                return None
        return here

    def mark(self, loc: Loc, *, key: bool = False) -> Position:
        """The place at which the value at `loc`, or its key, begins."""
        return self.keys[loc] if key else self.values[self._known(loc)]

    def error(self, loc: Loc, problem: str, *, key: bool = False) -> ScenarioError:
        """The error to raise about the value at `loc`, or about its key, which is part of what is around."""
        where = loc[:-1] if key else self._known(loc)
        return ScenarioError(self.path, *self.mark(loc, key=key), f"{spell(where)}: {problem}")

    def _known(self, loc: Loc) -> Loc:
        # A single value may stand for a list of one: then its item has no place of its own.
        while loc not in self.values:
            loc = loc[:-1]
        return loc


def spell(loc: Loc) -> str:
    """`("timeline", 0, "gpu")` as `timeline[0].gpu`."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if len(step) <= 40 else step[:40] + "...")
    return printable(text) or "top level"


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
