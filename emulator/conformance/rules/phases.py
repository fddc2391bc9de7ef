"""Phases: a link, a fault or a setting changes in whatever cycle of a frame, a credit or a unit of work."""

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ringhil.emulator.conformance.credit_check import uses
from ringhil.emulator.conformance.data_frames import CCW, TO_HOST, Place, roles
from ringhil.emulator.conformance.data_judge import judge_data, standing
from ringhil.emulator.conformance.frames import other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import RECORDS
from ringhil.emulator.conformance.rules.data import START, settings
from ringhil.emulator.conformance.rules.switch import AT_ONCE, either
from ringhil.emulator.conformance.steady import judge_control
from ringhil.emulator.conformance.timeline import bit, setting
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.documents import one
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import compute, data
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Hold, Pause, Poke, Post, Send, Stimulus
from ringhil.protocol import wire
from ringhil.protocol.wire import DATA_SLOTS

_PHASES = 8  # more than the flits of a frame that is played here


def _fresh(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Whatever became of frames that were on their way: every slot's credit is given, and none twice.

    Only said of a play at whose end no receiver holds back its slots, and of links at which no frame was cut."""
    held = {a.link: a.cycles < 0 for a in stimulus.actions if isinstance(a, Hold)}
    if any(held.values()):
        return []
    breaches = []
    for link in WAYS:
        used = uses(observed, link)
        if len(used) < 2 or used[-1].last < stimulus.cycles:
            continue
        frames = [f for f in observed.arrived[link] if f.channel == "data" and f.began >= used[-1].first]
        if any(not (f.sof and f.eof) for f in frames) or (link, "data") in observed.unfinished:
            continue
        given, wanted = sum(c >= used[-1].first for c in observed.credits[link]), DATA_SLOTS + len(frames)
        if given != wanted:
            text = f"{link}: {given} credits given since cycle {used[-1].first}, must be {wanted}: all frames have left"
            breaches.append(Breach(rule_name, stimulus.cycles, text))
    return breaches


@rule("data.phases", "in whatever cycle of a frame or credit a link is used again, credits start afresh", "R6")
def phases(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_fresh, "data.phases")
    for phase in range(_PHASES):
        # Frames leave the buffer of a link in the very cycle in which it is used again, or goes.
        for link, goes in (("p1", "p2"), ("p2", "p1"), ("host", "p2"), ("boundary", "p1")):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary")})
            actions: list[Action] = [*settings(place, link_restore=20), Hold(10, goes, -1)]
            flags = CCW if goes == "p1" else 0
            actions += [Send(START, link, place.answer(2, 4, ttl=4, flags=flags)) for _ in range(6)]
            actions += [Carrier(150, link, False), Carrier(160, link, True)]
            actions += [Hold(170 + phase, goes, 0)]
            actions += [Send(260, link, place.answer(2, 4, ttl=4, flags=flags)) for _ in range(5)]
            yield RuleCase(f"{link} drains {phase}", Stimulus.of(actions, tail=500, **place.straps), judge)
        # What a dead ring link turns round goes through its buffer, and the link comes back meanwhile: at first nobody
        # gives a slot back, so that a credit too many is a frame too many.
        for link, came in (("p2", "p1"), ("p1", "p2")):
            place = Place(rng, 2, 1, 8)
            actions = [*settings(place, link_restore=20), Carrier(6, link, False)]
            actions += [Send(60 + phase, came, place.answer(2, 4, ttl=4)) for _ in range(12)]
            actions += [Carrier(90, link, True), Hold(91, link, -1)]
            actions += [Send(220, came, place.answer(2, 4, ttl=4)) for _ in range(5)]
            actions.append(Hold(330, link, 0))
            yield RuleCase(f"{link} wraps {phase}", Stimulus.of(actions, tail=500, **place.straps), judge)
        # The same with frames that enter the ring there, the CPU's and answers.
        for link, flags in (("p2", 0), ("p1", CCW)):
            place = Place(rng, 2, 1, 8, {"control": roles("entry")})
            actions = [*settings(place, link_restore=20), Carrier(6, link, False)]
            actions += [Send(60 + phase, "host", place.answer(2, 4, ttl=4, flags=flags)) for _ in range(12)]
            actions += [Carrier(90, link, True), Hold(91, link, -1)]
            actions += [Send(220, "host", place.answer(2, 4, ttl=4, flags=flags)) for _ in range(5)]
            actions.append(Hold(330, link, 0))
            yield RuleCase(f"{link} is entered {phase}", Stimulus.of(actions, tail=500, **place.straps), judge)
    # What is thrown away at a dead link may begin as the link is used again: then it needs a credit, too.
    for link, came in (("host", "p2"), ("boundary", "p1")):
        place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
        actions = settings(place, link_restore=8)
        for offset in range(2 * _PHASES):
            at = 40 + 100 * offset
            actions += [Carrier(at, link, False), Carrier(at + 1, link, True)]
            frame = place.answer(2, 1, ttl=4, flags=TO_HOST) if link == "host" else place.work(5, 4, ttl=4, flits=1)
            actions.append(Send(at + offset, came, frame))
        yield RuleCase(f"{link} throws away", Stimulus.of(actions, tail=100, **place.straps), judge)


def _unharmed(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Both channels follow their models, the control channel's that of a corrupt GPU."""
    faults = frozenset(a.name for a in stimulus.actions if isinstance(a, Fault) and a.on)
    breaches = judge_control(rule_name, stimulus, observed, NodeView(faults=faults))
    return sorted([*breaches, *judge_data(rule_name, enough, stimulus, observed)], key=lambda b: b.cycle)


@rule("data.unharmed", "a corrupt GPU leaves data frames on their way as they are, also in the gaps of control frames")
def unharmed(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for link, flags in (("p1", 0), ("p2", CCW)):
        for index in range(8 * effort):
            # The control frames make pauses behind any of their flits.
            place = Place(rng, 2, 1, 8, {"control": roles("entry")})
            actions: list[Action] = [*settings(place, heartbeat=0), Fault(9, "corrupt", True)]
            actions += [Send(30, "host", place.answer(2, 4, ttl=4, flags=flags)) for _ in range(6)]
            actions += [Send(30, link, RingFrame.of(other_control(rng, card=2, home=4, ttl=4))) for _ in range(3)]
            at = 30
            while at < 90:
                at += rng.randrange(1, 5)
                actions.append(Pause(at, link, True))
                at += rng.randrange(1, 12)
                actions.append(Pause(at, link, False))
            stimulus = Stimulus.of(actions, tail=500, **place.straps)
            judge = partial(_unharmed, "data.unharmed", stimulus.cycles)
            yield RuleCase(f"{link} {index}", stimulus, judge)


# ----------------------------------------------------------------------------------------------------------- units


_CYCLES = slice(36, 40)  # bytes of a result: what its unit took
_UNIT = slice(8, 16)  # epoch and unit


def _one_moment(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """The time of each unit follows from settings and `slow` as they were in one and the same cycle."""
    state = {name: NodeView().register(name) for name in ("compute_setup", "compute_per_flit")}
    slow, times = 1, set()
    for cycle in range(stimulus.cycles):
        begun = [a for a in stimulus.actions if a.at == cycle]
        for action in begun:
            if isinstance(action, Poke) and action.register in state:
                state[str(action.register)] = action.value
            elif isinstance(action, Fault):
                slow = compute.SLOW if action.on else 1
        # A write holds from the cycle behind it, a fault at once: they are begun one after the other.
        if not any(isinstance(a, Poke) for a in begun):
            times.add(sum(state.values()) * slow)  # of a unit of one flit
    breaches = []
    for link in WAYS:
        for frame in (f for f in observed.left[link] if f.kind == "result" and f.good):
            took = int.from_bytes(frame.data[_CYCLES], "big")
            if took not in times:
                unit = int.from_bytes(frame.data[_UNIT], "big")
                text = f"{link}: unit {unit} took {took} cycles, which it does in no cycle's state"
                breaches.append(Breach(rule_name, frame.ended, f"{text} ({', '.join(map(str, sorted(times)))} are)"))
    return breaches


@rule("compute.moment", "what a unit takes follows from settings and `slow` in the one cycle in which it begins", "R5")
def moment(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for slow in (True, False):
            place = Place(rng, 2, 1, 8, {"control": roles("entry"), "compute_per_flit": 0})
            before, after = rng.randrange(30, 50), rng.randrange(51, 90)
            actions: list[Action] = settings(place)
            at = 40
            for phase in range(24):
                # Both change together, so that a mixture of the two states shows.
                actions += [Poke(at, "compute_setup", before), Fault(at + 1, "slow", not slow)]
                actions += [Send(at + 10, "p1", frame) for frame in place.unit(8)]
                actions += [Poke(at + 12 + phase, "compute_setup", after), Fault(at + 13 + phase, "slow", slow)]
                at += 4 * after + 60
            stimulus = Stimulus.of(actions, tail=4 * after + 60, **place.straps)
            name = f"{'slow' if slow else 'well'} from then on {index}"
            yield RuleCase(name, stimulus, partial(_one_moment, "compute.moment"))


# ---------------------------------------------------------------------------------------------------------- lanes


def _half(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """While the status says that one lane only is past the GPU: nothing from outside the ring is handed over, data is
    as in bypass, and when that lasts longer than the watchdog the switch is stuck. Frames on the lanes pass whole."""
    watchdog = setting(stimulus, "watchdog")
    views = either(stimulus)
    breaches = judge_moving(rule_name, stimulus, observed, Moves(lambda frame: views, cuts=2))
    changes = [*observed.status, (stimulus.cycles, 0)]
    since = -1
    for (cycle, value), (until, _) in itertools.pairwise(changes):
        if bit(value, "bypass_cw") == bit(value, "bypass_ccw"):
            since = -1
            continue
        since = cycle if since < 0 else since
        late = since + watchdog + 2 * AT_ONCE
        if until > late and not bit(value, "stuck") and max(cycle, late) < until - 1:
            text = f"status 0x{value:03X}: stuck must be 1, one lane has not followed since cycle {since}"
            breaches.append(Breach(rule_name, max(cycle, late), f"{text}, watchdog is {watchdog}"))
        breaches += _reached(rule_name, stimulus, observed, range(since + 2 * AT_ONCE, until - AT_ONCE))
    return sorted(breaches, key=lambda b: b.cycle)


def _reached(rule_name: str, stimulus: Stimulus, observed: Observed, alone: range) -> Iterator[Breach]:
    """What came in cycles in which one lane only was past the GPU, and reached the GPU or what lies behind it."""
    when = f"while one lane was past the GPU, since cycle {alone.start - 2 * AT_ONCE}"
    for mail in observed.mail:
        begins = mail.ended - len(mail.data) // wire.FLIT_BYTES
        if mail.port >= wire.Link.HOST.code and begins in alone and mail.ended in alone:
            yield Breach(rule_name, mail.ended, f"mailbox {mail.port}: a frame was handed over {when}")
    view = replace(standing(stimulus), bypassed=True)
    gone = [(link, f) for link in WAYS for f in observed.left[link] if f.channel == "data"]
    for way, link in enumerate(WAYS):
        for frame in (f for f in observed.arrived[link] if f.channel == "data" and f.sof):
            if frame.began not in alone or frame.began + AT_ONCE not in alone:
                continue
            where = data.fate(frame.data, way, view)
            for out, left in gone:
                # An answer names the same unit, and the frame itself has left unless it is that.
                if left.data[_UNIT] == frame.data[_UNIT] and out != where:
                    text = f"{out}: {one(left.kind)} frame left for a {frame.kind} frame that came by {link} {when}"
                    yield Breach(rule_name, left.began, text)


@rule(
    "switch.half",
    "while one lane only is past the GPU, nothing else reaches it; a lane that doesn't follow is stuck",
    "R6",
)
def half(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for lane, link in enumerate(IN):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
            watchdog = rng.randrange(40, 60)  # longer than a frame of the GPU's own
            actions: list[Action] = [*settings(place, heartbeat=0, watchdog=watchdog, gpu_restore=4)]
            # A frame that has begun past the GPU ends there, and until then its lane can't follow.
            long = statistics(rng, card=2, origin=4, ttl=4, flags=RECORDS, records=8)
            actions += [Fault(30, "dead", True), Send(50, link, RingFrame.of(long)), Pause(58, link, True)]
            actions += [Fault(70 + rng.randrange(9), "dead", False), Pause(300, link, False)]
            actions += _for_gpu(rng, place, OUT[lane], range(90, 500, 20))
            # One that the GPU has begun is sent to its end: until then its lane is not past the GPU.
            for at in range(600, 1400, 100):
                own = statistics(rng, card=2, origin=1, ttl=4, flags=RECORDS, records=12)
                actions += [Post(at, lane, own), Fault(at + 34, "dead", True), Fault(at + 75, "dead", False)]
                # One way each: it must have come and be looked at while that lasts.
                ways = [rng.choice(("host", "boundary", OUT[lane]))]
                actions += _for_gpu(rng, place, OUT[lane], [at + 34 + 2 * AT_ONCE + rng.randrange(6)], ways)
            stimulus = Stimulus.of(actions, tail=200, **place.straps)
            yield RuleCase(f"lane {lane} {index}", stimulus, partial(_half, "switch.half"))


def _for_gpu(
    rng: random.Random, place: Place, other: str, times: Iterable[int], ways: Sequence[str] = ()
) -> Iterator[Action]:
    """What a GPU would take, at each of these times by one of the ways in turn: frames for its firmware, work, and what
    it would let into the ring, to its CPU or to another card. `other`: the ring port that nothing is under way by."""
    links = ways or ("host", "boundary", other)
    for at, link in zip(times, itertools.cycle(links), strict=False):
        mail = RingFrame.of(other_control(rng, card=2, home=1, ttl=3))
        to_cpu, onward = place.answer(2, 1, ttl=3), place.answer(2, 4, ttl=4, flags=0)
        frame = rng.choice([mail, *place.unit(8), to_cpu, place.answer(5, 3, ttl=4), *[onward] * (link != other)])
        yield Send(at + rng.randrange(3), link, frame)
