"""Settings are 32 bits wide: a time, or a number of frames, that is much longer than the play isn't over in it."""

import random
from collections.abc import Iterable, Iterator

from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.link import DOWN
from ringhil.emulator.conformance.timeline import bit, readings, setting
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Peek, Poke, Post, Send, Stimulus

NAME = "timers.wide"
PLACE = {"card": 2, "node": 1, "size": 8}
SHORTEST, LONGEST = 9, 31  # a setting is one bit, from the first one that is longer than a play
BEGIN, LOOK = 40, 360  # cycles
SLACK = 8  # cycles between an action and the node's knowing of it
FRAMES = 20  # of the GPU's own, to try its allowance


def _too_early(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What the node's status says is over, or has come to pass, before its time."""
    breaches = []
    for cycle, status in readings(observed, "status"):
        for what, since, limit, name, must in _promises(stimulus):
            if since + SLACK < cycle < since + limit and bit(status, name) != must:
                text = f"{what} at {since}: {name} is {int(not must)} after {cycle - since} cycles, set are {limit}"
                breaches.append(Breach(NAME, cycle, text))
    return breaches


def _promises(stimulus: Stimulus) -> Iterator[tuple[str, int, int, str, bool]]:
    """What happens, when, for how many cycles a bit of the status must then be as it is, which, and how."""
    own = [a.at for a in stimulus.actions if isinstance(a, Post)]
    allowed = setting(stimulus, "allowance")
    for a in stimulus.actions:
        if isinstance(a, Fault) and a.name == "dead" and not a.on:
            yield "the GPU is well again", a.at, setting(stimulus, "gpu_restore"), "restoring", True
        if isinstance(a, Fault) and a.name == "hang" and a.on:
            yield "the GPU hangs", a.at, setting(stimulus, "watchdog"), "tripped", False
        if isinstance(a, Carrier) and a.up:
            yield f"the carrier of {a.link} is back", a.at, setting(stimulus, "link_restore"), DOWN[a.link], True
    if len(own) > allowed:
        last = own[allowed] + 8 * allowed + 20  # by then the frame too many has been offered
        yield "the GPU sends too much", last, setting(stimulus, "allowance_period") - last, "muted", True
    elif own:
        yield "the GPU sends", own[0], stimulus.cycles, "muted", False


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
    yield "allowance_period", [quiet, Poke(3, "allowance", 2), Poke(4, "allowance_period", wide), *posts[:6]]


@rule(NAME, "settings are 32 bits wide: long times last, a great allowance isn't used up by few frames", "R6")
def wide(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(SHORTEST, LONGEST + 1):
        for name, actions in _plays(rng, 1 << index):
            looks = [Peek(at, "status") for at in (LOOK, LOOK + 20)]
            yield RuleCase(f"{name} {1 << index}", Stimulus.of([*actions, *looks], tail=10, **PLACE), _too_early)
