"""How much of the work a card or a GPU got."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import Field

from ringhil.emulator.scenario.expect.check import Check, Findings, Renumbering
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file.topology import GpuRef
from ringhil.emulator.scenario.file.types import CardOrGpuName, FewestAndMost
from ringhil.emulator.scenario.yaml.marks import Loc


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
        units = 0 if reader.workload is None else reader.workload.units
        for name, (fewest, most) in written.items():
            place = (*loc, name)
            gpu = reader.resolver.gpu(place, name, key=True) if "." in name else None
            card = name if gpu is None else gpu.card
            if gpu is None:
                reader.resolver.card(place)
            if most < fewest:
                raise reader.source.error(place, f"found [{fewest}, {most}]; allowed is the fewest, then the most")
            if units is not None and fewest > units:
                has = "there is no workload" if reader.workload is None else f"the workload has {units} units"
                raise reader.source.error(place, f"found {fewest}; {has}")
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

    def differs(self, found: Findings) -> str | None:
        """The units where they are fewer or more."""
        units = found.share(self.card) if self.gpu is None else found.sent(self.gpu)
        if self.fewest <= units <= self.most:
            return None
        return f"share of {self.gpu or self.card} {units}"

    def renumbered(self, new: Renumbering) -> "ShareIs | None":
        """The GPU by its new number."""
        if self.gpu is None:
            return self
        gpu = new.gpu(self.gpu)
        return None if gpu is None else replace(self, gpu=gpu)
