"""What firmware wants known, as the kernel tells it."""

from typing import Annotated, ClassVar

from ringhil.emulator.events.fields import Cell, Cycle
from ringhil.firmware.observations import Observation
from ringhil.protocol.values import value


@value(frozen=True, slots=True)
class FirmwareCalled:
    """A GPU's firmware is told something next: a method of it is called."""

    TOLD_BY: ClassVar[str] = "kernel"

    cycle: Cycle
    cell: Cell
    method: Annotated[str, "`start`, `on_frame`, `on_status`, `on_timer` or `count_now`"]
    frame: Annotated[bytes, "that it is told of; empty: none"] = b""


@value(frozen=True, slots=True)
class FirmwareSaid:
    """The firmware of a GPU wants something known."""

    TOLD_BY: ClassVar[str] = "firmware"

    cycle: Cycle
    cell: Cell
    what: Annotated[Observation, "one of the observations of firmware"]
