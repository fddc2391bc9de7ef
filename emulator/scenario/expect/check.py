"""The shape of a check: one class in one file says how it stands in a file, what it means, and when it holds."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from keyword import iskeyword
from typing import Any, ClassVar, Protocol, Self

from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.topology import Card, GpuRef, LinkRef, Workload
from ringhil.emulator.scenario.yaml.marks import Loc, Source


@dataclass(frozen=True)
class Reader:
    """Reads the checks of one file."""

    source: Source
    resolver: Resolver
    workload: Workload | None
    applications: Sequence[str] = ()
    switches: bool = False  # tasks follow one another

    def indices(self, loc: Loc, card: Card, indices: Sequence[int]) -> tuple[int, ...]:
        """Indices of GPUs of a card, each once; ascending. Raises ScenarioError."""
        for i, index in enumerate(indices):
            self.resolver.index((*loc, i), card, index)
        seen = set[int]()
        for i, index in enumerate(indices):
            if index in seen:
                raise self.source.error((*loc, i), f"GPU {index} stands here twice; each may once")
            seen.add(index)
        return tuple(sorted(seen))


class CardFound(Protocol):
    """What the CPU knows of a card."""

    @property
    def known(self) -> bool: ...
    @property
    def count(self) -> int: ...
    @property
    def members(self) -> tuple[int, ...]: ...
    @property
    def reachable(self) -> bool: ...
    @property
    def entry(self) -> int | None: ...
    @property
    def epoch(self) -> int: ...
    @property
    def stranded(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def suspects(self) -> tuple[int, ...]: ...
    @property
    def slow_link(self) -> int | None: ...
    @property
    def noisy_link(self) -> int | None: ...


class WorkFound(Protocol):
    """What the CPU knows of the work, in units."""

    @property
    def units(self) -> int: ...
    @property
    def completed(self) -> int: ...
    @property
    def duplicated(self) -> int: ...
    @property
    def fenced(self) -> int: ...


class ApplicationFound(Protocol):
    """How an application fares; `failed`: why it has ended early. `memory`: pages that it held at most."""

    @property
    def failed(self) -> str | None: ...
    @property
    def steps(self) -> int: ...
    @property
    def memory(self) -> int: ...


class SwitchingFound(Protocol):
    """What tasks that follow one another have cost so far; None: can't be told yet. `memory`: bytes."""

    @property
    def policy(self) -> str: ...
    @property
    def overhead_ms(self) -> float | None: ...
    @property
    def latency_ms(self) -> float | None: ...

    @property
    def utilisation(self) -> float | None: ...
    @property
    def memory(self) -> int: ...
    @property
    def refused(self) -> int: ...


class Findings(Protocol):
    """What a check may ask of a run; cards by their names."""

    @property
    def work(self) -> WorkFound: ...
    def card(self, name: str) -> CardFound: ...
    def breaks(self, card: str) -> tuple[LinkRef, ...]: ...
    def boundaries(self, card: str) -> Mapping[str, str]: ...
    def isolated(self, card: str) -> tuple[int, ...]: ...
    def lent(self, card: str) -> tuple[int, ...]: ...
    def untrue(self, card: str) -> str | None: ...
    def share(self, card: str) -> int: ...
    def sent(self, gpu: GpuRef) -> int: ...
    def application(self, name: str) -> ApplicationFound: ...
    def switching(self) -> SwitchingFound | None: ...


class Renumbering(Protocol):
    """Old GPUs to new ones, when some are left out."""

    def gpu(self, gpu: GpuRef) -> GpuRef | None: ...
    def link(self, link: LinkRef) -> LinkRef | None: ...
    def indices(self, card: str, indices: tuple[int, ...]) -> tuple[int, ...]: ...
    def gone(self, card: str) -> int: ...


class Check(ABC):
    """`KEY`: under which it stands in an entry of `expect`. `FIELD`: type and pydantic field of what stands there."""

    KEY: ClassVar[str]
    FIELD: ClassVar[tuple[Any, Any]]

    @classmethod
    def attribute(cls) -> str:
        """The name of the field in Python."""
        return f"{cls.KEY}_" if iskeyword(cls.KEY) else cls.KEY

    @classmethod
    @abstractmethod
    def read(cls, reader: Reader, loc: Loc, written: Any) -> Iterator[Self]:
        """The checks that `written`, at the place `loc` of the file, means. Raises ScenarioError."""

    @abstractmethod
    def __str__(self) -> str:
        """What is expected, for people."""

    @abstractmethod
    def differs(self, found: Findings) -> str | None:
        """None when it holds, otherwise what was found."""

    def untold(self, found: Findings) -> str | None:
        """Why this run can't tell whether it holds."""
        return None

    @abstractmethod
    def write(self, entry: dict[str, Any]) -> None:
        """Put it into an entry of `expect`. Raises ValueError when no entry can say it beside what is there."""

    @property
    def about(self) -> str | None:
        """The card that it speaks of."""
        return None

    def renumbered(self, new: Renumbering) -> "Check | None":
        """The same when GPUs are left out; None: there is nothing left of it."""
        return self


@dataclass(frozen=True)
class CardCheck(Check):
    """A check of one card; in the file it stands by the card's name."""

    card: str

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: Mapping[str, Any]) -> Iterator[Self]:
        """One of each card, or more."""
        for name, value in written.items():
            place = (*loc, name)
            yield from cls.of(reader, place, reader.resolver.card(place), value)

    @classmethod
    @abstractmethod
    def of(cls, reader: Reader, loc: Loc, card: Card, value: Any) -> Iterator[Self]:
        """The checks of one card. Raises ScenarioError."""

    @property
    @abstractmethod
    def value(self) -> object:
        """What stands in the file."""

    def write(self, entry: dict[str, Any]) -> None:
        """Each card once."""
        by_card = entry.setdefault(self.KEY, {})
        if self.card in by_card:
            raise ValueError(f"two checks about {self.card} in one expectation")
        by_card[self.card] = self.value

    @property
    def about(self) -> str:
        """The card."""
        return self.card


def unheard(found: Findings, card: str) -> str | None:
    """Before its first report nothing is known of a card; not even that nothing is wrong with it."""
    return None if found.card(card).known else f"no report of card {card} yet"


class When(StrEnum):
    """When an expectation has to hold."""

    AT = "at"  # at a cycle
    BY = "by"  # at some time up to a cycle
    END = "end"  # at the end of the run
    ALWAYS = "always"  # at every cycle


@dataclass(frozen=True)
class Expectation:
    """Checks that hold together, `at` a cycle, `by` a cycle at the latest, at the `end` of the run, or `always`.

    `cycle` is for `at` and `by`, None otherwise. `since` and `until` are for `always`: cycles from which and up to
    which it has to hold; 0: from the first accepted count of every card that it names, None: to the end of the run.
    `line` is where it stands in the file; it makes no difference.
    """

    kind: When
    cycle: int | None
    checks: tuple[Check, ...]
    line: int = field(compare=False)
    since: int = 0
    until: int | None = None
