"""Who is suspected of lying."""

from typing import Any, ClassVar

from ringhil.emulator.scenario.expect.card_value import CardGpus
from ringhil.emulator.scenario.expect.check import Findings


class SuspectsAre(CardGpus):
    """Exactly these GPUs of the card are named as suspects."""

    KEY: ClassVar[str] = "suspects"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("GPUs that are suspected of spoiling the census, by card")
    GPUS: ClassVar[str] = "suspects"

    def found(self, findings: Findings) -> tuple[int, ...]:
        """By the last report: whom it names; an accepted count clears everybody."""
        return findings.card(self.card).suspects
