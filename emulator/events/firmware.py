"""What firmware wants known, as the kernel tells it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ringhil.emulator.events.fields import Cell, Cycle
from ringhil.firmware.observations import Observation


@dataclass(frozen=True, slots=True)
class FirmwareSaid:
    """The firmware of a GPU wants something known."""

    TOLD_BY: ClassVar[str] = "firmware"

    cycle: Cycle
    cell: Cell
    what: Annotated[Observation, "one of the observations of firmware"]
