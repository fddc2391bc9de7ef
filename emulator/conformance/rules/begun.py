"""A data frame that has begun to leave goes on to its end, whatever becomes of the GPU and its settings meanwhile."""

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace

from ringhil.emulator.conformance.data_frames import CCW, TO_HOST, Place, roles
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.conformance.steady import view_of
from ringhil.emulator.conformance.timeline import faulty
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import data
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.stimulus import Action, Fault, Poke, Send, Stimulus
from ringhil.emulator.trace.naming import described

_NAME = "data.begun"
_CARD, _THERE = 2, 5  # this card, and one that frames leave for here
_PAYLOAD = 20  # flits
_BEGUN = 6  # cycles in which a frame has begun to leave that nothing holds up
_STANDS = 20  # cycles after a change until it shows everywhere
_DONE = 80  # cycles in which a frame has left
_EPISODE = 130
_RESTORE = 4
# Which frames find their way by what is changed in their middle.
_PAIRS = (
    *(("p1", "host"), ("p2", "host"), ("boundary", "host"), ("p1", "boundary"), ("p2", "boundary")),
    *(("host", "boundary"), ("host", "p1"), ("host", "p2"), ("boundary", "p1"), ("boundary", "p2"), ("p1", "p2")),
)


def _judge(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """A frame that came while nothing changed has left whole, by the way that was its own then."""
    changes = [cycle for cycle, action in observed.done if isinstance(action, Fault | Poke)]
    dead, breaches = faulty(observed, "dead"), []
    for way, link in enumerate(WAYS):
        for frame in (f for f in observed.arrived[link] if f.channel == "data" and f.sof and f.eof):
            unsure = range(frame.began - _STANDS - _RESTORE, frame.began + _BEGUN)
            if any(cycle in unsure for cycle in changes) or frame.ended + _DONE > stimulus.cycles:
                continue
            before = [a for cycle, a in observed.done if cycle < frame.began and isinstance(a, Poke)]
            view = view_of(replace(stimulus, actions=tuple(before)))
            where = data.fate(frame.data, way, replace(view, bypassed=any(frame.began in s for s in dead)))
            left = [(out, f) for out in WAYS for f in observed.left[out] if f.data[6:16] == frame.data[6:16]]
            if where in WAYS and [(out, f.good) for out, f in left] != [(where, True)]:
                text = f"{where}: a frame that came by {link} hasn't left there whole ({described(frame.data)})"
                breaches.append(Breach(_NAME, frame.ended, text))
    return sorted(breaches, key=lambda b: b.cycle)


def _changes(rng: random.Random, place: Place, at: int, kind: str) -> list[Action]:
    """The GPU dies and comes back, or is told to be something else and back."""
    back = at + rng.randrange(14, 40)
    if kind == "dead":
        return [Fault(at, "dead", True), Fault(back, "dead", False)]
    there = {**place.settings, "control": roles("from_above")} if kind == "control" else {"crossings": 0, "exits": 0}
    pairs = [(name, value, place.settings[name]) for name, value in there.items() if value != place.settings[name]]
    actions: list[Action] = [Poke(at + i, name, value) for i, (name, value, _) in enumerate(pairs)]
    return [*actions, *(Poke(back + i, name, value) for i, (name, _, value) in enumerate(pairs))]


@rule(_NAME, "a data frame that has begun to leave goes on to its end, whatever becomes of the GPU and its settings")
def begun(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for kind in ("dead", "control", "cards"):
            place = Place(
                *(rng, _CARD, 1, 8),
                {"control": roles("entry", "boundary"), "crossings": 1 << _THERE, "exits": 1 << 9},
            )
            actions, at = settings(place, heartbeat=0, gpu_restore=_RESTORE), 40
            for (came, goes), again in itertools.product(_PAIRS, (False, True)):
                to = {"host": (_CARD, 1), "boundary": (_THERE, 3)}.get(goes, (_CARD, 4))
                if (came, goes) in (("boundary", "p2"), ("host", "p2")):
                    to = (9, 3)  # onward to a card that is further away
                flags = TO_HOST if goes == "host" else CCW * (goes == "p1")
                actions.append(Send(at, came, place.work(*to, ttl=4, flags=flags, flits=_PAYLOAD)))
                # The one behind it finds its way free.
                if not again:
                    actions += _changes(rng, place, at + _BEGUN + 2 + rng.randrange(12), kind)
                at += _EPISODE
            yield RuleCase(f"{kind} {index}", Stimulus.of(actions, tail=2 * _DONE, **place.straps), _judge)
