"""What checks need to be read: the file, the server in it, its work, the names of its applications."""

from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.topology import Card
from ringhil.emulator.scenario.file.workload import Workload
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
