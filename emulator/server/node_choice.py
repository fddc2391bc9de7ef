"""Which GPUs' hardware is outside, each at the other end of an open line; all others are simulated."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringhil.emulator.engine.engine import Engine, OutsideError
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.wiring import Wiring

_PATIENCE = 250  # milliseconds without a byte after which a request is asked again


class NodeError(Exception):
    """Hardware outside can't be had; one line says which, and why."""


@dataclass(frozen=True)
class NodeLine:
    """An open line to a bridge that has said hello. `given`: as it was written; `sequence`: of that message."""

    given: str
    descriptor: int
    sequence: int


@dataclass(frozen=True)
class NodeChoice:
    """By GPU (`a.3`), its line. A line serves one run."""

    lines: Mapping[str, NodeLine] = field(default_factory=dict)

    def attach(self, engine: Engine, wiring: Wiring) -> None:
        """Has an engine that hasn't run yet ask these. Raises NodeError."""
        cards = {card.name: card.gpus for card in wiring.cards}
        for name, line in self.lines.items():
            ref = GpuRef.parse(name)
            if ref.index >= cards.get(ref.card, 0):
                there = ", ".join(f"{card}.0 .. {card}.{gpus - 1}" for card, gpus in cards.items())
                raise NodeError(f"--node {line.given}: found GPU {name}; there are {there}")
            try:
                engine.attach(wiring.cell_of(ref), line.descriptor, sequence=line.sequence, patience=_PATIENCE)
            except OutsideError as error:
                raise NodeError(f"--node {line.given}: the board {error}") from None


ALL_HERE = NodeChoice()
