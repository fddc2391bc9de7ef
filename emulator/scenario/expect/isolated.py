"""Which healthy GPUs are kept out."""

from typing import Any, ClassVar

from ringhil.emulator.scenario.expect.card_value import CardGpus
from ringhil.emulator.scenario.expect.check import Findings


class IsolatedAre(CardGpus):
    """Exactly these GPUs of the card are healthy and kept out by their own switch."""

    KEY: ClassVar[str] = "isolated"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("healthy GPUs that their own switch keeps out, by card")
    GPUS: ClassVar[str] = "isolated GPUs"

    def found(self, findings: Findings) -> tuple[int, ...]:
        """By the status registers of their nodes."""
        return findings.isolated(self.card)
