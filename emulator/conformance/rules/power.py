"""The meter of the compute engine: power states, energy, waking up (docs/reference/contexts.md).

A node without a meter keeps them.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

from ringhil.emulator.conformance.data_frames import Place, roles, some_place
from ringhil.emulator.conformance.data_judge import judged_data
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.compute import OVERHEAD
from ringhil.emulator.conformance.rules.control import QUIET
from ringhil.emulator.conformance.rules.data import START, settings
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.reference.power import UNMETERED, PowerMeter
from ringhil.emulator.testbench.stimulus import Action, Fault, Peek, Poke, Send, Stimulus

_POWER = ("run_power", "idle_power", "low_power", "off_power")
_RESET = 8  # cycles: so long before the first one the node may have rested already
_UNIT = 64  # bytes
_APART = 500  # cycles from unit to unit


def _metered(observed: Observed) -> bool:
    return observed.registers.get("power_state", 0) > 0


def _asks(at: int) -> list[Action]:
    """Energy and state, in two cycles."""
    return [Peek(at, "energy_low"), Peek(at + 1, "power_state")]


# ------------------------------------------------------------------------------------------------------------ at rest


def _rested(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """A node that only rests says what the reference does, if that has rested for as long."""
    if not _metered(observed):
        return []
    found = [_differing(rule_name, before, observed) for before in range(_RESET)]
    return [] if None in found else [max((b for b in found if b is not None), key=lambda b: b.cycle)]


def _differing(rule_name: str, before: int, observed: Observed) -> Breach | None:
    """The first thing that it says otherwise than one that rested `before` cycles before the first one."""
    meter = PowerMeter(UNMETERED, 0, -before)
    base: int | None = None
    done = ((cycle, action) for cycle, action in observed.done if isinstance(action, Poke | Peek))
    peeks = iter(observed.peeks)
    for cycle, action in done:
        if isinstance(action, Poke):
            if action.register in vars(UNMETERED):
                meter.until(cycle + 1, False, False)  # what is written holds from the next cycle on
                meter.settings = replace(meter.settings, **{str(action.register): action.value})
            continue
        _, register, value = next(peeks)
        meter.until(cycle, False, False)
        if register == "energy_low":
            base = value - meter.energy if base is None else base  # the first one tells what reset has left
            wanted = meter.energy + base
        else:
            wanted = meter.state(False, False).code
        if value != wanted:
            return Breach(rule_name, cycle, f"{register} is {value}, must be {wanted}")
    return None


@rule(
    "power.states",
    "a GPU at rest is idle, in low power or off as its settings say, and takes that state's units",
)
def states(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, (low, off) in enumerate([(60, 0), (0, 90), (60, 140), (140, 60), (1, 2)] * effort):
        given = {name: rng.randrange(1, 1 << 10) for name in _POWER} | {"low_after": low, "off_after": off}
        actions: list[Action] = [*QUIET, *(Poke(4 + i, name, value) for i, (name, value) in enumerate(given.items()))]
        at = 20
        while at < 300:
            actions += _asks(at)
            at += rng.randrange(2, 9)
            if rng.random() < 0.3:  # what has been counted stays
                name = rng.choice([*_POWER, "low_after", "off_after"])
                actions.append(Poke(at, name, rng.randrange(1 << 10) if name in _POWER else rng.randrange(250)))
                at += 1
        yield RuleCase(f"rest {index}", Stimulus.of(actions, tail=20), partial(_rested, "power.states"))


# ------------------------------------------------------------------------------------------------------------- at work


def _steady(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """A unit a cycle in each state: energy is time, whatever happens."""
    if not _metered(observed):
        return []
    readings = [(cycle, value) for cycle, register, value in observed.peeks if register == "energy_low"]
    return [
        Breach(rule_name, cycle, f"energy went on by {value - last} in {cycle - since} cycles of a unit each")
        for (since, last), (cycle, value) in pairwise(readings)
        if value - last != cycle - since
    ]


def _units(rng: random.Random, place: Place, at: int, count: int) -> Iterator[Action]:
    for index in range(count):
        frames = place.unit(_UNIT)
        yield from (Send(at + _APART * index, WAYS[rng.randrange(3)], frame) for frame in frames)


def _in_order(actions: Iterable[Action]) -> list[Action]:
    return sorted(actions, key=lambda action: action.at)


@rule("power.time", "each cycle is of one state, and counted once: in work, at rest, while the GPU hangs or is dead")
def time(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for fault in ("", "hang", "dead", "slow") * effort:
        place = some_place(rng, control=roles("entry"))
        given = {"low_after": rng.randrange(20, 60), "off_after": rng.randrange(60, 120), "low_wake": 9, "off_wake": 30}
        actions = settings(place, heartbeat=0, compute_setup=100, **dict.fromkeys(_POWER, 1), **given)
        actions += _units(rng, place, 60, 4)
        if fault:
            begins = rng.randrange(80, 150)
            actions += [Fault(begins, fault, True), Fault(begins + rng.randrange(80, 700), fault, False)]
        actions += [Peek(at, "energy_low") for at in range(50, 4 * _APART, rng.randrange(23, 40))]
        stimulus = Stimulus.of(_in_order(actions), tail=600, **place.straps)
        yield RuleCase(f"work{' and ' if fault else ''}{fault}", stimulus, partial(_steady, "power.time"))


def _woken(rule_name: str, enough: int, wake: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Each unit finds the GPU asleep: its result comes that much later, and says nothing of it."""
    judged = judged_data(rule_name, enough, stimulus, observed)
    wake = wake if _metered(observed) else 0
    breaches, busy = judged.breaches, 0
    for given in judged.answers.given:
        if not given.computed or given.frame is None:
            continue
        cost, took = given.answer.cost + wake, given.frame.began - given.answer.since
        busy += max(cost, 1)
        if not cost <= took <= cost + OVERHEAD:
            text = f"a result left {took} cycles after its unit came, must be {cost} to {cost + OVERHEAD}"
            breaches.append(Breach(rule_name, given.frame.began, f"{text}: {wake} of waking up"))
    if _metered(observed):
        for name in ("busy_low", "energy_low"):
            if observed.registers[name] != busy:
                text = f"{name} is {observed.registers[name]} at the end, must be {busy}"
                breaches.append(Breach(rule_name, stimulus.cycles, text))
    return sorted(breaches, key=lambda b: b.cycle)


@rule("power.wake", "work that begins in low power or off takes so much longer, and the engine runs meanwhile")
def wake(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for name, other in (("low", "off"), ("off", "low")) * effort:
        for slow in (False, True):
            place = some_place(rng, control=roles("entry"))
            cycles = rng.randrange(50, 250)
            given = {f"{name}_after": rng.randrange(1, 15), f"{name}_wake": cycles, f"{other}_wake": 7, "run_power": 1}
            actions = settings(place, compute_setup=rng.randrange(4, 30), compute_per_flit=1, **given)
            actions += [Fault(1, "slow", True)] * slow
            actions += _units(rng, place, START + 40, 3)
            stimulus = Stimulus.of(_in_order(actions), tail=2 * _APART, **place.straps)
            judge = partial(_woken, "power.wake", stimulus.cycles, cycles)
            yield RuleCase(f"{name}{', slow' * slow}", stimulus, judge)
