"""What the GPUs of a run have taken of energy, as their own meters say."""

from dataclasses import asdict, dataclass
from typing import Any

from ringhil.emulator.engine.engine import Engine
from ringhil.emulator.scenario import GpuPower, Server, power_of
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.registers import PowerState

_WORD = 32


@dataclass(frozen=True)
class PowerOutcome:
    """Of one GPU at the end of a run: its power state, the energy that it has taken, in units, and the cycles that its
    engine has run."""

    state: str
    energy: int
    busy: int

    def to_json(self) -> dict[str, Any]:
        """As `ringhil run --json` has it."""
        return asdict(self)


def power_outcomes(server: Server, wiring: Wiring, engine: Engine) -> dict[str, PowerOutcome]:
    """By name, of those GPUs of whose type the file says something."""
    found = {}
    for number, card in enumerate(server.cards):
        for gpu, kind in enumerate(card.types):
            if power_of(server.power, kind) != GpuPower():
                cell = wiring.cell(number, gpu)
                found[str(wiring.gpu_of(cell))] = _read(engine, cell)
    return found


def _read(engine: Engine, cell: int) -> PowerOutcome:
    def both(name: str) -> int:
        return engine.peek(cell, f"{name}_high") << _WORD | engine.peek(cell, f"{name}_low")

    return PowerOutcome(str(PowerState.of(engine.peek(cell, "power_state"))), both("energy"), both("busy"))
