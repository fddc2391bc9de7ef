"""Faults of the serial line to a card's management port: one row each, and their events on a timeline.

They strike what passes between a client and the card while the card is served; nothing in the ring notices, so neither
oracle nor explorer knows them, and a run without clients is the same with them.
"""

from dataclasses import dataclass, field

from ringhil.emulator.scenario.file.faults import EventAction


@dataclass(frozen=True)
class LineFaultKind:
    """`effect`: what happens on the line. `rated`: to so many bytes of 65,536 (`rate`)."""

    effect: str
    rated: bool = True


LINE_FAULTS: dict[str, LineFaultKind] = {
    "line_corrupt": LineFaultKind("of 65,536 bytes, `rate` arrive with one bit flipped, either way"),
    "line_drop": LineFaultKind("of 65,536 bytes, `rate` don't arrive, either way"),
    "line_double": LineFaultKind("of 65,536 bytes, `rate` arrive twice, either way"),
    "line_cut": LineFaultKind("nothing arrives, either way", rated=False),
}


@dataclass(frozen=True)
class LineEvent:
    """At cycle `at` after power-up, the fault `kind` of the management line of `card` begins or ends. `rate`: bytes
    that it strikes, of 65,536, either way; None: it takes no rate, or the event ends it. `line`: in the file."""

    at: int
    action: EventAction
    kind: str
    card: str
    line: int = field(compare=False)
    rate: int | None = None

    @property
    def begins(self) -> bool:
        """The fault begins; otherwise it ends."""
        return self.action == EventAction.FAULT
