"""Which GPUs work."""

from typing import Any, ClassVar

from ringhil.emulator.scenario.expect.card_value import CardGpus
from ringhil.emulator.scenario.expect.check import Findings


class MembersAre(CardGpus):
    """Exactly these GPUs of the card are counted."""

    KEY: ClassVar[str] = "members"
    FIELD: ClassVar[tuple[Any, Any]] = CardGpus.field("working GPUs by card")
    GPUS: ClassVar[str] = "members"

    def found(self, findings: Findings) -> tuple[int, ...]:
        """By the last accepted count."""
        return findings.card(self.card).members
