"""Which GPUs are cut off."""

from typing import Any, ClassVar

from ringhil.emulator.scenario.expect.card_value import CardGpus
from ringhil.emulator.scenario.expect.check import Findings


class StrandedAre(CardGpus):
    """Exactly these GPUs of the card are cut off from its entry GPU."""

    KEY: ClassVar[str] = "stranded"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("GPUs that are cut off from the entry GPU, by card")
    GPUS: ClassVar[str] = "stranded GPUs"

    def found(self, findings: Findings) -> tuple[int, ...]:
        """Those between the ends of the break that are not counted."""
        return findings.card(self.card).stranded
