"""Under which epoch the entry GPU holds its role."""

from typing import Any, ClassVar

from ringhil.emulator.scenario.expect.card_value import CardValue, by_card
from ringhil.emulator.scenario.expect.check import Findings
from ringhil.emulator.scenario.file.types import Number


class EpochIs(CardValue[int]):
    """The epoch of the card's entry GPU."""

    KEY: ClassVar[str] = "epoch"
    FIELD: ClassVar[tuple[Any, Any]] = by_card(Number, "epoch of the entry GPU by card: how often one was elected")

    def found(self, findings: Findings) -> int:
        """By the lease that the CPU has granted."""
        return findings.card(self.card).epoch
