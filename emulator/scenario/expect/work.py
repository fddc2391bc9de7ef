"""What became of the work."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import Check, Findings
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.types import Number, Part
from ringhil.emulator.scenario.yaml.marks import Loc
from ringhil.emulator.scenario.yaml.suggest import listing

RESULTS = ("completed", "lost", "duplicated")


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
        """No more than there are."""
        work = cls(written.completed, written.lost, written.duplicated)
        if work == cls(None, None, None):
            raise reader.source.error(loc, f"nothing to check; allowed: {listing(RESULTS)}")
        units = 0 if reader.workload is None else reader.workload.units
        for key, found in (("completed", work.completed), ("lost", work.lost)):
            if units is not None and found is not None and found > units:
                has = "there is no workload" if reader.workload is None else f"the workload has {units} units"
                raise reader.source.error((*loc, key), f"found {found}; {has}")
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

    def differs(self, found: Findings) -> str | None:
        """The difference, by the CPU's account."""
        work = found.work
        real = {"completed": work.completed, "lost": work.units - work.completed, "duplicated": work.duplicated}
        return ", ".join(f"{name} {real[name]}" for name, n in self.given.items() if n != real[name]) or None
