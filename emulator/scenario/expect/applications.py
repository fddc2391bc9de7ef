"""How an application that shares a GPU fares."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import Check, Findings, Reader
from ringhil.emulator.scenario.file.types import CardName, Number, Part
from ringhil.emulator.scenario.yaml.errors import listing, unknown
from ringhil.emulator.scenario.yaml.marks import Loc

RESULTS = ("failed", "steps", "memory")


class ApplicationResult(Part):
    """At least one of them."""

    failed: bool | None = Field(
        None, description="whether it has ended early: before its steps were all done, or while it did them again"
    )
    steps: Number | None = Field(None, description="steps that it has done, with those that it did again")
    memory: Number | None = Field(None, description="pages that it held at most")


@dataclass(frozen=True)
class ApplicationIs(Check):
    """One application, by its name; None: not checked."""

    KEY: ClassVar[str] = "applications"
    FIELD: ClassVar[tuple[Any, Any]] = (
        dict[CardName, ApplicationResult] | None,
        Field(None, min_length=1, description="application to what has become of it"),
    )

    name: str
    failed: bool | None
    steps: int | None
    memory: int | None

    @classmethod
    def read(cls, reader: Reader, loc: Loc, written: Mapping[str, ApplicationResult]) -> Iterator[Self]:
        """Of those that there are."""
        for name, result in written.items():
            if name not in reader.applications:
                raise reader.source.error((*loc, name), unknown("application", name, reader.applications), key=True)
            check = cls(name, result.failed, result.steps, result.memory)
            if not check.given:
                raise reader.source.error((*loc, name), f"nothing to check; allowed: {listing(RESULTS)}")
            yield check

    @property
    def given(self) -> dict[str, int | bool]:
        """What is checked."""
        return {name: value for name, value in asdict(self).items() if name != "name" and value is not None}

    def __str__(self) -> str:
        return f"application {self.name}: " + ", ".join(f"{name} {_word(value)}" for name, value in self.given.items())

    def write(self, entry: dict[str, Any]) -> None:
        """Each application once."""
        by_name = entry.setdefault(self.KEY, {})
        if self.name in by_name:
            raise ValueError(f"two checks about {self.name} in one expectation")
        by_name[self.name] = self.given

    def differs(self, found: Findings) -> str | None:
        """The difference, by its own account."""
        it = found.application(self.name)
        real = {"failed": it.failed is not None, "steps": it.steps, "memory": it.memory}
        wrong = [f"{name} {_word(real[name])}" for name, value in self.given.items() if value != real[name]]
        why = f" ({it.failed})" if it.failed is not None and "failed" in self.given else ""
        return ", ".join(wrong) + why if wrong else None


def _word(value: int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
