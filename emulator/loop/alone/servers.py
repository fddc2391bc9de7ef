"""The GPUs that are put to work alone, as the server in which they stand tells them who they are."""

from collections.abc import Set
from enum import StrEnum
from functools import cache

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.loop.alone.stage import Stage
from ringhil.emulator.scenario import GpuRef, loads
from ringhil.emulator.server.firmware_choice import Chosen
from ringhil.emulator.server.power_up import BootPlan
from ringhil.emulator.server.times import times_of
from ringhil.emulator.server.wiring import Wiring
from ringhil.firmware.boot import Boot

ONE = "server: {cards: {a: {gpus: 8, host_links: [0]}}}"
TWO = "server: {cards: {a: {gpus: 8, host_links: [0, 1]}}}"
THREE = "server: {cards: {a: {gpus: 8, host_links: [0, 1, 2]}}}"
CARDS = """\
server:
  cards: {a: {gpus: 6, host_links: [0]}, b: {gpus: 6, host_links: [0]}}
  boundary_links: [{from: [a.3, a.4], to: [b.2, b.1]}]
"""
BOTH_ROLES = """\
server:
  cards:
    a: {gpus: 6, host_links: [2, 3]}
    b: {gpus: 6, host_links: [3, 2]}
    c: {gpus: 6, host_links: [3]}
  boundary_links:
    - {from: [a.3, a.4], to: [b.2, b.1]}
    - {from: [b.4, b.5], to: [c.1, c.0]}
"""
SWIFT = """\
server:
  cards: {a: {gpus: 8, host_links: [0, 1]}}
  settings: {wait_to_restore: 300}
"""
BRISK = """\
server:
  cards: {a: {gpus: 8, host_links: [0, 1, 2]}}
  settings: {wait_to_restore: 300}
"""
LONE_LINK = """\
server:
  cards: {a: {gpus: 6, host_links: [0]}, b: {gpus: 6, host_links: [0]}}
  boundary_links: [{from: [a.3], to: [b.2]}]
"""
NEVER = """\
server:
  cards: {a: {gpus: 8, host_links: [0]}}
  settings: {records: never}
"""
SOMETIMES = """\
server:
  cards: {a: {gpus: 8, host_links: [0]}}
  settings: {records: sometimes}
"""
HEAVY = """\
server:
  cards: {a: {gpus: 8, host_links: [0], types: {0: H200}, weights: {0: 4}}}
"""
HASTY = """\
server:
  cards: {a: {gpus: 8, host_links: [0]}}
  settings: {census_period: 500}
"""
PATIENT = """\
server:
  cards: {a: {gpus: 8, host_links: [0, 1]}}
  settings: {keepalive_multiplier: 8, keepalive_jitter: 8, wait_to_restore: 1500}
"""


@cache
def boot_of(server: str, gpu: str, boots: int = 1, memory: int = 0) -> Boot:
    """What a GPU of such a server is told at this boot."""
    scenario, ref = loads(f"{server.rstrip()}\nuntil: 1\n"), GpuRef.parse(gpu)
    wiring = Wiring(scenario.server)
    groups = BootPlan(wiring, scenario.server.settings, times_of(scenario.server), scenario.seed)
    return groups.boot(wiring.number(ref.card), ref.index, boots, memory)


class FirmwareRole(StrEnum):
    """A part that a GPU's firmware may play; somebody's may have been written for some of them."""

    MEMBER = "member"  # has a link to the CPU, and asks for the entry role
    ENTRY = "entry"  # is the entry GPU, and counts
    BOUNDARY = "boundary"  # asks for the lease of a link to another card
    WARDEN = "warden"  # grants that lease at the far end


class OtherRole(RinghilError):
    """What is to be played is about roles that the firmware isn't checked for: which."""

    def __init__(self, roles: Set[FirmwareRole]) -> None:
        super().__init__(named(roles))
        self.roles = frozenset(roles)


def named(roles: Set[FirmwareRole]) -> str:
    """In their order: `member and warden`."""
    return " and ".join(role for role in FirmwareRole if role in roles)


def _roles_of(boot: Boot) -> set[FirmwareRole]:
    roles = {FirmwareRole.MEMBER} if boot.entry is not None else set[FirmwareRole]()
    if boot.boundary is not None:
        roles.add(FirmwareRole.BOUNDARY if boot.asks else FirmwareRole.WARDEN)
    return roles


class Stages:
    """Puts the firmware that was chosen on stages, as a GPU of these `roles` and no others."""

    def __init__(self, chosen: Chosen, roles: Set[FirmwareRole]) -> None:
        self._chosen, self._roles = chosen, roles
        self._made = list[Stage]()

    @property
    def silent(self) -> bool:
        """Whether the firmware has sent nothing on any of them."""
        return not any(stage.sent for stage in self._made)

    def of(self, server: str, gpu: str, boots: int = 1, memory: int = 0, **registers: int) -> Stage:
        """As this GPU, not yet started. `registers`: those that hold something else than at power-up. Raises
        FirmwareError, and OtherRole."""
        chosen = self._chosen
        board = chosen.board is not None and chosen.forgiven
        boot = boot_of(server, gpu, boots, memory)
        if not _roles_of(boot) <= self._roles:
            raise OtherRole(_roles_of(boot) - self._roles)
        self._made.append(Stage(f"firmware of {gpu} ({chosen.text})", chosen.maker, boot, registers, board=board))
        return self._made[-1]
