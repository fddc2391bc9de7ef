"""Turns on the data channel: how many others go before a frame that waits, how long it is held back (R5, R8)."""

import itertools
import random
from collections.abc import Iterable, Iterator
from functools import partial

from ringhil.emulator.conformance.credit_check import credits_left
from ringhil.emulator.conformance.data_frames import CCW, TO_HOST, WRAPPED, Place, roles
from ringhil.emulator.conformance.data_judge import judged_data
from ringhil.emulator.conformance.frames import statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.crossing import THERE, place_at
from ringhil.emulator.conformance.rules.data import START, length, played, settings
from ringhil.emulator.documents import one
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.compute import own_answer
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.stimulus import Action, Hold, Send, Stimulus
from ringhil.protocol.wire import DATA_SLOTS

FIRST = 3  # frames of each other way that may go before one that waits; the one that is just leaving is among them
READY = 50  # cycles from the end of a unit's segment until its answer waits, where nothing holds it up
HELD = 100  # cycles for which a frame on its way is held back
BESIDE = 30  # cycles more that control frames may take beside it
OWN = "own"
_CARD, _NODE = 2, 1
_SLOW = 40  # cycles for which the other card keeps a slot: all of them together, for longer than a frame may wait
_AWAY = 9  # a card for which frames go on round the ring
_PASSES = 40  # cycles within which a frame leaves that nothing holds up


def _turns(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed, after: int = 0) -> list[Breach]:
    """While a frame is the first of its way in, from cycle `after` on, at most FIRST of each other way go.

    All go the same way out, but for work: its answers do.
    """
    judged = judged_data(rule_name, enough, stimulus, observed)
    own = [f for link in WAYS for f in observed.left[link] if own_answer(f, judged.view)]
    compete = [link for link in WAYS if not any(f.kind == "work" for f in observed.arrived[link])]
    # A credit says that a frame has left its slot.
    gone: dict[str, list[int]] = {link: observed.credits[link] for link in compete}
    gone[OWN] = sorted(f.ended for f in own)
    waits: list[tuple[str, int, int]] = []  # who, since when, until when
    for link in compete:
        before = 0
        came = [f.began for f in observed.arrived[link] if f.channel == "data"]
        for began, left in zip(came, observed.credits[link], strict=False):
            waits.append((link, max(began, before), left))
            before = left
    before = 0
    given = sorted((g.frame.began, g.frame.ended, g.answer.since) for g in judged.answers.given if g.frame is not None)
    for began, ended, since in given:
        waits.append((OWN, max(since + READY, before), began))
        before = ended
    breaches = list(judged.breaches)
    for who, since, until in waits:
        for other in (other for other in gone if other != who):
            first = sum(max(since, after) < cycle < until for cycle in gone[other])
            if first > FIRST:
                text = f"{first} frames by {other} went before one by {who} that waited since cycle {max(since, after)}"
                breaches.append(Breach(rule_name, until, f"{text}, at most {FIRST} may"))
    return sorted(breaches, key=lambda b: b.cycle)


def _frame(place: Place, came: str, goes: str) -> RingFrame:
    """A frame by link `came` for the way `goes`; by "own", the work that is answered there."""
    if came == OWN:
        return place.unit(8, source=(THERE, 3) if goes == "boundary" else None)[0]
    match goes:
        case "engine":
            return place.answer(_CARD, _NODE, flags=0)  # not work: it ends there without a trace
        case "host":
            return place.answer(_CARD, _NODE, flags=TO_HOST)
        case "boundary":
            return place.answer(THERE, 4, ttl=4)
        case "p2" if came == "boundary":
            return place.answer(_AWAY, 4, ttl=4)
        case _:
            return place.answer(_CARD, 4, ttl=4, flags=CCW * (goes == "p1"))


