"""The work that a CPU is given."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Workload:
    """`units` work units of `size` bytes each, or the file `data` cut into units of at most `size` bytes.

    Exactly one of `units` and `data` is set. `across`: percent of the units that enter the server by another
    card's entry GPU and so cross boundary links.
    """

    units: int | None
    data: Path | None
    size: int
    across: int = 0
