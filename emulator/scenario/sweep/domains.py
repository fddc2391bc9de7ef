"""The values that a parameter takes: numbers, GPUs, links or sets of GPUs, as `sweep` says."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from ringhil.emulator.scenario.file import names
from ringhil.emulator.scenario.file.explain import allowed, explain
from ringhil.emulator.scenario.file.schema import part_schema
from ringhil.emulator.scenario.file.topology import GpuRef, LinkRef
from ringhil.emulator.scenario.file.types import Part
from ringhil.emulator.scenario.sweep import model as model_sweep
from ringhil.emulator.scenario.sweep.expression import Value, as_text
from ringhil.emulator.scenario.yaml.errors import ScenarioError, listing, quoted, shown, unknown
from ringhil.emulator.scenario.yaml.marks import Loc, Source
from ringhil.protocol.wire import MAX_RING


@dataclass(frozen=True)
class Domain:
    """The values of a parameter: those `of` a list or range, or all sets of them with `number` members.

    How many there are is known before they are made: there may be too many.
    """

    of: Sequence[Value]
    sets: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        if self.sets is not None:
            return sum(math.comb(len(self.of), number) for number in self.sets)
        if isinstance(self.of, range):  # whose len() ends at 63 bits
            return max(0, (self.of.stop - 1 - self.of.start) // self.of.step + 1)
        return len(self.of)

    def values(self) -> Iterator[Value]:
        """The values in the order of the file."""
        if self.sets is None:
            return iter(self.of)
        names = list(map(as_text, self.of))
        return itertools.chain.from_iterable(itertools.combinations(names, number) for number in self.sets)


class Domains:
    """Reads the domain of one parameter, at `loc` of `source`, where everything has been filled in.

    `part` gives a part of the server, filled in as well. Every method raises ScenarioError.
    """

    def __init__(self, source: Source, loc: Loc, part: Callable[[Loc], object]) -> None:
        self.source, self.loc, self.part = source, loc, part

    def read(self) -> Domain:
        data = self.source.found(self.loc)
        if isinstance(data, list):
            return self._listed(data)
        if not isinstance(data, dict):
            raise self.source.error(self.loc, f"found {shown(data)}; allowed is {allowed(self.loc)}")
        match self._written(data):
            case model_sweep.Range() as written:
                return Domain(range(written.from_, written.to + 1, written.step))
            case model_sweep.Gpus() as written:
                return Domain(self._gpus(("gpus",), written.gpus, written.except_))
            case model_sweep.RingLinks() as written:
                size = self._size(("links",), written.links)
                return Domain([str(LinkRef(written.links, i, size)) for i in range(size)])
            case model_sweep.BoundaryLinks():
                return Domain(self._boundary_links())
            case model_sweep.Choose() as written:
                return self._sets(written.choose)
        raise AssertionError(data)

    def _written(self, data: Mapping[str, object]) -> Part:
        given = [key for key in data if key in model_sweep.DOMAINS]
        if not given:
            problem = f"found {shown(data)}; allowed is a list of values or exactly one of these keys with its own: "
            raise self.source.error(self.loc, problem + listing(model_sweep.KINDS))
        first = next((key for key in given if key in model_sweep.KINDS), given[0])
        kind = model_sweep.DOMAINS[first]
        try:
            return kind.model_validate(data)
        except ValidationError as error:
            raise explain(error, self.source, self.loc, part_schema(kind.__name__)) from None

    def _listed(self, data: Sequence[object]) -> Domain:
        found: dict[str, Value] = {}
        for i, item in enumerate(data):
            place = (*self.loc, i)
            text = as_text(self._scalar(place, item))
            if text in found:
                raise self.source.error(place, f"{quoted(text)} stands here twice; each may once")
            found[text] = self._scalar(place, item)
        return Domain(list(found.values()))

    def _scalar(self, place: Loc, item: object) -> Value:
        match item:
            case None | bool():
                return item
            case int() if abs(item) <= model_sweep.MAX_NUMBER:
                return item
            case str() if names.SWEPT.fullmatch(item):
                return item
        raise self.source.error(place, f"found {shown(item)}; allowed is {allowed(place)}")

    def _size(self, key: Loc, card: str) -> int:
        """Number of GPUs of a card; `key` is where its name stands."""
        place: Loc = ("server", "cards")
        cards = self.part(place)
        known = cards if isinstance(cards, dict) else {}
        if card not in known:
            raise self.source.error((*self.loc, *key), unknown("card", card, known))
        place = (*place, card, "gpus")
        size = known[card].get("gpus") if isinstance(known[card], dict) else None
        if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= MAX_RING:
            raise self.source.error(place, f"found {shown(size)}; allowed is {allowed(place)}")
        return size

    def _gpus(self, key: Loc, card: str, left_out: Sequence[str] | None) -> list[str]:
        gpus = dict.fromkeys(str(GpuRef(card, i)) for i in range(self._size(key, card)))
        for i, name in enumerate(left_out or ()):
            if name not in gpus:
                first, *_, last = gpus
                problem = f"unknown GPU {quoted(name)}; card {card} has {first} .. {last}"
                raise self.source.error((*self.loc, *key[:-1], "except", i), problem)
        for name in left_out or ():
            gpus.pop(name, None)
        return list(gpus)

    def _boundary_links(self) -> list[str]:
        links: list[str] = []
        place: Loc = ("server", "boundary_links")
        data = self.part(place)
        for link in data if isinstance(data, list) else []:
            sides = [link.get(side) if isinstance(link, dict) else None for side in ("from", "to")]
            from_, to = ([side] if isinstance(side, str) else side for side in sides)
            if isinstance(from_, list) and isinstance(to, list):  # anything else is refused with the server
                links += [f"{a}-{b}" for a, b in zip(from_, to, strict=False)]
        return links

    def _sets(self, written: model_sweep.Sets) -> Domain:
        gpus = self._gpus(("choose", "gpus"), written.gpus, written.except_)
        for i, number in enumerate(written.number):
            place = (*self.loc, "choose", "number", i)
            if number > len(gpus):
                raise self.source.error(place, f"found {number}; there are {len(gpus)} GPUs to choose from")
            if number in written.number[:i]:
                raise self.source.error(place, f"{number} stands here twice; each may once")
        return Domain(gpus, tuple(written.number))


def problem_with(error: ScenarioError, values: str) -> ScenarioError:
    """The same error, which is one with these values only."""
    return ScenarioError(error.path, error.line, error.column, f"{error.problem} (with {values})")
