"""What is promised of a node's registers: at a boot, and when a role is taken up or lost."""

from functools import partial

from ringhil.emulator.loop.alone.leader import Leader
from ringhil.emulator.loop.alone.ring import HOME, Ring, in_turn
from ringhil.emulator.loop.alone.servers import BOTH_ROLES, CARDS, TWO, Stages
from ringhil.emulator.loop.alone.stage import NotKept, Stage
from ringhil.emulator.loop.alone.uplink import Uplink
from ringhil.protocol.registers import ControlBit

_BOOTED = 2  # a later boot
_ROLES = (ControlBit.ENTRY, ControlBit.MONITOR, ControlBit.BOUNDARY)


def are_cleared_at_boot(stages: Stages, server: str = TWO, gpu: str = "a.0") -> None:
    """Whatever the boot before has left in them."""
    left = {"control": sum(_ROLES) | ControlBit.FROM_ABOVE, "crossings": 0xFF, "exits": 0xFF}
    stage = stages.of(server, gpu, boots=_BOOTED, **left)
    stage.start()
    for bit in _ROLES:
        _bit(stage, bit, False, f"{gpu} has just booted")
    capable = stage.boot.entry is not None
    _bit(stage, ControlBit.ENTRY_CAPABLE, capable, f"{gpu} has {'a' if capable else 'no'} link to the CPU")
    for register in ("crossings", "exits"):
        _register(stage, register, 0, f"{gpu} has just booted")


CLEARED_AT_BOOT = tuple(
    partial(are_cleared_at_boot, server=server, gpu=gpu)
    for server, gpu in ((CARDS, "a.3"), (CARDS, "b.2"), (BOTH_ROLES, "a.3"))
)


def follow_the_entry_role(stages: Stages) -> None:
    """`entry` and `monitor`; and `exits` by what a census has shown, until the role is lost. The same when it is had
    once more."""
    stage = stages.of(BOTH_ROLES, "a.3")
    ring = Ring(stage, in_turn([(HOME, HOME)]))
    entry, across = Uplink(stage, stage.boot.entry), Uplink(stage, stage.boot.boundary)
    stage.start()
    across.wait_for_role(8 * across.group.interval)
    for wait in (2 * entry.group.interval, 4 * entry.group.lease):  # the second time others go first
        entry.silent = False
        entry.wait_for_role(wait)
        _has_and_loses_the_entry_role(stage, ring, entry)


def _has_and_loses_the_entry_role(stage: Stage, ring: Ring, entry: Uplink) -> None:
    _bit(stage, ControlBit.ENTRY, True, "it is the entry GPU")
    _bit(stage, ControlBit.MONITOR, True, "it is the entry GPU")
    counted = len(ring.reports)
    stage.wait_for(lambda: len(ring.reports) > counted, 2 * stage.boot.census.period)
    stage.wait(1)
    assert stage.boot.crossing is not None
    exits = stage.boot.behind[stage.boot.crossing.peer]
    _register(stage, "exits", exits, "a census has shown that it is the boundary GPU to cards b and c")
    entry.silent = True
    if not stage.wait_for(lambda: not entry.held, 2 * entry.group.lease):
        raise NotKept(stage.now, "it holds the entry role, and the CPU is silent", "its lease should be over")
    for bit in (ControlBit.ENTRY, ControlBit.MONITOR):
        _bit(stage, bit, False, "its lease is over")
    _register(stage, "exits", 0, "its lease of the entry role is over")
    begin = len(ring.rounds)
    stage.count_now()
    stage.wait(2 * stage.boot.census.period)
    if len(ring.rounds) > begin:
        raise NotKept(ring.rounds[begin].at, "it counts, and is no entry GPU any more", "its census should be over")


def follow_the_link(stages: Stages, server: str = CARDS) -> None:
    """Of the boundary GPU that asks, and loses its lease."""
    stage = stages.of(server, "a.3")
    uplink = Uplink(stage, stage.boot.boundary)
    stage.start()
    uplink.wait_for_role(8 * uplink.group.interval)
    _link(stage, True, "it is the boundary GPU")
    uplink.silent = True
    stage.wait(uplink.group.lease + uplink.group.interval)
    _link(stage, False, "its lease is over")


def follow_the_link_of_a_warden(stages: Stages, server: str = CARDS) -> None:
    """Of the warden that has granted the lease."""
    stage = stages.of(server, "b.2")
    leader = Leader(stage)
    stage.start()
    stage.until(leader.group.lease)
    leader.must_be_granted(1, "nothing is against it")
    _link(stage, True, "it has granted its leader the link")
    stage.wait(leader.group.lease)
    _link(stage, False, "the lease that it has granted is over")


# Also with a further card behind that one.
FOLLOW_THE_LINK = (
    follow_the_link_of_a_warden,
    partial(follow_the_link, server=BOTH_ROLES),
    partial(follow_the_link_of_a_warden, server=BOTH_ROLES),
)


def _link(stage: Stage, on: bool, why: str) -> None:
    crossing = stage.boot.crossing
    assert crossing is not None
    _bit(stage, ControlBit.BOUNDARY, on, why)
    _bit(stage, ControlBit.FROM_ABOVE, on and crossing.from_above, why)
    _register(stage, "crossings", crossing.cards if on else 0, why)


def _bit(stage: Stage, bit: ControlBit, wanted: bool, why: str) -> None:
    if stage.has(bit) != wanted:
        found = f"control is {ControlBit.show(stage.registers['control'])}"
        raise NotKept(stage.now, found, f"{why}: {bit.word} should be {wanted:d}")


def _register(stage: Stage, register: str, wanted: int, why: str) -> None:
    found = stage.registers[register]
    if found != wanted:
        raise NotKept(stage.now, f"{register} is {found:#x}", f"{why}: it should be {wanted:#x}")
