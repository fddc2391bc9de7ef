"""What became of the work, how it was shared out, and what was fenced off."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import Check, Findings, Reader, Renumbering
from ringhil.emulator.scenario.file.topology import GpuRef
from ringhil.emulator.scenario.file.types import CardOrGpuName, FewestAndMost, Number, Part
from ringhil.emulator.scenario.yaml.errors import listing
from ringhil.emulator.scenario.yaml.marks import Loc

RESULTS = ("completed", "lost", "duplicated")


def _check_workload(reader: Reader, loc: Loc) -> None:
    """Of no work, everything that is expected would be so."""
    if reader.workload is None:
        raise reader.source.error(loc, "there is no 'workload' in the file; it is about its units", key=True)
    if reader.workload.units == 0:
        raise reader.source.error(loc, "the workload has 0 units; it is about those that there are", key=True)


def _no_work(found: Findings) -> str | None:
    return None if found.work.units else "there was no work"


class Work(Part):
    """At least one of them."""

    completed: Number | None = Field(None, description="work units whose result was accepted")
    lost: Number | None = Field(None, description="work units whose result never came")
    duplicated: Number | None = Field(None, description="work units whose result was accepted more than once")


@dataclass(frozen=True)
class WorkIs(Check):
    """Numbers of work units; None: not checked."""

    KEY: ClassVar[str] = "work"
    FIELD: ClassVar[tuple[Any, Any]] = (Work | None, Field(None, description="numbers of work units"))

    completed: int | None
    lost: int | None
    duplicated: int | None

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: Work) -> Iterator[Self]:
        """No more than there are, where there are any."""
        work = cls(written.completed, written.lost, written.duplicated)
        if work == cls(None, None, None):
            raise reader.source.error(loc, f"nothing to check; allowed: {listing(RESULTS)}")
        _check_workload(reader, loc)
        units = reader.workload.units if reader.workload else None
        for key, found in (("completed", work.completed), ("lost", work.lost)):
            if units is not None and found is not None and found > units:
                raise reader.source.error((*loc, key), f"found {found}; the workload has {units} units")
        yield work

    @property
    def given(self) -> dict[str, int]:
        """Those that are checked."""
        return {name: n for name, n in asdict(self).items() if n is not None}

    def __str__(self) -> str:
        return "work units: " + ", ".join(f"{n} {name}" for name, n in self.given.items())

    def write(self, entry: dict[str, Any]) -> None:
        """Once in an entry."""
        if self.KEY in entry:
            raise ValueError(f"two checks about {self.KEY} in one expectation")
        entry[self.KEY] = self.given

    def untold(self, found: Findings) -> str | None:
        """The folder with the data was empty."""
        return _no_work(found)

    def differs(self, found: Findings) -> str | None:
        """The difference, by the CPU's account."""
        work = found.work
        real = {"completed": work.completed, "lost": work.units - work.completed, "duplicated": work.duplicated}
        return ", ".join(f"{name} {real[name]}" for name, n in self.given.items() if n != real[name]) or None


@dataclass(frozen=True)
class ShareIs(Check):
    """R5: units that the last split has given to the card or, with a `gpu`, that this GPU was sent since: at least
    `fewest` and at most `most`."""

    KEY: ClassVar[str] = "shares"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardOrGpuName, FewestAndMost] | None,
        Field(
            None,
            min_length=1,
            description="units that a card got by the last split, or that a GPU was sent since; "
            "two numbers: the fewest and the most (R5)",
        ),
    )

    card: str
    gpu: GpuRef | None
    fewest: int
    most: int

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: Mapping[str, Sequence[int]]) -> Iterator[Self]:
        """Of cards and GPUs that exist; no more units than there are."""
        _check_workload(reader, loc)
        units = reader.workload.units if reader.workload else None
        for name, (fewest, most) in written.items():
            place = (*loc, name)
            gpu = reader.resolver.gpu(place, name, key=True) if "." in name else None
            card = name if gpu is None else gpu.card
            if gpu is None:
                reader.resolver.card(place)
            if most < fewest:
                raise reader.source.error(place, f"found [{fewest}, {most}]; allowed is the fewest, then the most")
            if units is not None and fewest > units:
                raise reader.source.error(place, f"found {fewest}; the workload has {units} units")
            yield cls(card, gpu, fewest, most)

    def __str__(self) -> str:
        of = f"card {self.card}" if self.gpu is None else f"GPU {self.gpu}"
        units = f"{self.fewest}" if self.fewest == self.most else f"{self.fewest} to {self.most}"
        return f"share of {of} is {units} units"

    @property
    def about(self) -> str:
        """The card, or that of the GPU."""
        return self.card

    def write(self, entry: dict[str, Any]) -> None:
        """Each card and each GPU once."""
        name = self.card if self.gpu is None else str(self.gpu)
        by_name = entry.setdefault(self.KEY, {})
        if name in by_name:
            raise ValueError(f"two checks about the share of {name} in one expectation")
        by_name[name] = self.fewest if self.fewest == self.most else [self.fewest, self.most]

    def untold(self, found: Findings) -> str | None:
        """The folder with the data was empty."""
        return _no_work(found)

    def differs(self, found: Findings) -> str | None:
        """The units where they are fewer or more."""
        units = found.share(self.card) if self.gpu is None else found.sent(self.gpu)
        if self.fewest <= units <= self.most:
            return None
        return f"share of {self.gpu or f'card {self.card}'} {units}"

    def renumbered(self, new: Renumbering) -> "ShareIs | None":
        """The GPU by its new number."""
        if self.gpu is None:
            return self
        gpu = new.gpu(self.gpu)
        return None if gpu is None else replace(self, gpu=gpu)


LIMITS = ("least", "most")


class Fencing(Part):
    """At least one of them."""

    least: Number | None = Field(None, description="at least so many were refused")
    most: Number | None = Field(None, description="at most so many were refused; 0: none")


@dataclass(frozen=True)
class FencingIs(Check):
    """R10: reports, results and refusals that were fenced off; None: no limit."""

    KEY: ClassVar[str] = "fencing"
    FIELD: ClassVar[tuple[Any, Any]] = (
        Fencing | None,
        Field(None, description="messages refused because their sender held no lease, or an older one (R10)"),
    )

    least: int | None
    most: int | None

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: Fencing) -> Iterator[Self]:
        """Limits that some number keeps."""
        if written.least is None and written.most is None:
            raise reader.source.error(loc, f"nothing to check; allowed: {listing(LIMITS)}")
        if written.least is not None and written.most is not None and written.most < written.least:
            problem = f"found {written.most}; allowed is {written.least} ('least') or more"
            raise reader.source.error((*loc, "most"), problem)
        yield cls(written.least, written.most)

    @property
    def given(self) -> dict[str, int]:
        """The limits that there are."""
        return {name: n for name, n in (("least", self.least), ("most", self.most)) if n is not None}

    def __str__(self) -> str:
        return "messages fenced off: " + ", ".join(f"at {name} {n}" for name, n in self.given.items())

    def write(self, entry: dict[str, Any]) -> None:
        """Once in an entry."""
        if self.KEY in entry:
            raise ValueError(f"two checks about {self.KEY} in one expectation")
        entry[self.KEY] = self.given

    def differs(self, found: Findings) -> str | None:
        """How many there were where that is out of the limits; by the CPU's account."""
        fenced = found.work.fenced
        if (self.least or 0) <= fenced and (self.most is None or fenced <= self.most):
            return None
        return f"fenced off {fenced}"
