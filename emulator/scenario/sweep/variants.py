"""The variants of a scenario file: one for each combination of the parameters that it sweeps."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ringhil.emulator.scenario.file.check import check
from ringhil.emulator.scenario.file.scenario import Scenario
from ringhil.emulator.scenario.sweep.domains import problem_with
from ringhil.emulator.scenario.sweep.sweep import Sweep, is_swept
from ringhil.emulator.scenario.sweep.templates import SWEEP
from ringhil.emulator.scenario.yaml.errors import ScenarioError, listing, quoted, unknown
from ringhil.emulator.scenario.yaml.marks import Source


@dataclass(frozen=True)
class Variant:
    """One scenario of a file; `parameters` are names and values as text, in the order of `sweep`."""

    number: int
    parameters: tuple[tuple[str, str], ...]
    scenario: Scenario

    @property
    def text(self) -> str:
        """`gpu=a.3,at=2000`, which `Variants.find` takes; nothing when the file has no sweep."""
        return _text(self.parameters)


class Variants:
    """All variants of a file, made when asked for; iteration, indexing and `find` may raise ScenarioError.

    `name` is the scenario's unless the file says one; relative data paths start at `folder`.
    """

    def __init__(self, path: Path, source: Source, *, name: str, folder: Path) -> None:
        self.path = path
        self._source, self._name, self._folder = source, name, folder
        self._sweep = Sweep(source) if is_swept(source) else None
        self[0]  # most mistakes are in all of them: they are found at once

    def __len__(self) -> int:
        return 1 if self._sweep is None else len(self._sweep.rows)

    def __getitem__(self, number: int) -> Variant:
        if number not in range(-len(self), len(self)):
            raise IndexError(number)
        number %= len(self)
        if self._sweep is None:
            return Variant(0, (), self._check(self._source))
        parameters = self._sweep.parameters(self._sweep.rows[number])
        scenario = self._scenario(number)
        which = ", ".join(f"{name}={value}" for name, value in parameters)
        return Variant(number, parameters, replace(scenario, name=f"{scenario.name} [{which}]"))

    def __iter__(self) -> Iterator[Variant]:
        return (self[number] for number in range(len(self)))

    def find(self, text: str) -> Variant:
        """The variant with these parameters, such as `gpu=a.3,at=2000`; some may be left out when one is meant.

        Raises ScenarioError when there is none, or several.
        """
        if self._sweep is None:
            raise self._no_variant(text, "the file has no sweep")
        wanted: dict[str, str] = {}
        for part in text.split(","):
            name, equals, value = part.strip().partition("=")
            if name not in self._sweep.names:
                raise self._no_variant(text, unknown("parameter", name, self._sweep.names))
            if not equals or name in wanted:
                raise self._no_variant(text, "allowed is each parameter once, such as " + _text(self._first()))
            wanted[name] = value
        found = [n for n, row in enumerate(self._sweep.rows) if wanted.items() <= set(self._sweep.parameters(row))]
        if not found:
            raise self._no_variant(text, f"there is none among {len(self):,}, such as {_text(self._first())}")
        if len(found) > 1:
            open_ = listing(name for name in self._sweep.names if name not in wanted)
            raise self._no_variant(text, f"{len(found):,} variants; to choose one, say {open_}")
        return self[found[0]]

    def only(self) -> Scenario:
        """The scenario of a file without a sweep; raises ScenarioError when it has one."""
        if self._sweep is not None:
            many = "1 variant" if len(self) == 1 else f"{len(self):,} variants"
            problem = (
                f"the file has {many}, and one scenario is wanted; `ringhil verify` plays them all, "
                f"and load_variants(path).find({_text(self._first())!r}) is one of them"
            )
            raise self._source.error((SWEEP,), problem, key=True)
        return self._check(self._source)

    def _first(self) -> tuple[tuple[str, str], ...]:
        assert self._sweep is not None
        return self._sweep.parameters(self._sweep.rows[0])

    def _no_variant(self, text: str, problem: str) -> ScenarioError:
        place = (SWEEP,) if self._sweep is not None else ()
        return self._source.error(place, f"no variant {quoted(text)}: {problem}")

    def _check(self, source: Source) -> Scenario:
        return check(source, name=self._name, folder=self._folder)

    def _scenario(self, number: int) -> Scenario:
        """An error that other variants don't have names the parameters of this one."""
        try:
            return self._filled(number)
        except ScenarioError as error:
            other = 0 if number else len(self) - 1
            if other == number:
                raise
            try:
                self._filled(other)
            except ScenarioError as same:
                if str(same) == str(error):
                    raise error from None
            assert self._sweep is not None
            raise problem_with(error, _text(self._sweep.parameters(self._sweep.rows[number]))) from None

    def _filled(self, number: int) -> Scenario:
        assert self._sweep is not None
        return self._check(self._sweep.variant(self._sweep.rows[number]))


def _text(parameters: tuple[tuple[str, str], ...]) -> str:
    return ",".join(f"{name}={value}" for name, value in parameters)
