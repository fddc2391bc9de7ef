"""What became of the work, counted a second time: `docs/reference/host.md` says what each number counts."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from ringhil.emulator.host.work.accepting import WorkCount
from ringhil.emulator.judge.findings import say


@dataclass
class Recount:
    """The numbers that the judge knows of itself, under the CPU's names."""

    resent: int = 0
    refused: int = 0
    wrong: int = 0
    late: int = 0
    crossed: int = 0

    def differs(self, books: WorkCount) -> Iterator[str]:
        """Where the CPU's books say something else."""
        for name in (field.name for field in fields(self)):
            said, happened = getattr(books, name), getattr(self, name)
            if said != happened:
                yield say("the CPU's books say {} {}; it was {expected}", said, name, expected=happened)
