"""How many messages the CPU has refused because their sender held no lease, or an older one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import Check, Findings
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.types import Number, Part
from ringhil.emulator.scenario.yaml.marks import Loc
from ringhil.emulator.scenario.yaml.suggest import listing

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
