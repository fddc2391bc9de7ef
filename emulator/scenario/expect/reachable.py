"""Whether the CPU reaches a card."""

from typing import Any, ClassVar

from ringhil.emulator.scenario.expect.card_value import CardValue, by_card
from ringhil.emulator.scenario.expect.check import Findings


class ReachableIs(CardValue[bool]):
    """Whether the CPU reaches the card."""

    KEY: ClassVar[str] = "reachable"
    FIELD: ClassVar[tuple[Any, Any]] = by_card(bool, "whether the CPU reaches the card, by card")

    def __str__(self) -> str:
        return f"card {self.card} is {'' if self.expected else 'not '}reachable"

    def found(self, findings: Findings) -> bool:
        """By leases and reports."""
        return findings.card(self.card).reachable
