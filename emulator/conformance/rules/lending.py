"""A GPU that is lent to a virtual machine: its switch joins the ring's ports on purpose (R6, V5).

A node whose `lent` takes nothing can't be lent, and keeps them.
"""

import random
from collections.abc import Iterable, Sequence

from ringhil.emulator.conformance.frames import control_frame, other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, spread, straps
from ringhil.emulator.conformance.rules.switch import AT_ONCE, BACK, LONGEST, OUT_OF_RING, either, foreign
from ringhil.emulator.conformance.steady import judge_control
from ringhil.emulator.conformance.timeline import bit, can_be_lent, lent, readings, setting
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Fault, Peek, Poke, Post, Send, Stimulus

_OTHERS = ("tripped", "muted", "stuck")


def _wrong_status(rule_name: str, cycle: int, value: int, on: bool) -> list[Breach]:
    """Of a GPU that works and is lent, or is neither lent nor on its way back."""
    wanted = {**dict.fromkeys((*OUT_OF_RING, "lent"), on), **dict.fromkeys(_OTHERS, False), "healthy": True}
    return [
        Breach(rule_name, cycle, f"status 0x{value:03X}: {name} must be {int(want)} {'while' if on else 'after'} lent")
        for name, want in wanted.items()
        if bit(value, name) != want
    ]


def _passes(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    name = "lending.passes"
    if not lent(observed):
        return judge_control(name, stimulus, observed)
    breaches = judge_control(name, stimulus, observed, NodeView(bypassed=True)) + _speaks(stimulus, observed)
    return breaches + _wrong_status(name, stimulus.cycles, observed.registers["status"], True)


def _speaks(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """By links outside the ring; also where its switch is stuck and can't join the ring's ports."""
    return [
        Breach("lending.passes", frame.ended, f"{link}: a frame of the lent GPU left ({frame.title})")
        for link in ("host", "boundary")
        for frame in (observed.left[link] if lent(observed) else ())
    ]


@rule("lending.passes", "every frame passes a lent GPU as it passes a dead one; its own frames don't leave", "R6")
def passes(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = straps(rng)
        given = {"card": place["card"], "ttl": 3}
        frames = [control_frame(rng, damage=0.2, **place) for _ in range(8)]
        frames += [RingFrame.of(other_control(rng, home=place["node"], **given)) for _ in range(2)]
        posts = [Post(20 + 60 * i, i % 4, other_control(rng, home=place["size"] - 1, **given)) for i in range(8)]
        value = rng.getrandbits(32) | 1
        actions = [*QUIET, Poke(6, "lent", value), *spread(frames, (0, 1) * 5), *posts]
        yield RuleCase(f"lent {index}", Stimulus.of(actions, **place), _passes)
        stuck: list[Action] = [*QUIET, Fault(5, "switch_stuck_through", True), Poke(6, "lent", value), *posts]
        yield RuleCase(f"lent and stuck {index}", Stimulus.of(stuck, **place), _speaks)


def _moves(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    name, spans, restore = "lending.moves", lent(observed), setting(stimulus, "gpu_restore")
    if not can_be_lent(observed):  # nobody has seen it be so
        return []
    working, passing = either(stimulus)

    def out(begin: int, end: int) -> bool:
        """It takes no part for certain, all this time."""
        return any(s.begin + LONGEST <= begin and end < s.end + restore for s in spans)

    def there(begin: int, end: int) -> bool:
        """It takes part for certain, all this time."""
        return all(end < s.begin - AT_ONCE or s.end + restore + BACK + LONGEST < begin for s in spans)

    def views(frame: RingFrame) -> Sequence[NodeView]:
        if out(frame.began, frame.ended):
            return (passing,)
        return (working,) if there(frame.began, frame.ended + LONGEST) else (working, passing)

    breaches = judge_moving(name, stimulus, observed, Moves(views, cuts=len(spans)))
    for cycle, value in readings(observed, "status"):
        if out(cycle, cycle) and not any(s.end <= cycle + AT_ONCE for s in spans if s.end + restore > cycle):
            breaches += _wrong_status(name, cycle, value, True)
        elif out(cycle, cycle) and not all(bit(value, each) for each in OUT_OF_RING):
            breaches.append(Breach(name, cycle, f"status 0x{value:03X}: in the ring before gpu_restore is over"))
        elif there(cycle, cycle):
            breaches += _wrong_status(name, cycle, value, False)
    return breaches


@rule("lending.moves", "a GPU that is lent or given back, in whatever cycle, loses no frame, and stays out gpu_restore")
def moves(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for longest in (13, 63):
            place = straps(rng)
            restore = rng.choice([4, 40, 200])
            actions: list[Action] = [*QUIET, Poke(5, "watchdog", 400), Poke(6, "gpu_restore", restore)]
            at = 30
            for _ in range(8):
                begins = at + rng.randrange(70)
                ends = begins + rng.choice([3, 30, 2 * LONGEST])
                for lane in (0, 1):
                    for i in range(8):
                        frame = foreign(rng, place, rng.randrange(5, longest, 2))
                        actions.append(Send(at + (2 * longest + 20) * i + rng.randrange(16), IN[lane], frame))
                actions += [Poke(begins, "lent", 1), Peek(begins + 2, "lent"), Poke(ends, "lent", 0)]
                seen = (begins + LONGEST + 20, ends - 3, ends + restore - 6, ends + restore + BACK + LONGEST + 8)
                actions += [Peek(cycle, "status") for cycle in seen if cycle > begins + 4]
                at = max(ends + restore + BACK, at + 8 * (2 * longest + 20)) + 3 * LONGEST
            yield RuleCase(f"up to {longest} flits {index}", Stimulus.of(actions, tail=500, **place), _moves)
