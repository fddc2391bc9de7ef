"""What the kernel tells of firmware. See stream.py."""

from dataclasses import dataclass

from ringhil.firmware.observations import Observation


@dataclass(frozen=True, slots=True)
class FirmwareSaid:
    """The firmware of the GPU of `cell` wants something known."""

    cycle: int
    cell: int
    what: Observation
