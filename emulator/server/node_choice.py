"""Which GPUs' hardware is outside, each at the other end of a line, or was; all others are simulated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ringhil.emulator.engine.engine import Engine, OutsideError, OutsideNode
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.scenario import GpuRef
from ringhil.emulator.server.wiring import Wiring

_PATIENCE = 250  # milliseconds without a byte after which a request is asked again


class NodeError(RinghilError):
    """Hardware outside can't be had; one line says which, and why."""


class OutsideHardware(Protocol):
    """One GPU's. `given`: as it was written."""

    @property
    def given(self) -> str: ...

    def attach(self, engine: Engine, cell: int) -> int | None:
        """It is a cell's, in an engine that hasn't run yet; the cycle from which on it will be gone, if that is known.
        Raises NodeError."""


@dataclass(frozen=True)
class NodeLine:
    """An open line to a bridge. `greet` says hello there, anew for each run; the sequence number of that. Raises
    NodeError."""

    given: str
    descriptor: int
    greet: Callable[[], int]

    def attach(self, engine: Engine, cell: int) -> None:
        """See OutsideHardware."""
        try:
            engine.attach(cell, self.descriptor, sequence=self.greet(), patience=_PATIENCE)
        except OutsideError as error:
            raise NodeError(f"--node {self.given}: the board {error}") from None


@dataclass(frozen=True)
class LostNode:
    """A board that did what ours does, and was gone from cycle `at` on: that run, again without it."""

    given: str
    at: int

    def attach(self, engine: Engine, cell: int) -> int:
        """See OutsideHardware."""
        return self.at


@dataclass(frozen=True)
class RecalledNode:
    """A board of a run that was recorded: what it did otherwise than ours, by cycle and place, and with which value."""

    given: str
    differed: Sequence[tuple[int, int, int]]

    def attach(self, engine: Engine, cell: int) -> None:
        """See OutsideHardware."""
        for cycle, place, value in self.differed:
            engine.recall(cell, cycle, place, value)


@dataclass(frozen=True)
class NodeChoice:
    """By GPU (`a.3`), its hardware. One run has it at a time. `baud`: speed of its lines, where that was given."""

    nodes: Mapping[str, OutsideHardware] = field(default_factory=dict)
    baud: int | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """As it was written."""
        return tuple(node.given for node in self.nodes.values())

    def attach(self, engine: Engine, wiring: Wiring) -> list[tuple[int, int]]:
        """All of them, to an engine that hasn't run yet; cells that will be gone, and from which cycle on. Raises
        NodeError."""
        cards, found = {card.name: card.gpus for card in wiring.cards}, []
        for name, node in self.nodes.items():
            ref = GpuRef.parse(name)
            if ref.index >= cards.get(ref.card, 0):
                there = ", ".join(f"{card}.0 .. {card}.{gpus - 1}" for card, gpus in cards.items())
                raise NodeError(f"--node {node.given}: found GPU {name}; there are {there}")
            gone = node.attach(engine, wiring.cell_of(ref))
            if gone is not None:
                found.append((wiring.cell_of(ref), gone))
        return found


ALL_HERE = NodeChoice()


def did_otherwise(node: OutsideNode) -> str | None:
    """What there is to say of a board that didn't do what ours does."""
    if not node.differing:
        return None
    cycles = f"{node.differing} cycle{'' if node.differing == 1 else 's'}"
    return f"the board did otherwise than the RTL of this run in {cycles}, from cycle {node.first_differing} on"
