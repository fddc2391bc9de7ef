"""The quiescence contract: what a node that says it rests has promised."""

import random
from collections.abc import Iterable

from ringhil.emulator.conformance.frames import control_frame, other_control
from ringhil.emulator.conformance.rule import Case, rule
from ringhil.emulator.conformance.rules.control import FIRST, straps
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Poke, Post, Send, Stimulus

NAME = "quiescence.leap"


def nothing(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What the node did is judged by other rules."""
    return []


def same(plain: Observed, leaping: Observed) -> list[Breach]:
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
                    breaches.append(Breach(NAME, cycle, f"{link}: {what} {index}: {a} waiting, {b} leaping"))
                    break
    for index, (a, b) in enumerate(zip(plain.mail, leaping.mail, strict=False)):
        if a != b:
            breaches.append(Breach(NAME, a.ended, f"mail {index}: {a} waiting, {b} leaping"))
            break
    if len(plain.mail) != len(leaping.mail):
        breaches.append(
            Breach(NAME, 0, f"{len(plain.mail)} frames for the firmware waiting, {len(leaping.mail)} leaping")
        )
    for name, value in plain.registers.items():
        if value != leaping.registers[name]:
            text = f"register {name} is {value} waiting, {leaping.registers[name]} leaping"
            breaches.append(Breach(NAME, 1 << 62, text))
    return breaches


def _cycle(item: object) -> int:
    if isinstance(item, tuple):
        return int(item[0])
    return int(item if isinstance(item, int) else getattr(item, "began", 0))


@rule(NAME, "while a node says that it rests, letting time pass changes nothing (it may never say so)")
def leap(rng: random.Random, effort: int) -> Iterable[Case]:
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
        yield Case(f"leap {index}", Stimulus.of(actions, tail=1500, **place), nothing, same)


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
