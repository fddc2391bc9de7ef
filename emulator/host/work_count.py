"""What became of the work, in numbers."""

from dataclasses import dataclass


@dataclass
class WorkCount:
    """The CPU's books; `docs/reference/host.md` says what each number counts."""

    units: int = 0
    completed: int = 0
    duplicated: int = 0  # results accepted for a unit that was already done: must stay 0
    resent: int = 0  # attempts beyond the first
    refused: int = 0
    wrong: int = 0  # results that were not what the CPU computed
    late: int = 0  # results of units that were done by then
    fenced: int = 0  # frames refused: not from the entry GPU of the present epoch
    crossed: int = 0  # units that were sent by way of another card
    digest: int = 0  # exclusive-or over all units of their digest, turned by their number
