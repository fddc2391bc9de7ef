"""The quiescence contract: what a node that says it rests has promised."""

import random
from collections.abc import Iterable
from functools import partial

from ringhil.emulator.conformance.data_frames import Place, roles
from ringhil.emulator.conformance.frames import control_frame, other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import FIRST, straps
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Poke, Post, Send, Stimulus
from ringhil.protocol import registers

NAME = "quiescence.leap"


def nothing(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What the node did is judged by other rules."""
    return []


def same(rule_name: str, plain: Observed, leaping: Observed) -> list[Breach]:
    """Passing over the cycles in which nothing happens has changed nothing."""
    breaches = []
    for link in plain.left:
        pairs = (("frame", plain.left, leaping.left), ("level", plain.levels, leaping.levels))
        for what, one, other in (*pairs, ("credit", plain.credits, leaping.credits)):
            here, there = list(one[link]), list(other[link])
            for index in range(max(len(here), len(there))):
                a, b = ((s[index] if index < len(s) else None) for s in (here, there))
                if a != b:
                    cycle = min(_cycle(x) for x in (a, b) if x is not None)
                    breaches.append(Breach(rule_name, cycle, f"{link}: {what} {index}: {a} waiting, {b} leaping"))
                    break
    for index, (a, b) in enumerate(zip(plain.mail, leaping.mail, strict=False)):
        if a != b:
            breaches.append(Breach(rule_name, a.ended, f"mail {index}: {a} waiting, {b} leaping"))
            break
    for index in range(max(len(plain.status), len(leaping.status))):
        a, b = ((s.status[index] if index < len(s.status) else None) for s in (plain, leaping))
        if a != b:
            cycle = min(x[0] for x in (a, b) if x is not None)
            text = f"change {index} of the status register: {_seen(a)} waiting, {_seen(b)} leaping"
            breaches.append(Breach(rule_name, cycle, text))
            break
    if len(plain.mail) != len(leaping.mail):
        breaches.append(
            Breach(rule_name, 0, f"{len(plain.mail)} frames for the firmware waiting, {len(leaping.mail)} leaping")
        )
    for name, value in plain.registers.items():
        if value != leaping.registers[name]:
            text = f"register {name} is {value} waiting, {leaping.registers[name]} leaping"
            breaches.append(Breach(rule_name, 1 << 62, text))
    return breaches


def _seen(change: tuple[int, int] | None) -> str:
    return "none" if change is None else f"0x{change[1]:03X} from cycle {change[0]}"


def _cycle(item: object) -> int:
    if isinstance(item, tuple):
        return int(item[0])
    return int(item if isinstance(item, int) else getattr(item, "began", 0))


@rule(NAME, "while a node says that it rests, letting time pass changes nothing (it may never say so)")
def leap(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(6 * effort):
        place = straps(rng)
        actions: list[Action] = [
            Poke(2, "heartbeat", rng.choice([0, 100, 700])),
            Poke(3, "watchdog", rng.choice([5, 64])),
            Poke(4, "gpu_restore", rng.choice([0, 1, 30, 200])),
            Poke(5, "link_restore", rng.choice([5, 40, 136])),
            Poke(6, "allowance", rng.choice([2, 16])),
            Poke(7, "allowance_period", rng.choice([60, 300])),
            Poke(8, "control", rng.getrandbits(5)),
        ]
        at = FIRST + 5
        for _ in range(14):
            at += rng.choice([1, 3, 20, 90, 400])
            actions += _something(rng, at, place)
        yield RuleCase(f"leap {index}", Stimulus.of(actions, tail=1500, **place), nothing, partial(same, NAME))


def _something(rng: random.Random, at: int, place: dict[str, int]) -> list[Action]:
    later = at + rng.choice([2, 10, 100, 300])
    match rng.randrange(6):
        case 0 | 1:
            frame = control_frame(rng, damage=0.2, **place)
            return [Send(at, rng.choice([*IN, "host", "boundary"]), frame)]
        case 2:
            sent = other_control(rng, card=place["card"], home=(place["node"] + 1) % place["size"], ttl=4)
            return [Post(at, rng.randrange(4), sent)]
        case 3:
            fault = rng.choice(["dead", "hang", "switch_stuck_through", "switch_stuck_bypass", "slow"])
            return [Fault(at, fault, True), Fault(later, fault, False)]
        case 4:
            link = rng.choice([*IN, "host", "boundary"])
            return [Carrier(at, link, False), Carrier(later, link, True)]
        case _:
            return [Fault(at, "dead", True), Fault(at + 3, "dead", False)]


# --------------------------------------------------------------------------------------------------------- timers


TIMERS = "quiescence.timers"
_SET = 12  # cycles after which all settings are written


def _timed(rng: random.Random, place: Place, timers: Iterable[str]) -> list[Action]:
    """Each of these timers runs once, for long; nothing else happens."""
    settings, actions = {"heartbeat": 0, "watchdog": rng.randrange(40, 4000)}, list[Action]()
    for timer in timers:
        at = _SET + rng.randrange(1, 300)
        long = rng.choice([rng.randrange(100, 600), rng.randrange(600, 3000)])
        match timer:
            case "heartbeat":
                settings["heartbeat"] = long
                at += rng.randrange(2 * long)
                actions += [Fault(at, "hang", True), Fault(at + 2 * long + settings["watchdog"], "hang", False)]
            case "gpu_restore":
                settings["gpu_restore"] = long
                actions += [Fault(at, "dead", True), Fault(at + rng.randrange(1, 90), "dead", False)]
            case "work":
                settings["compute_setup"] = long
                actions += [Send(at, "p1", frame) for _ in range(rng.randrange(1, 4)) for frame in place.unit(9)]
            case "mute":
                settings |= {"allowance": 1, "allowance_period": long}
                given = {"card": place.card, "home": place.other_gpu(), "ttl": 2}
                actions += [Post(at, rng.randrange(4), other_control(rng, **given)) for _ in range(rng.choice([2, 3]))]
            case "babble":
                settings |= {"allowance": 2, "allowance_period": long}
                actions += [Fault(at, "babble", True), Fault(at + rng.randrange(40, long), "babble", False)]
            case "stuck":
                actions += [Fault(at, "switch_stuck_through", True), Fault(at + rng.randrange(1, 90), "dead", True)]
            case link:
                settings["link_restore"] = max(long, settings.get("link_restore", 0))
                actions += [Carrier(at, link, False), Carrier(at + rng.randrange(1, 90), link, True)]
    return [*(Poke(2 + i, name, value) for i, (name, value) in enumerate(settings.items())), *actions]


@rule(TIMERS, "a node that rests while a timer runs names the cycle in which it ends, whichever others run beside it")
def timers(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    alone = (
        "heartbeat",
        "gpu_restore",
        "work",
        "mute",
        "babble",
        "stuck",
        "stuck",
        "stuck",
        "p1",
        "p2",
        "host",
        "boundary",
    )
    beside = [("work", "mute"), ("heartbeat", "mute"), ("gpu_restore", "p1"), ("stuck", "host"), ("work", "p2")]
    beside += [("mute", "boundary"), ("heartbeat", "gpu_restore"), *[("mute", "stuck")] * 3]
    for index in range(effort):
        for chosen in [*((timer,) for timer in alone), *beside]:
            place = Place(rng, 2, 3, 8, {"control": roles("entry")})
            stimulus = Stimulus.of(_timed(rng, place, chosen), tail=4200, **place.straps)
            yield RuleCase(f"{' and '.join(chosen)} {index}", stimulus, nothing, partial(same, TIMERS))


# --------------------------------------------------------------------------------------------------------- writes

WRITES = "quiescence.writes"
_BETWEEN = 30  # cycles from one write to the next
# What a node may be in the middle of while it rests.
_STATES: dict[str, tuple[Action, ...]] = {
    "well": (),
    "dead": (Fault(20, "dead", True),),
    "hangs": (Fault(20, "hang", True),),
    "dark": tuple(Carrier(20, link, False) for link in (*IN, "host", "boundary")),
    "stuck": (Fault(18, "switch_stuck_through", True), Fault(20, "dead", True)),
    "stuck in bypass": (Fault(20, "switch_stuck_bypass", True),),
}


@rule(WRITES, "what a register write brings about is done before the node rests, or at a time that it names")
def writes(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for state, begins in _STATES.items():
        for index in range(effort):
            place = straps(rng)
            actions: list[Action] = [
                *begins,
                Poke(2, "watchdog", 8),
                Poke(4, "heartbeat", 0),
                Poke(6, "gpu_restore", 0),
            ]
            settings = [r for r in registers.REGISTERS if r.access == "rw"]
            at = 100
            # Each one away from zero and back: what waits for a value begins then, or ends.
            for setting in rng.sample(settings, len(settings)):
                for value in (rng.randrange(40, 200), 0, rng.randrange(40, 200)):
                    actions.append(Poke(at, setting.name, value))
                    at += _BETWEEN + rng.randrange(8)
            stimulus = Stimulus.of(actions, tail=500, **place)
            yield RuleCase(f"{state} {index}", stimulus, nothing, partial(same, WRITES))
