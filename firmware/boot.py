"""What a GPU's firmware is told at power-up, and ours made from it.

Anybody's firmware is made from a `Boot`: a class with one argument, and the methods of `program.Firmware`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringhil.firmware.census import CensusConfig
from ringhil.firmware.election import GroupConfig
from ringhil.firmware.gpu import CrossingConfig, Elector, GpuProgram
from ringhil.firmware.member import Member
from ringhil.firmware.warden import Warden
from ringhil.protocol.wire import Role


@dataclass(frozen=True)
class Boot:
    """Who a GPU is, in which boot (`boots`, from 1), with what its node's register `memory` has kept.

    `census`: for the entry GPU, its epoch apart. `entry`: the group of the card's GPUs with a link to the CPU, None:
    this one has none. `boundary`: the group of one link to another card, None: it is in none; in it this GPU asks for
    the lease (`asks`), or grants it at the far end. `crossing`: the way to that card. `behind`: for each neighbouring
    card those that are reached through it (bit i: card i).
    """

    card: int
    gpu: int
    gpus: int
    boots: int
    memory: int
    seed: int
    census: CensusConfig
    entry: GroupConfig | None = None
    boundary: GroupConfig | None = None
    asks: bool = False
    crossing: CrossingConfig | None = None
    behind: Mapping[int, int] = field(default_factory=dict)


def our_program(boot: Boot) -> GpuProgram:
    """The firmware that ringhil brings."""
    electors: dict[str, Elector] = {}
    if boot.entry is not None:
        electors[Role.ENTRY] = Member(boot.entry)
    if boot.boundary is not None:
        electors[Role.BOUNDARY] = Member(boot.boundary) if boot.asks else Warden(boot.boundary, boot.memory)
    return GpuProgram(
        census_config=boot.census,
        entry_capable=boot.entry is not None,
        electors=electors,
        crossing=boot.crossing,
        behind=dict(boot.behind),
    )
