"""Settings are 32 bits wide: what is much longer than a play isn't over in it, and a long time ends when it is over."""

import random
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.link import DOWN
from ringhil.emulator.conformance.rules.mailbox import guard_settings, guardian, message
from ringhil.emulator.conformance.timeline import NEVER, bit, readings, setting
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Peek, Poke, Post, Send, Stimulus
from ringhil.protocol import registers

NAME, LONG = "timers.wide", "timers.long"
PLACE = {"card": 2, "node": 1, "size": 8}
SHORTEST, LONGEST = 9, 31  # a setting is one bit, from the first one that is longer than a play
BEGIN, LOOK = 40, 360  # cycles
SLACK = 8  # cycles between an action and the node's knowing of it
LATE = 2 * SLACK  # cycles after the end of a time until it shows
_ASKS = next(r.reset for r in registers.REGISTERS if r.name == "heartbeat")  # cycles; asked by that at first
_BITS = 14  # a time of `timers.long` has this bit, and any of those below
FRAMES = 20  # of the GPU's own, to try its allowance


def _untimely(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What the node's status says is over, or has come to pass, before its time or behind it."""
    breaches = []
    for cycle, status in readings(observed, "status"):
        for p in _promises(stimulus):
            before, behind = p.since + SLACK < cycle < p.earliest, cycle > p.latest
            if (before and bit(status, p.name) != p.first) or (behind and bit(status, p.name) == p.first):
                text = f"{p.what} at {p.since}: {p.name} is {bit(status, p.name):d} after {cycle - p.since} cycles"
                when = "after" if before else "within"
                text += f", must change {when} {(p.earliest if before else p.latest) - p.since}"
                breaches.append(Breach(rule_name, cycle, text))
    return breaches


class _Promise(NamedTuple):
    """A bit `name` of the status is `first` from `since` on, and changes in `earliest` to `latest`; why."""

    what: str
    name: str
    first: bool
    since: int
    earliest: int
    latest: int


def _promises(stimulus: Stimulus) -> Iterator[_Promise]:
    """What the status must show of what happens."""
    own = [a.at for a in stimulus.actions if isinstance(a, Post)]
    frames = [a.at for a in stimulus.actions if isinstance(a, Send)]
    allowed, watchdog = setting(stimulus, "allowance"), setting(stimulus, "watchdog")
    for a in stimulus.actions:
        if isinstance(a, Fault) and a.name == "dead" and not a.on:
            ends = a.at + setting(stimulus, "gpu_restore")
            yield _Promise("the GPU is well again", "restoring", True, a.at, ends, ends + LATE)
        if isinstance(a, Fault) and a.name == "hang" and a.on:
            # A frame that it is handed is waited for, or the answer to the next question, however late that is asked.
            asks = setting(stimulus, "heartbeat")
            asked = max([a.at, *frames]) if frames else a.at + max(asks, _ASKS) if asks else NEVER
            latest = asked + watchdog + LATE
            yield _Promise("the GPU hangs", "tripped", False, a.at, a.at + watchdog, latest)
        if isinstance(a, Carrier) and a.up:
            ends = a.at + setting(stimulus, "link_restore")
            yield _Promise(f"the carrier of {a.link} is back", DOWN[a.link], True, a.at, ends, ends + LATE)
    if len(own) > allowed:
        last = own[allowed] + 8 * allowed + 20  # by then the frame too many has been offered
        ends = setting(stimulus, "allowance_period")
        # It begins a period, in which no other one comes.
        latest = last + ends if len(own) == allowed + 1 else NEVER
        yield _Promise("the GPU sends too much", "muted", True, last, own[allowed] + ends, latest)
    elif own:
        yield _Promise("the GPU sends", "muted", False, own[0], stimulus.cycles, NEVER)


def _plays(rng: random.Random, wide: int) -> Iterator[tuple[str, list[Action]]]:
    """Stimuli in which the setting `wide` (cycles or frames) must not be used up."""
    own = [other_control(rng, card=2, home=5, ttl=4) for _ in range(FRAMES)]
    frame = RingFrame.of(other_control(rng, card=2, home=5, ttl=4))
    quiet = Poke(2, "heartbeat", 0)
    yield "gpu_restore", [quiet, Poke(3, "gpu_restore", wide), Fault(BEGIN, "dead", True), Fault(60, "dead", False)]
    lines = [(Carrier(BEGIN, link, False), Carrier(60, link, True)) for link in DOWN]
    yield "link_restore", [quiet, Poke(3, "link_restore", wide), *(a for a, _ in lines), *(b for _, b in lines)]
    yield "watchdog", [quiet, Poke(3, "watchdog", wide), Fault(BEGIN, "hang", True), Send(60, "p1", frame)]
    yield "watchdog, asked", [Poke(2, "watchdog", wide), Poke(3, "heartbeat", 50), Fault(BEGIN, "hang", True)]
    posts = [Post(BEGIN + 12 * i, i % 2, data) for i, data in enumerate(own)]
    yield "allowance", [quiet, Poke(3, "allowance", wide), *posts]
    # With the shortest period the allowance would be fresh again before the play is over.
    yield "allowance_period", [quiet, Poke(3, "allowance", 2), Poke(4, "allowance_period", wide), *posts[:3]]


@rule(NAME, "settings are 32 bits wide: long times last, a great allowance isn't used up by few frames", "R6")
def wide(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(SHORTEST, LONGEST + 1):
        for name, actions in _plays(rng, 1 << index):
            looks = [Peek(at, "status") for at in (LOOK, LOOK + 20)]
            stimulus = Stimulus.of([*actions, *looks], tail=10, **PLACE)
            yield RuleCase(f"{name} {1 << index}", stimulus, partial(_untimely, NAME))
    # A mute that goes on for another period, which is written while the first one runs.
    for index in range(SHORTEST, LONGEST + 1):
        actions = guard_settings(2, 100)
        actions += [Post(BEGIN + 12 * i, i % 2, message(rng, PLACE)) for i in range(8)]
        actions += [Poke(140, "allowance_period", 1 << index), Peek(LOOK, "status")]
        stimulus = Stimulus.of(actions, tail=10, **PLACE)
        yield RuleCase(f"allowance_period, renewed {1 << index}", stimulus, partial(guardian, NAME))


@rule(LONG, "times of many cycles end when they are over, each by its own setting with all its bits", "R6")
def long(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for names in (("gpu_restore", "link_restore"), ("watchdog",), ("allowance_period",), ("heartbeat",)):
            actions, looks = list[Action](), set[int]()
            for name in names:
                cycles = (1 << _BITS) + rng.getrandbits(_BITS)
                # From the first question on.
                asked = Poke(0, "heartbeat", cycles), Poke(2, "watchdog", 50), Fault(BEGIN, "hang", True)
                actions += dict(_plays(rng, cycles), heartbeat=asked)[name]
                looks |= {cycles + since for since in range(BEGIN - LATE, BEGIN + 8 * LATE, 4)}
            stimulus = Stimulus.of([*actions, *(Peek(at, "status") for at in looks)], tail=10, **PLACE)
            yield RuleCase(f"{' and '.join(names)} {index}", stimulus, partial(_untimely, LONG))
