"""All `${...}` of a file: found once, filled in for each variant without reading the text again."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ringhil.emulator.scenario.sweep.expression import ExpressionError, Template, Value, Values, template
from ringhil.emulator.scenario.yaml.errors import quoted
from ringhil.emulator.scenario.yaml.marks import Loc, Position, Source

SWEEP = "sweep"


@dataclass
class Templates:
    """The templates of the file in `source`; `touched` are the places at or below which there is one."""

    source: Source
    values: dict[Loc, Template] = field(default_factory=dict)
    keys: dict[Loc, Template] = field(default_factory=dict)
    touched: set[Loc] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Raises ScenarioError for an expression that is none."""
        self._find(self.source.data, ())

    def _find(self, node: object, loc: Loc) -> None:
        match node:
            case dict():
                for key, child in node.items():
                    if _is_name((*loc, key)):
                        self._take(self.keys, key, (*loc, key), key=True)
                    self._find(child, (*loc, key))
            case list():
                for i, child in enumerate(node):
                    self._find(child, (*loc, i))
            case str():
                self._take(self.values, node, loc)

    def _take(self, into: dict[Loc, Template], text: str, loc: Loc, *, key: bool = False) -> None:
        try:
            found = template(text)
        except ExpressionError as error:
            raise self.source.error(loc, str(error), key=key) from None
        if found is not None:
            into[loc] = found
            self.touched |= {loc[:n] for n in range(len(loc) + 1)}

    def below(self, start: Loc) -> Iterator[tuple[Loc, bool, Template]]:
        """The templates at or below a place: where, whether it is the key there, and what."""
        for is_key, found in ((True, self.keys), (False, self.values)):
            for loc, one in found.items():
                if loc[: len(start)] == start:
                    yield loc, is_key, one

    def names(self, start: Loc) -> set[str]:
        """The parameters used at or below a place."""
        return {name for _, _, one in self.below(start) for name in one.names}

    def filled(self, values: Values, start: Loc = ()) -> object:
        """The data at a place with values filled in. Raises ScenarioError."""
        return _Filling(self, values).node(self.source.found(start), start, start)

    def variant(self, values: Values) -> Source:
        """The file with values filled in and without its sweep. Raises ScenarioError."""
        assert isinstance(self.source.data, dict)
        rest = {key: child for key, child in self.source.data.items() if key != SWEEP}
        filling = _Filling(self, values)
        data = filling.node(rest, (), ())
        if not filling.moved_values:
            return replace(self.source, data=data)
        marks = {**self.source.values, **filling.moved_values}
        return replace(self.source, data=data, values=marks, keys={**self.source.keys, **filling.moved_keys})


def _is_name(loc: Loc) -> bool:
    """Whether the key there is the name of a card or a GPU's index, and no word of the format."""
    match loc:
        case ("server", "cards", _) | ("server", "cards", _, "types" | "weights", _):
            return True
        case ("expect", int(), what, _):
            return what != "work"
    return False


class _Filling:
    """One variant; `moved_*` are the marks of what stands under a key that has been filled in."""

    def __init__(self, templates: Templates, values: Values) -> None:
        self.templates, self.values = templates, values
        self.source = templates.source
        self.moved_values: dict[Loc, Position] = {}
        self.moved_keys: dict[Loc, Position] = {}

    def node(self, node: object, loc: Loc, to: Loc) -> object:
        """What stands at `loc` in the file, filled in for `to`."""
        if to != loc:
            self.moved_values[to] = self.source.values[loc]
        elif loc not in self.templates.touched:
            return node
        match node:
            case dict():
                return self._mapping(node, loc, to)
            case list():
                return [self.node(child, (*loc, i), (*to, i)) for i, child in enumerate(node)]
        found = self.templates.values.get(loc)
        if found is None:
            return node
        try:
            value: Value = found.value(self.values)
        except ExpressionError as error:
            raise self.source.error(loc, str(error)) from None
        return list(value) if isinstance(value, tuple) else value

    def _mapping(self, node: dict[str, object], loc: Loc, to: Loc) -> dict[str, object]:
        filled: dict[str, object] = {}
        for key, child in node.items():
            place = (*loc, key)
            name = self._key(key, place)
            if name in filled:
                raise self.source.error(place, f"duplicate key {quoted(name)}", key=True)
            if (*to, name) != place:
                self.moved_keys[(*to, name)] = self.source.keys[place]
            filled[name] = self.node(child, place, (*to, name))
        return filled

    def _key(self, key: str, place: Loc) -> str:
        found = self.templates.keys.get(place)
        if found is None:
            return key
        try:
            return found.text(self.values)
        except ExpressionError as error:
            raise self.source.error(place, str(error), key=True) from None
