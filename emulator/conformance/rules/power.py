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
_LONG = 200  # cycles of a unit in which all settings are written


def _metered(observed: Observed) -> bool:
    return observed.registers.get("power_state", 0) > 0


def _asks(at: int) -> list[Action]:
    """Energy and state, in two cycles."""
    return [Peek(at, "energy_low"), Peek(at + 1, "power_state")]


# ------------------------------------------------------------------------------------------------------- to the cycle


def _as_reference(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """A node says what the reference does, if that has rested for as long, and its unit, if any, begins as late."""
    given = judged_data(rule_name, stimulus.cycles, stimulus, observed).answers.given
    if not _metered(observed) or len(given) > 1:
        return []
    cost, begins = 0, range(-1, 0)  # no work
    for one in given:
        if not one.computed or one.frame is None:
            return []
        cost, since = one.answer.cost, one.answer.since
        begins = range(since, max(since + 1, one.frame.began - cost))
    found = [_differing(rule_name, before, at, cost, observed) for at in begins for before in range(_RESET)]
    return [] if None in found else [max((b for b in found if b is not None), key=lambda b: b.cycle)]


def _differing(rule_name: str, before: int, begins: int, cost: int, observed: Observed) -> Breach | None:
    """The first thing that it says otherwise than one that rested `before` cycles before the first one, and whose work
    begins in the cycle `begins`."""
    meter = PowerMeter(UNMETERED, 0, -before)
    base: int | None = None
    ends = 0
    done = ((cycle, action) for cycle, action in observed.done if isinstance(action, Poke | Peek))
    peeks = iter(observed.peeks)
    for cycle, action in done:
        # What is written holds from the next cycle on.
        until = cycle + isinstance(action, Poke)
        if meter.now <= begins < until:
            meter.until(begins, False, False)
            ends = begins + 1 + max(cost + meter.settings.wake(meter.state(False, False)), 1)
            meter.until(begins + 1, False, False)
        meter.until(min(until, ends), True, False)
        meter.until(until, False, False)
        if isinstance(action, Poke):
            if action.register in vars(UNMETERED):
                meter.settings = replace(meter.settings, **{str(action.register): action.value})
            continue
        _, register, value = next(peeks)
        if register == "energy_low":
            base = value - meter.energy if base is None else base  # the first one tells what reset has left
            wanted = meter.energy + base
        elif register == "busy_low":
            wanted = meter.busy
        else:
            wanted = meter.state(meter.now < ends, False).code
        if value != wanted:
            return Breach(rule_name, cycle, f"{register} is {value}, must be {wanted}")
    return None


def _written(rng: random.Random, at: int) -> Poke:
    """Any setting, to any value."""
    name = rng.choice([*vars(UNMETERED)])
    return Poke(at, name, rng.randrange(1 << 10) if name in _POWER else rng.randrange(250))


def _at_rest(rng: random.Random, given: dict[str, int]) -> Stimulus:
    """Where a state may change its register is read in each cycle, in that before it, too."""
    edges = [at for after in (given["low_after"], given["off_after"]) for at in range(after - _RESET, after + 1)]
    actions: list[Action] = [*QUIET, *(Poke(4 + i, name, value) for i, (name, value) in enumerate(given.items()))]
    at = 20
    while at < max(edges) + 160:
        if at in edges:
            actions.append(Peek(at, "power_state"))
            at += 1
            continue
        actions += _asks(at)
        at += 2
        while at not in edges and rng.random() < 0.7:
            at += 1
        if at > max(edges) and rng.random() < 0.3:  # what has been counted stays
            actions.append(_written(rng, at))
            at += 1
    return Stimulus.of(actions, tail=20)


def _at_work(rng: random.Random, given: dict[str, int]) -> Stimulus:
    """All settings are written while a unit runs; then the state is read in each cycle of the rest behind it."""
    place = some_place(rng, control=roles("entry"))
    actions = settings(place, heartbeat=0, compute_setup=_LONG, compute_per_flit=0, **given)
    came = 40
    actions += [Send(came, "host", frame) for frame in place.unit(8)]
    names = [*vars(UNMETERED)] * 2
    rng.shuffle(names)
    at = came + OVERHEAD
    for name in names:
        value = rng.randrange(1, 1 << 10) if name in _POWER else rng.randrange(250)
        actions += [Poke(at, name, value), Peek(at + 1, "busy_low"), Peek(at + 2, "energy_low")]
        at += rng.randrange(3, 7)
    for name, value in given.items():
        actions.append(Poke(at, name, value))
        at += 1
    actions += [Peek(at, "busy_low"), *_asks(at + 1)]
    ends = came + _LONG + given["low_wake"] + given["off_wake"] + 2 * OVERHEAD
    rests = ends + max(given["low_after"], given["off_after"])
    actions += [Peek(cycle, "power_state") for cycle in range(at + 3, rests)]
    return Stimulus.of([*actions, *_asks(rests), Peek(rests + 2, "busy_low")], tail=_LONG, **place.straps)


@rule(
    "power.states",
    "a GPU runs, is idle, in low power or off to the cycle, takes that state's units, and counts how long it ran",
)
def states(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, (low, off) in enumerate([(60, 0), (0, 90), (60, 140), (140, 60), (1, 2), (300, 700), (700, 0)] * effort):
        given = {name: rng.randrange(1, 1 << 10) for name in _POWER} | {"low_after": low, "off_after": off}
        given |= {"low_wake": rng.randrange(9), "off_wake": rng.randrange(9)}
        for where, played in (("rest", _at_rest), ("work", _at_work)):
            judge = partial(_as_reference, "power.states")
            yield RuleCase(f"{where} {index}", played(rng, given), judge, lacking="meter")


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
        name = f"work{' and ' if fault else ''}{fault}"
        yield RuleCase(name, stimulus, partial(_steady, "power.time"), lacking="meter")


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
