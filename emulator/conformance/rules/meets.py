"""Two events in one exact cycle: one is moved past the other, cycle by cycle, three before it to three behind it.

How long a node takes from its ports to its engine is its own; so what follows from a frame is swept for longer.
"""

import random
from collections.abc import Iterable
from functools import partial
from itertools import pairwise

from ringhil.emulator.conformance.data_frames import roles, some_place
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.compute import OVERHEAD
from ringhil.emulator.conformance.rules.control import QUIET, straps
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Peek, Poke, Send, Stimulus
from ringhil.protocol import registers
from ringhil.protocol.wire import LINKS

POWERS = ("run_power", "idle_power", "low_power", "off_power")
_NEAR = 3  # cycles
_APART = 150  # cycles from unit to unit


# ------------------------------------------------------------------------------------------------------------ the meter


def adds_up(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """A unit of energy a cycle in each state, from the first reading on."""
    if not observed.registers.get("power_state", 0):
        return []
    powers = {
        name: [a.value for a in stimulus.actions if isinstance(a, Poke) and a.register == name] for name in POWERS
    }
    if any(set(values) != {1} for values in powers.values()):
        return []
    first = max(next(a.at for a in stimulus.actions if isinstance(a, Poke) and a.register == name) for name in POWERS)
    readings = [(c, v) for c, register, v in observed.peeks if register == "energy_low" and c > first + 4]
    return [
        Breach(rule_name, cycle, f"energy went on by {value - last} in {cycle - since} cycles of a unit each")
        for (since, last), (cycle, value) in pairwise(readings)
        if value - last != cycle - since
    ]


_SETTINGS = (*POWERS, "low_after", "off_after")


@rule(
    "power.meets",
    "energy adds up whatever setting is written in the very cycle in which work begins or ends, or a failure does",
)
def meets(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for fault in ("", "hang", "dead") * effort:
        place = some_place(rng, control=roles("entry"))
        work = rng.randrange(4, 9)
        ones = dict.fromkeys(POWERS, 1)
        actions = settings(place, heartbeat=0, watchdog=1 << 30, gpu_restore=8, compute_setup=work, **ones)
        at = 60
        # A unit of eight flits has come whole by the eighth cycle; it begins soon, and ends soon behind that.
        for offset in range(-_NEAR, 8 + OVERHEAD // 2 + work + _NEAR):
            actions += [Send(at, "host", frame) for frame in place.unit(8)]
            name = rng.choice(_SETTINGS)
            value = 1 if name in POWERS else rng.choice([0, 1, 5, 40])
            actions += [Peek(at - 20, "energy_low"), Poke(at + 7 + offset, name, value)]
            if fault and offset % 3 == 0:
                begins = at + 7 + offset + rng.randrange(-_NEAR, _NEAR + 1)
                actions += [Fault(begins, fault, True), Fault(begins + rng.randrange(1, 30), fault, False)]
            actions += [Peek(at + 7 + offset + 2, "energy_low"), Peek(at + _APART - 30, "energy_low")]
            at += _APART
        stimulus = Stimulus.of(sorted(actions, key=lambda a: a.at), tail=60, **place.straps)
        yield RuleCase(
            f"writes{' and ' * bool(fault)}{fault}", stimulus, partial(adds_up, "power.meets"), lacking="meter"
        )


def _large(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What a long run takes has more than 32 bits."""
    if not observed.registers.get("power_state", 0) or not any(isinstance(a, Send) for a in stimulus.actions):
        return []
    rate = {a.register: a.value for a in stimulus.actions if isinstance(a, Poke)}.get("run_power", 0)
    others = any(isinstance(a, Poke) and a.register in POWERS[1:] for a in stimulus.actions)
    found = observed.registers["energy_high"] << 32 | observed.registers["energy_low"]
    wanted = rate * (observed.registers["busy_high"] << 32 | observed.registers["busy_low"])
    if others or found == wanted:
        return []
    return [
        Breach(rule_name, stimulus.cycles, f"energy is {found}, must be {wanted}: each cycle that it ran took {rate}")
    ]


@rule("power.many", "energy of long work at high power is counted in 64 bits")
def long_work(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = some_place(rng, control=roles("entry"))
    cycles = (1 << 32) // 0xFFFF + rng.randrange(1000, 9000)
    actions = settings(place, heartbeat=0, compute_setup=cycles, compute_per_flit=0, run_power=0xFFFF)
    actions += [Send(40, "host", frame) for frame in place.unit(8)]
    stimulus = Stimulus.of(actions, tail=cycles + 400, **place.straps)
    yield RuleCase("one unit", stimulus, partial(_large, "power.many"), lacking="meter")


# -------------------------------------------------------------------------------------------------------- restore times

_BACK = 20  # cycles behind a restore time within which a GPU is back, for certain
_BOTH = registers.StatusBit.BYPASS_CW | registers.StatusBit.BYPASS_CCW


def _absences(observed: Observed) -> list[tuple[int, int]]:
    """First cycle in which a GPU is dead or lent, and first in which it isn't any more."""
    found: list[tuple[int, int]] = []
    since: dict[str, int] = {}
    for cycle, action in observed.done:
        match action:
            case Fault(_, "dead", on):
                name, at = "dead", cycle + 1
            case Poke(_, "lent", value):
                name, on, at = "lent", bool(value & 1), cycle + 2
            case _:
                continue
        if on:
            since.setdefault(name, at)
        elif name in since:
            found.append((since.pop(name), at))
    return found + [(begin, 1 << 62) for begin in since.values()]


def _stays_out(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Behind each of them it stays out of the ring for gpu_restore cycles, and is back soon behind the last."""
    wait = {a.register: a.value for a in stimulus.actions if isinstance(a, Poke)}.get("gpu_restore", 64)
    lends = any(isinstance(a, Poke) and a.register == "lent" for a in stimulus.actions)
    if lends and not observed.registers["lent"] and not _can_be_lent(observed):
        return []
    absences = _absences(observed)
    breaches = []
    for cycle, register, value in observed.peeks:
        if register != "status":
            continue
        out = any(begin + 4 <= cycle < end + wait for begin, end in absences)
        back = all(cycle > end + wait + _BACK for begin, end in absences if begin <= cycle)
        if out and value & _BOTH != _BOTH:
            text = f"status 0x{value:03X}: in the ring before gpu_restore ({wait}) is over"
        elif back and value & _BOTH:
            text = f"status 0x{value:03X}: not in the ring {_BACK} cycles after gpu_restore ({wait}) was over"
        else:
            continue
        breaches.append(Breach(rule_name, cycle, text))
    return breaches


def _can_be_lent(observed: Observed) -> bool:
    return any(value & registers.StatusBit.LENT for _, register, value in observed.peeks if register == "status")


def _moment(at: int, how: str) -> list[Action]:
    """A GPU that is away for one cycle."""
    if how == "lent":
        return [Poke(at, "lent", 1), Poke(at + 1, "lent", 0)]
    return [Fault(at + 1, "dead", True), Fault(at + 2, "dead", False)]


@rule(
    "switch.meets", "a failure of one cycle, or a loan, as the restore time ends keeps the GPU out for all of it", "R6"
)
def restores(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for first, again in (("dead", "dead"), ("dead", "lent"), ("lent", "dead")) * effort:
        wait = rng.randrange(12, 30)
        actions: list[Action] = [*QUIET, Poke(5, "gpu_restore", wait)]
        at = 40
        for offset in range(-_NEAR, _NEAR + 5):
            actions += _moment(at, first)
            second = at + 2 + wait + offset
            actions += _moment(second, again)
            actions += [Peek(second + 3 + i, "status") for i in (5, 9, wait - 4, wait + 40)]
            at = second + wait + 80
        stimulus = Stimulus.of(actions, tail=60, **straps(rng))
        yield RuleCase(f"{first}, {again}", stimulus, partial(_stays_out, "switch.meets"))


# ---------------------------------------------------------------------------------------------------------------- links

_TOLD = 4  # cycles until a loss shows on the node's own end


def _stays_down(rule_name: str, link: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """The node's remote-fault mark is on until the carrier has been back for link_restore cycles."""
    waits = [a.value for a in stimulus.actions if isinstance(a, Poke) and a.register == "link_restore"]
    moves = [(cycle, a.up) for cycle, a in observed.done if isinstance(a, Carrier) and a.link == link]
    back = [cycle + 1 for (_, was), (cycle, up) in pairwise(moves) if up and not was]
    if len(waits) != 1 or len(back) * 2 != len(moves):
        return []
    breaches = []
    for since in back:
        marks = [(cycle, fault) for cycle, _, fault in observed.levels[link]]
        told = [mark for mark in marks if mark[0] <= since + _TOLD][-1:]
        later = [mark for mark in marks if since + _TOLD < mark[0] < since + waits[0]]
        text = f"{link}: the remote-fault mark is off, and the carrier is back since cycle {since} only"
        breaches += [Breach(rule_name, cycle, text) for cycle, fault in (*told, *later) if not fault]
    return sorted(breaches, key=lambda breach: breach.cycle)


@rule(
    "link.meets",
    "a carrier that is away for one cycle as the restore time ends has to be back for all of it again",
    "R6",
)
def blinks(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for link in LINKS:
        wait = rng.randrange(12, 30)
        actions: list[Action] = [*QUIET, Poke(5, "link_restore", wait)]
        at = 30
        for offset in range(-_NEAR, _NEAR + 3):
            for again in (at, at + 1 + wait + offset):
                actions += [Carrier(again, link, False), Carrier(again + 1, link, True)]
            at += 2 * wait + 40
        stimulus = Stimulus.of(actions, tail=60, **straps(rng))
        yield RuleCase(f"{link}", stimulus, partial(_stays_down, "link.meets", str(link)))
