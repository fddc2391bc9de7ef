"""A carrier that is lost for a single cycle, once or again and again: a loss like any other (R6)."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from ringhil.emulator.conformance.credit_check import Use, given_back, uses
from ringhil.emulator.conformance.data_frames import CCW, Place, roles
from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, straps
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.conformance.rules.link import state_told
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.stimulus import Action, Carrier, Mark, Peek, Poke, Send, Stimulus
from ringhil.emulator.trace.naming import described
from ringhil.protocol.wire import LINKS

_TOLD = 4  # cycles until a loss shows on the node's own end
_DONE = 150  # cycles within which all that came has left
_LONGEST = 18  # flits of the frames that are cut here, both channels together


def _blink(link: str, at: int) -> list[Action]:
    return [Carrier(at, link, False), Carrier(at + 1, link, True)]


@rule(
    "link.blink", "a carrier that is gone for one cycle only is lost, and has to be back for link_restore cycles", "R6"
)
def blink(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for link in LINKS:
        for index in range(effort):
            wait = rng.randrange(12, 40)
            actions: list[Action] = [*QUIET, Poke(5, "link_restore", wait)]
            at = 20 + rng.randrange(9)
            # Once; while it isn't back for long enough, early and late; two cycles out of four.
            for again in ((), (wait // 2,), (wait - 3,), (2,), (wait // 3, wait)):
                actions += _blink(link, at)
                for later in again:
                    at += later
                    actions += _blink(link, at)
                actions += [Peek(at + wait - 4, "status"), Peek(at + wait + 12, "status")]
                at += wait + 20
            # It has been back for long enough, and waits for the far end.
            actions += [Mark(at, link, True), *_blink(link, at + 2)]
            at += wait + 14
            actions += [*_blink(link, at), Mark(at + 4, link, False), Peek(at + 9, "status")]
            actions += [Peek(at + wait - 4, "status"), Peek(at + wait + 12, "status")]
            stimulus = Stimulus.of(actions, tail=30, **straps(rng))
            yield RuleCase(f"{link} {index}", stimulus, partial(state_told, "link.blink"))


# ------------------------------------------------------------------------------------------------ what is left behind


def _key(channel: str, data: bytes) -> tuple[str, bytes]:
    """What tells the frames that are played here from each other, wherever they are."""
    return channel, data[:2] + data[6:16]


def _clean(spans: Iterable[Use], frame: RingFrame) -> bool:
    """It came while the link was in use, all of it, and certainly so."""
    return frame.good and any(s.first + _TOLD < frame.began and frame.ended + _TOLD < s.last for s in spans)


def _gone(observed: Observed) -> Counter[tuple[str, bytes]]:
    """How many times each frame left as a good one, or was handed over."""
    gone = Counter(_key(f.channel, f.data) for link in LINKS for f in observed.left[link] if f.good)
    gone.update(_key("control", m.data) for m in observed.mail if m.whole and not m.bad)
    return gone


def _left_behind(rule_name: str, link: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    spans, gone = uses(observed, link), _gone(observed)
    arrived = observed.arrived[link]
    breaches = list(_wrong_ends(rule_name, stimulus, observed, arrived))
    for frame in arrived:
        times = gone[_key(frame.channel, frame.data)]
        if times > 1 or (times < 1 and _clean(spans, frame) and frame.ended + _DONE < stimulus.cycles):
            text = f"a {frame.channel} frame that came by {link} left {times} times ({described(frame.data)})"
            breaches.append(Breach(rule_name, frame.ended, text))
    data = [f for f in arrived if f.channel == "data"]
    if max([0, *(f.ended for f in data)]) + _DONE < stimulus.cycles and (link, "data") not in observed.unfinished:
        lost = sum(f.sof and not f.eof and f.began >= spans[-1].first for f in data) if spans else 0
        breaches += given_back(rule_name, observed, link, [f.began for f in data if f.sof], lost)
    return sorted(breaches, key=lambda b: b.cycle)


def _wrong_ends(
    rule_name: str, stimulus: Stimulus, observed: Observed, arrived: Iterable[RingFrame]
) -> Iterator[Breach]:
    """A frame leaves whole as it came, or marked where it was cut."""
    came = {_key(f.channel, f.data) for f in arrived}
    for out in LINKS:
        for frame in observed.left[out]:
            if frame.good and _key(frame.channel, frame.data) not in came:
                yield Breach(rule_name, frame.ended, f"{out}: a good frame left that nobody sent ({frame.title})")
            elif not frame.good and not (frame.sof and frame.eof and frame.err):
                yield Breach(rule_name, frame.ended, f"{out}: a cut frame left without the mark ({frame.title})")


def _pair(rng: random.Random, place: Place, link: str) -> list[RingFrame]:
    """A frame on either channel that goes on from a link."""
    onward = OUT[IN.index(link)] if link in IN else "p1"
    home = 4 if link in IN else place.node
    control = RingFrame.of(other_control(rng, card=place.card, home=home, ttl=4))
    return [control, place.work(place.card, 4, ttl=4, flits=rng.choice([1, 3, 8]), flags=CCW * (onward == "p1"))]


@rule(
    "link.left_behind",
    "of what was under way when a carrier was gone for a moment nothing is left: frames, halves, credits",
    "R6",
)
def left_behind(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for link in LINKS:
        for index in range(effort):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary")})
            actions = settings(place, link_restore=4, heartbeat=0)
            at = 30
            for offset in range(rng.randrange(2), _LONGEST, 2):
                for _ in range(rng.choice([1, 1, 2, 4])):
                    actions += [Send(at, link, frame) for frame in _pair(rng, place, link)]
                actions += _blink(link, at + offset)
                if rng.random() < 0.3:
                    actions += _blink(link, at + offset + rng.randrange(2, 30))
                at += offset + 70
                for _ in range(2):
                    actions += [Send(at, link, frame) for frame in _pair(rng, place, link)]
                at += 60
            stimulus = Stimulus.of(actions, tail=_DONE + 100, **place.straps)
            yield RuleCase(f"{link} {index}", stimulus, partial(_left_behind, "link.left_behind", link))