@rule(
    "data.turns", "whoever competes for a way out: no one waits for more than three frames of each other way in", "R5"
)
def turns(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for goes in ("p2", "p1", "host", "boundary", "engine"):
        competing: list[str] = [link for link in WAYS if link != {"p2": "p2", "p1": "p1"}.get(goes, goes)]
        competing += [OWN] if goes != "engine" else []
        for who in competing:
            for endless in itertools.combinations([c for c in competing if c != who], 2):
                place = Place(rng, _CARD, _NODE, 8, {"control": roles("entry", "boundary"), "crossings": 1 << THERE})
                actions = settings(place)
                for came in endless:
                    link = goes if came == OWN else came
                    actions += [Send(START, link, _frame(place, came, goes)) for _ in range(10 * effort)]
                link = goes if who == OWN else who
                actions += [Send(START + 20, link, _frame(place, who, goes)) for _ in range(2)]
                stimulus = Stimulus.of(actions, tail=160 * effort + 450, **place.straps)
                judge = partial(_turns, "data.turns", stimulus.cycles)
                yield RuleCase(f"{who} to {goes} beside {' and '.join(endless)}", stimulus, judge)
        place = Place(rng, _CARD, _NODE, 8, {"control": roles("entry", "boundary"), "crossings": 1 << THERE})
        actions = settings(place)
        for came in competing:
            link = goes if came == OWN else came
            actions += [Send(START, link, _frame(place, came, goes)) for _ in range(8 * effort)]
        stimulus = Stimulus.of(actions, tail=280 * effort + 450, **place.straps)
        yield RuleCase(f"all to {goes}", stimulus, partial(_turns, "data.turns", stimulus.cycles))


_SLOWER, _QUICKER = 150, 40  # cycles for each slot: more, and less, than those on their way are held back
_QUICK_FROM, _LONG_AGO = 900, 3 * _SLOWER  # the cycle of the change; by then what went before has its slots back


@rule(
    "data.enters",
    "as soon as credits come within 100 cycles, new frames enter a ring by turns, however slow the way was before",
    "R5",
)
def enters(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for came, goes in (("p1", "p2"), ("p2", "p1")):
        for who in ("host", "boundary", OWN):
            place = Place(rng, _CARD, _NODE, 8, {"control": roles("entry", "boundary"), "crossings": 1 << THERE})
            actions = [*settings(place), Hold(10, goes, _SLOWER), Hold(_QUICK_FROM, goes, _QUICKER)]
            # In the slow stretch no frame on its way waits long enough for the second credit.
            actions += [Send(START, came, _frame(place, came, goes)) for _ in range(36 * effort)]
            actions += [Send(START + 20, goes if who == OWN else who, _frame(place, who, goes)) for _ in range(4)]
            stimulus = Stimulus.of(actions, tail=(36 * effort + 10) * _QUICKER + 8 * _SLOWER, **place.straps)
            judge = partial(_turns, "data.enters", stimulus.cycles, after=_QUICK_FROM + _LONG_AGO)
            yield RuleCase(f"{who} to {goes}", stimulus, judge)


def _too_long(rule_name: str, came: str, goes: str, stimulus: Stimulus, observed: Observed) -> Iterator[Breach]:
    left = {f.data[8:16]: f for f in observed.left[goes] if f.channel == "data"}
    before = 0
    for frame in (f for f in observed.arrived[came] if f.channel == "data"):
        since = max(frame.began, before)
        out = left.get(frame.data[8:16])
        if out is None and credits_left(observed, goes) == 0:
            return
        until = stimulus.cycles if out is None else out.began
        if until - since > HELD + BESIDE:
            text = f"a frame on its way by {came} waited {until - since} cycles with a credit to go, at most {HELD}"
            yield Breach(rule_name, until, text)
        before = until if out is None else out.ended


def _held(rule_name: str, came: str, goes: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    return list(_too_long(rule_name, came, goes, stimulus, observed))


@rule("data.held", "a frame on its way is held back for 100 cycles at most, also where control frames go between", "R5")
def held(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for came, goes in (("p1", "p2"), ("p2", "p1")):
        for phase in range(11):
            place = Place(rng, _CARD, _NODE, 8, {"control": roles("entry")})
            actions: list[Action] = [*settings(place, heartbeat=0), Hold(10, goes, -1)]
            # Two of three slots are taken: enough for what is on its way, not for what is new.
            actions += [Send(START, came, place.answer(_CARD, 4, ttl=4)) for _ in range(2)]
            actions.append(Send(50, "host", place.answer(_CARD, 4, ttl=4, flags=CCW * (goes == "p1"))))
            actions.append(Send(60, came, place.answer(_CARD, 4, ttl=4)))
            # Half of the cycles belong to control frames.
            for i in range(16 * effort):
                data = statistics(rng, card=_CARD, origin=4, ttl=4, flags=WRAPPED)
                actions.append(Send(70 + phase + 11 * i, came, RingFrame.of(data)))
            stimulus = Stimulus.of(actions, tail=100, **place.straps)
            yield RuleCase(f"{goes} {phase}", stimulus, partial(_held, "data.held", came, goes))


@rule(
    "crossing.busy", "frames for another card that wait in turn, but go on, are never dropped, however long that lasts"
)
def busy(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = place_at(rng, "entry")
    actions: list[Action] = [*settings(place), Hold(10, "boundary", _SLOW)]
    sent = []
    for link in ("p1", "p2", "host"):
        for _ in range(44 * effort):
            sent.append(place.answer(THERE, rng.randrange(1024), ttl=4))
            actions.append(Send(START, link, sent[-1]))
    yield played("crossing.busy", "all ways", actions, place, length(sent) + _SLOW * len(sent) + 600)


def _beside(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What doesn't wait for another card, nor behind a frame that does, leaves as if nothing waited."""
    left = {f.data[8:16]: f for link in WAYS for f in observed.left[link]}
    crossing = {f.data[8:16] for link in WAYS for f in observed.arrived[link] if f.data[1] == THERE}
    behind = {link for link in WAYS for f in observed.arrived[link] if f.data[8:16] in crossing}
    breaches = []
    for link in (link for link in WAYS if link not in behind):
        for frame in (f for f in observed.arrived[link] if f.channel == "data"):
            out = left.get(frame.data[8:16])
            until = stimulus.cycles if out is None else out.began
            if until - frame.ended > _PASSES:
                text = f"{one(frame.kind)} frame that came by {link} waited {until - frame.ended} cycles beside frames"
                breaches.append(Breach(rule_name, until, f"{text} for another card, which takes none"))
    return breaches


@rule(
    "crossing.beside",
    "a frame that waits for another card holds up those behind it in its buffer, and no others",
    "R8",
)
def beside(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for waits in (("p1",), ("p2",), ("host",), ("p1", "host")):
            place = Place(rng, _CARD, _NODE, 8, {"control": roles("entry", "boundary"), "crossings": 1 << THERE})
            actions: list[Action] = [*settings(place), Hold(10, "boundary", -1)]
            for link in waits:
                actions += [Send(START, link, place.answer(THERE, 4, ttl=4)) for _ in range(DATA_SLOTS + 2)]
            at = START + 100
            for came, goes in itertools.product(WAYS, ("p1", "p2", "host")):
                if came not in waits and came != goes:
                    actions.append(Send(at, came, _frame(place, came, goes)))
                    at += _PASSES
            stimulus = Stimulus.of(actions, tail=_PASSES + 60, **place.straps)
            judge = partial(_beside, "crossing.beside")
            yield RuleCase(f"by {' and '.join(waits)} {index}", stimulus, judge)
