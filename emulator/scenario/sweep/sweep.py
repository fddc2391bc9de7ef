"""The `sweep` of a file: its parameters and all combinations of their values, the first parameter slowest.

A parameter may depend on those before it: `{from: 0, to: "${n - 1}"}`, or `{gpus: a}` with the card's size swept.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from ringhil.emulator.scenario.file import names
from ringhil.emulator.scenario.sweep.domains import Domain, Domains, problem_with
from ringhil.emulator.scenario.sweep.expression import Value, as_text
from ringhil.emulator.scenario.sweep.templates import SWEEP, Templates
from ringhil.emulator.scenario.yaml.errors import ScenarioError, quoted, shown, unknown
from ringhil.emulator.scenario.yaml.marks import Loc, Source

MAX_VARIANTS = 100_000
MAX_PARAMETERS = 20

Row = tuple[Value, ...]


def is_swept(source: Source) -> bool:
    """Whether the file has a sweep."""
    return isinstance(source.data, dict) and SWEEP in source.data


class Sweep:
    """The sweep of the file in `source`, which has one. Raises ScenarioError."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.names = _parameters(source)
        self._templates = Templates(source)
        self._check_names()
        self._depends = {name: self._dependencies(name) for name in self.names}
        self._domains: dict[tuple[str, Row], Domain] = {}
        self.rows = self._rows()  # the values of each variant, in the order of `names`

    def _rows(self) -> list[Row]:
        rows: list[Row] = [()]
        for level, name in enumerate(self.names):
            if self._depends[name]:
                domains = [self._domain(name, row) for row in rows]
                number = sum(domain.size for domain in domains)
            else:
                domains = [self._domain(name, ())] * len(rows)
                number = domains[0].size * len(rows)
            if number > MAX_VARIANTS:
                raise self._too_many(number, self.names[level + 1 :])
            rows = [(*row, value) for row, domain in zip(rows, domains, strict=True) for value in domain.values()]
        return rows

    def _too_many(self, number: int, later: Sequence[str]) -> ScenarioError:
        """`number` for the parameters so far."""
        least = ""
        for name in later:
            if self._depends[name]:
                least = "at least "
            else:
                number *= self._domain(name, ()).size
        many = f"{least}{number:,}" if number < 10**15 else "more than 10^15"
        return self.source.error((SWEEP,), f"{many} variants; allowed are at most {MAX_VARIANTS:,}")

    def variant(self, row: Row) -> Source:
        """The file with these values filled in."""
        return self._templates.variant(dict(zip(self.names, row, strict=True)))

    def parameters(self, row: Row) -> tuple[tuple[str, str], ...]:
        """Names and values as text."""
        return tuple((name, as_text(value)) for name, value in zip(self.names, row, strict=False))

    def _domain(self, name: str, row: Sequence[Value]) -> Domain:
        """The values of a parameter; `row` are those of the ones before it, or of none if it depends on none."""
        key = name, tuple(v for n, v in zip(self.names, row, strict=False) if n in self._depends[name])
        if key not in self._domains:
            if len(self._domains) >= MAX_VARIANTS:
                problem = f"it depends on those before it in more ways than are looked at, {MAX_VARIANTS:,} in all"
                raise self.source.error((SWEEP, name), problem)
            self._domains[key] = self._read(name, dict(zip(self.names, row, strict=False)))
        return self._domains[key]

    def _read(self, name: str, values: dict[str, Value]) -> Domain:
        loc: Loc = (SWEEP, name)
        relevant = ", ".join(f"{n}={as_text(v)}" for n, v in values.items() if n in self._depends[name])

        def part(place: Loc) -> object:
            for used in self._sizes if place[-1] == "cards" else self._ends:
                if used not in values:
                    problem = f"this needs parameter {quoted(used)}, which comes later in 'sweep'; put it first"
                    raise self.source.error(loc, problem)
            return self._cards(values) if place[-1] == "cards" else self._templates.filled(values, place)

        try:
            filled = replace(self.source, data={SWEEP: {name: self._templates.filled(values, loc)}})
            domain = Domains(filled, loc, part).read()
            if not domain.size:
                raise self.source.error(loc, "no value at all; allowed is at least one")
        except ScenarioError as error:
            raise problem_with(error, relevant) if relevant else error from None
        return domain

    @cached_property
    def _sizes(self) -> set[str]:
        """The parameters that sizes of cards are written with."""
        below = self._templates.below(("server", "cards"))
        return {name for loc, _, found in below if loc[3:] == ("gpus",) for name in found.names}

    @cached_property
    def _ends(self) -> set[str]:
        """The parameters that links between cards are written with."""
        return self._templates.names(("server", "boundary_links"))

    def _cards(self, values: dict[str, Value]) -> dict[str, object]:
        """The cards, of which only the sizes are filled in: the rest may take parameters that come later."""
        cards = self.source.found(("server", "cards"))
        if not isinstance(cards, dict):
            return {}
        return {
            name: {"gpus": self._templates.filled(values, ("server", "cards", name, "gpus"))}
            for name, card in cards.items()
            if isinstance(card, dict) and "gpus" in card
        }

    def _dependencies(self, name: str) -> frozenset[str]:
        loc: Loc = (SWEEP, name)
        found = self._templates.names(loc)
        data = self.source.found(loc)
        if isinstance(data, dict):
            found |= self._ends if "boundary_links" in data else set()
            found |= self._sizes if data.keys() & {"gpus", "links", "choose"} else set()
        return frozenset(found) & frozenset(self.names[: self.names.index(name)])

    def _check_names(self) -> None:
        used: set[str] = set()
        for loc, is_key, found in self._templates.below(()):
            before = self.names[: self.names.index(str(loc[1]))] if loc[0] == SWEEP else self.names
            for name in sorted(found.names):
                if name not in self.names:
                    raise self.source.error(loc, unknown("parameter", name, self.names), key=is_key)
                if name not in before:
                    problem = f"parameter {quoted(name)} has no value yet; allowed are those before this one"
                    raise self.source.error(loc, problem, key=is_key)
            used |= found.names
        for name in self.names:
            if name not in used:
                problem = f"parameter {quoted(name)} is used nowhere; write ${{{name}}} where its values belong"
                raise self.source.error((SWEEP, name), problem, key=True)


def _parameters(source: Source) -> tuple[str, ...]:
    sweep = source.found((SWEEP,))
    if not isinstance(sweep, dict) or not sweep:
        raise source.error((SWEEP,), f"found {shown(sweep)}; allowed is a mapping of parameters to their values")
    for name in sweep:
        if not names.IS_PARAMETER.fullmatch(name):
            problem = f"key {quoted(name)}; allowed is {names.IN_WORDS[names.PARAMETER]}"
            raise source.error((SWEEP, name), problem, key=True)
    if len(sweep) > MAX_PARAMETERS:
        raise source.error((SWEEP,), f"{len(sweep)} parameters; allowed are {MAX_PARAMETERS}")
    return tuple(sweep)
