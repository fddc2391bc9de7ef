"""Results and refusals where control frames go first: they leave whole, by every way out (R5)."""

import itertools
import random
from collections.abc import Iterable
from functools import partial

from ringhil.emulator.conformance.data_frames import roles, some_place
from ringhil.emulator.conformance.data_judge import judge_data
from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.compute import sources
from ringhil.emulator.conformance.rules.data import START, settings
from ringhil.emulator.conformance.rules.mailbox import in_order
from ringhil.emulator.conformance.steady import judge_control
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import AHEAD
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.stimulus import Action, Pause, Post, Send, Stimulus

_NAME = "compute.beside"
_UNITS = 10  # by each way
_APART = 60  # cycles from one unit to the next, in which it is answered
_EVERY = 11  # cycles between control frames, about


def _judge(enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Neither channel loses anything by the other."""
    breaches = judge_data(_NAME, enough, stimulus, observed) + judge_control(_NAME, stimulus, observed)
    return sorted([*breaches, *in_order(_NAME, stimulus, observed)], key=lambda b: b.cycle)


@rule(_NAME, "control frames go first at any flit of a result or refusal, on every way out: it leaves whole", "R5")
def beside(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, way in itertools.product(range(effort), range(len(WAYS))):
        place = some_place(rng, control=roles("entry", "boundary"))
        given = {"card": place.card, "home": place.other_gpu(), "ttl": 3}
        actions: list[Action] = settings(place, heartbeat=0, allowance=10_000)
        for number in range(_UNITS):
            source = sources(place)[way] if number % 2 else None
            unit = place.unit(8 * rng.randrange(1, 5), source=source, compute=int(number % 4 == 3))
            actions += [Send(START + number * _APART, WAYS[way], frame) for frame in unit]
        ends = START + _UNITS * _APART
        # An answer leaves by the link that its work came by, or goes on round the ring.
        for port, link in enumerate(("p2", "p1", "host", "boundary")):
            written = (Post(at, port, other_control(rng, **given)) for at in range(START, ends, _EVERY * len(WAYS)))
            actions += written
            came = next((by for by, out in AHEAD.items() if out == link), None)
            if came is None:
                continue
            # Frames on their way make pauses, so that single flits of the answer go between theirs.
            actions += [Send(at, came, RingFrame.of(other_control(rng, **given))) for at in range(START, ends, _EVERY)]
            at = START
            while at < ends:
                at += rng.randrange(1, 6)
                actions.append(Pause(at, came, True))
                at += rng.randrange(1, 4)
                actions.append(Pause(at, came, False))
        stimulus = Stimulus.of(actions, tail=900, **place.straps)
        yield RuleCase(f"by {WAYS[way]} {index}", stimulus, partial(_judge, stimulus.cycles))
