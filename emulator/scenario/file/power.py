"""What a GPU of some type takes of energy in each power state, and when it changes them: registers of its meter."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from ringhil.emulator.scenario.file.types import MAX_REGISTER
from ringhil.protocol.registers import REGISTERS

ANY_TYPE = "default"

_REGISTER = {register.name: register for register in REGISTERS}
_Short = Annotated[int, Field(ge=0, le=0xFFFF)]
_Long = Annotated[int, Field(ge=0, le=MAX_REGISTER)]


def _register(name: str) -> Any:
    return Field(description=f"{_REGISTER[name].unit}: {_REGISTER[name].doc}")


@dataclass(frozen=True)
class GpuPower:
    """Of one type of GPU. Units of energy a cycle, and cycles."""

    run_power: Annotated[_Short, _register("run_power")] = 0
    idle_power: Annotated[_Short, _register("idle_power")] = 0
    low_power: Annotated[_Short, _register("low_power")] = 0
    off_power: Annotated[_Short, _register("off_power")] = 0
    low_after: Annotated[_Long, _register("low_after")] = 0
    off_after: Annotated[_Long, _register("off_after")] = 0
    low_wake: Annotated[_Short, _register("low_wake")] = 0
    off_wake: Annotated[_Short, _register("off_wake")] = 0

    @property
    def wake(self) -> int:
        """Cycles that work takes longer at most."""
        return max(self.low_wake if self.low_after else 0, self.off_wake if self.off_after else 0)


UNMETERED = GpuPower()


def power_of(powers: Iterable[tuple[str, GpuPower]], gpu_type: str) -> GpuPower:
    """That of a type, of which a file may say nothing."""
    by_type = dict(powers)
    return by_type.get(gpu_type, by_type.get(ANY_TYPE, UNMETERED))
