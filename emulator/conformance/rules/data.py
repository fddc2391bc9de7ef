"""The data channel: ways, credits, turns, damaged frames, dead links (R5, R6)."""

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from ringhil.emulator.conformance.data_frames import CCW, TO_HOST, Place, roles, some_place
from ringhil.emulator.conformance.data_judge import judge_data, judged_data, standing
from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.mailbox import in_order
from ringhil.emulator.conformance.steady import judge_control
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import OUTWARD
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Hold, Pause, Poke, Post, Send, Stimulus
from ringhil.protocol import codec, wire

START = 20  # cycle of the first frame
GAP = 60  # cycles between frames that must not wait for each other


def settings(place: Place, **more: int) -> list[Action]:
    """Writes what the place is set to; a unit of work costs next to nothing unless `more` says otherwise."""
    values = {"compute_setup": 1, **place.settings, **more}
    return [Poke(2 + i, name, value) for i, (name, value) in enumerate(values.items())]


def played(rule_name: str, name: str, actions: Iterable[Action], place: Place, tail: int) -> RuleCase:
    """A case judged by the reference model; `tail` cycles after the last action all must be done."""
    stimulus = Stimulus.of(actions, tail=tail, **place.straps)
    return RuleCase(name, stimulus, partial(judge_data, rule_name, stimulus.cycles))


def length(frames: Iterable[RingFrame]) -> int:
    """The length of all frames together, in flits."""
    return sum(len(f.data) // wire.FLIT_BYTES for f in frames)


def in_turn(frames: Sequence[RingFrame], ways: Sequence[int], gap: int = GAP) -> list[Action]:
    """The frames one after the other, each into its way."""
    return [Send(START + gap * i, WAYS[way], frame) for i, (frame, way) in enumerate(zip(frames, ways, strict=True))]


def any_roles(rng: random.Random) -> dict[str, int]:
    """Roles and cards of a node, drawn; entry and boundary GPUs more often than not."""
    names = [n for n in ("entry", "boundary", "from_above") if rng.random() < 0.7]
    return {"control": roles(*names), "crossings": rng.getrandbits(16), "exits": rng.getrandbits(16)}


@rule(
    "data.route", "a data frame goes the way that its card, home and flags ask for, and loses one of its TTL", "R5, R8"
)
def route(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(8 * effort):
        place = some_place(rng, **any_roles(rng))
        ways = [0, 1, 2, 3] * 6
        frames = [place.any(way, mine=0.3) for way in ways]
        actions = [*settings(place), *in_turn(frames, ways, gap=30)]
        if index % 4 == 3:
            actions.append(Fault(1, "duplicate_id", True))
        yield played("data.route", f"route {index}", actions, place, 600)


@rule(
    "data.credit",
    "each frame that is taken gives one credit; no frame leaves without a credit, is lost or overtaken",
    "R5",
)
def credit(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    # By way in, where the frames go: each link out is held, and let go again.
    cases = [("p1", "p2"), ("p2", "p1"), ("host", "p2"), ("host", "p1"), ("p1", "host"), ("p2", "host")]
    cases += [("boundary", "p1"), ("boundary", "host"), ("p1", "boundary"), ("host", "boundary")]
    for index, (came, goes) in enumerate(cases * effort):
        place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
        frames = []
        for _ in range(13):
            card, home, flags = 2, 4, CCW if goes == "p1" else 0
            if goes == "host":
                home, flags = 1, TO_HOST
            elif goes == "boundary":
                card = 5
            frames.append(place.answer(card, home, ttl=4, flags=flags))
        lifted = START + 200 + rng.randrange(100)
        actions: list[Action] = [*settings(place), Hold(10, goes, -1)]
        actions += [Send(START, came, frame) for frame in frames[:8]]
        if index % 3 != 2:
            # None was lost on the way: when the link is held again, as many leave as at first.
            actions += [Hold(lifted, goes, rng.choice([0, 0, 20])), Hold(lifted + 700, goes, -1)]
            actions += [Send(lifted + 710, came, frame) for frame in frames[8:]]
        yield played("data.credit", f"{came} to {goes} {index}", actions, place, 1000)


@rule("data.bubble", "a frame enters the ring with two credits and goes on in it with one", "R5")
def bubble(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        for goes, onward in (("p2", "p1"), ("p1", "p2")):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "exits": 1 << 7})
            flags = CCW if goes == "p1" else 0
            actions: list[Action] = [*settings(place), Hold(10, goes, -1)]
            # New frames take two of three slots; only what is on its way may take the last one.
            actions += [Send(START, "host", place.answer(2, 4, ttl=4, flags=flags)) for _ in range(5)]
            if index % 2:
                actions += [Send(START, onward, frame) for frame in place.unit(20)]  # its result enters there
            if goes == "p1":
                actions += [Send(START, "boundary", place.answer(2, 5)) for _ in range(2)]
            actions += [Send(START + 150, onward, place.answer(2, 4, ttl=4)) for _ in range(2)]
            if index % 2:
                actions.append(Hold(START + 500, goes, 0))
            yield played("data.bubble", f"into {goes} {index}", actions, place, 1200)


def _waits(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """No frame waits longer at the head of its buffer than its turn may take."""
    judged = judged_data(rule_name, enough, stimulus, observed)
    holds = [a.cycles for a in stimulus.actions if isinstance(a, Hold)]
    longest = max([0, *(len(f.data) // wire.FLIT_BYTES for link in WAYS for f in observed.arrived[link])])
    sources = {link for link in WAYS if observed.arrived[link]}
    # Each that goes first sends a frame, and two slots must become free for it.
    bound = len(sources) * (2 * (max([0, *holds]) + longest + 10) + longest)
    breaches = judged.breaches
    for link in WAYS:
        left = sorted(c for way in WAYS for c, stream in judged.streams[way].items() if stream == link)
        before = 0
        for frame, began in zip((f for f in observed.arrived[link] if f.channel == "data"), left, strict=False):
            since = max(frame.began, before)
            if began - since > bound:
                text = f"a frame that came by {link} waited {began - since} cycles for its turn, at most {bound}"
                breaches.append(Breach(rule_name, began, text))
            before = began + len(frame.data) // wire.FLIT_BYTES
    return sorted(breaches, key=lambda b: b.cycle)


@rule("data.fair", "neither frames on their way nor new ones wait for ever beside endless others", "R5")
def fair(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for goes, onward in (("p2", "p1"), ("p1", "p2")):
            flags = CCW if goes == "p1" else 0
            for slow in (0, 30):
                place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary")})
                transit = [place.work(2, 4, ttl=4, flits=4) for _ in range(25)]
                new = [place.work(2, 4, ttl=4, flits=4, flags=flags) for _ in range(25)]
                few = rng.randrange(2, 4)
                # Endless frames on their way and a few new ones, then the other way round.
                for kind, here, there in (("new", transit, new[:few]), ("on their way", transit[:few], new)):
                    actions: list[Action] = [*settings(place), Hold(10, goes, slow)]
                    actions += [Send(START + (120 if here is not transit else 0), onward, f) for f in here]
                    actions += [Send(START + (120 if there is not new else 0), "host", f) for f in there]
                    ends = (slow + 12) * (25 + few) + 800
                    stimulus = Stimulus.of(actions, tail=ends, **place.straps)
                    name = f"few {kind} into {goes}, slots kept for {slow} {index}"
                    yield RuleCase(name, stimulus, partial(_waits, "data.fair", stimulus.cycles))


@rule("data.damaged", "a damaged frame leaves marked, or is counted where it ends; its credit comes back", "R3, R5")
def damaged(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(3 * effort):
        place = some_place(rng, control=roles("entry", "boundary"), crossings=0x0F0F, exits=0xFFFF)
        frames: list[RingFrame] = []
        ways: list[int] = []
        for way in (0, 1, 2, 3) * 6:
            frame = place.any(way, mine=0.4)
            flits = len(frame.data) // wire.FLIT_BYTES
            match rng.randrange(8):
                case 0 | 1:
                    frame = frame.with_bit_flip(rng.randrange(64, 64 * flits))
                case 2:
                    frame = frame.with_bad_link_crc()
                case 3:
                    frame = frame.marked()
                case 4:
                    frame = frame.with_bad_e2e_crc()
                case 5 if len(frames) < 12:
                    frame = frame.truncated(rng.randrange(1, flits)) if rng.random() < 0.7 else frame.headless()
                case _:
                    pass
            frames.append(frame)
            ways.append(way)
        # A cut frame shows only by the next one's beginning.
        frames += [place.any(way) for way in (0, 1, 2, 3) * 2]
        ways += [0, 1, 2, 3] * 2
        yield played("data.damaged", f"damaged {index}", [*settings(place), *in_turn(frames, ways)], place, 600)
    for index in range(effort):
        place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 0x0F0F, "exits": 0xFFFF})
        # The mark alone makes a frame bad, whatever its CRC.
        frames = [replace(place.any(way, mine=0.4), err=rng.random() < 0.7) for way in range(4) for _ in range(8)]
        sends = in_turn(frames, [way for way in range(4) for _ in range(8)], gap=30)
        yield played("data.damaged", f"marked {index}", [*settings(place), *sends], place, 600)


# Flits of a payload, beside five of header and trailer: the longest and one more; then those with which a counter of
# six to ten bits is just behind its last value, and a little further, where it seems to be within bounds again.
_LONG = (32, 33, *((1 << bits) - 5 + more for bits in range(6, 11) for more in (-1, 0, 1)))
_WRAPPED_LENGTH = (2, 37)  # flits beyond that


@rule("data.long", "a frame longer than the longest is cut short and marked; the next one passes unharmed", "R5")
def long(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for way in range(4):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
            frames = []
            beyond = [(1 << bits) - 5 + rng.randrange(*_WRAPPED_LENGTH) for bits in (6, 7, 8, 9)]
            # The longest ones by one way only: what counts flits is the same in all.
            lengths = [*_LONG, *beyond] if way == (index + 1) % 4 else [f for f in (*_LONG, *beyond) if f < 300]
            for number, flits in enumerate(lengths):
                home = 1 if number % 5 == 3 else 4
                whole = place.work(2, home, ttl=4, flits=32).data
                # Its CRCs are right: only its length is wrong.
                frames.append(RingFrame.of(codec.seal(whole[:-8] + rng.randbytes(8 * (flits - 32)))))
                frames += [place.work(2, home, ttl=4) for _ in range(2)]
            actions = [*settings(place), *(Send(START, WAYS[way], frame) for frame in frames)]
            yield played("data.long", f"by {WAYS[way]} {index}", actions, place, length(frames) + 900)


@rule("data.order", "frames from all ways at once lose nothing, double nothing and keep their order", "R5, R8")
def order(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(3 * effort):
        place = some_place(rng, control=roles("entry", "boundary", *(["from_above"] * (index % 2))), crossings=0x0F0F)
        sent: list[RingFrame] = []
        actions: list[Action] = settings(place, exits=0xFFFF)
        for way, link in enumerate(WAYS):
            at = START
            for _ in range(16):
                frame = place.any(way) if rng.random() < 0.9 else place.work(place.card, place.other_gpu(), flits=32)
                at += rng.choice([0, 0, 10, 40])
                actions.append(Send(at, link, frame))
                sent.append(frame)
            for _ in range(3):
                at = rng.randrange(START, 500)
                actions += [Pause(at, link, True), Pause(at + rng.randrange(1, 60), link, False)]
                actions.append(Hold(rng.randrange(START, 500), link, rng.choice([0, 5, 30])))
        yield played("data.order", f"order {index}", actions, place, 2 * length(sent) + 1200)


@rule(
    "data.gaps", "flits of a frame may come with gaps, by each way; no other frame and no flit that isn't its gets in"
)
def gaps(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = some_place(rng, control=roles("entry", "boundary", *(["from_above"] * (index % 2))), crossings=0x0F0F)
        actions, at = settings(place, exits=0xFFFF), START
        for way, link in list(enumerate(WAYS)) * 8:
            # Once the frame has begun to leave; the gap is longer than its way through the node.
            begun = at + rng.randrange(2, 5)
            others = [other for other in range(4) if other != way]
            to = rng.choice([(place.card, place.node), (place.card, place.other_gpu()), (place.other_card(True), 1)])
            flags = rng.choice([0, CCW])
            # In the gap others wait for the way out that it holds.
            frames = [place.work(*to, flags=flags, flits=8), *(place.answer(*to, flags=flags) for _ in others)]
            actions += [Send(at, link, frames[0]), Pause(begun, link, True), Pause(begun + 20, link, False)]
            actions += [Send(begun + 2, WAYS[o], frame) for o, frame in zip(others, frames[1:], strict=True)]
            actions += [Send(begun + 4, link, place.any(way))]
            at += 90
        yield played("data.gaps", f"gaps {index}", actions, place, 600)


def _control_first(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Both channels follow their models; control frames take two cycles, whatever data frames are there."""
    breaches = judge_data(rule_name, enough, stimulus, observed)
    breaches += judge_control(rule_name, stimulus, observed)
    for came, goes in (("p1", "p2"), ("p2", "p1")):
        left = {f.data[6:16]: f for f in observed.left[goes] if f.channel == "control"}
        for frame in observed.arrived[came]:
            match = left.get(frame.data[6:16]) if frame.channel == "control" else None
            if match is None:
                continue
            took = match.began - frame.began, match.ended - frame.ended
            if took != (2, 2):
                text = f"{goes}: first and last flit of a control frame took {took[0]} and {took[1]} cycles, must be 2"
                breaches.append(Breach(rule_name, match.ended, text))
    return sorted(breaches, key=lambda b: b.cycle)


@rule("data.beside_control", "control frames go first, between the flits of a data frame, which waits and isn't lost")
def beside_control(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = Place(rng, 2, 1, 8, {"control": roles("entry"), "heartbeat": 0})
        actions: list[Action] = settings(place)
        sent = []
        for came, flags in (("p1", 0), ("p2", 0), ("host", 0), ("host", CCW)):
            for _ in range(8):
                frame = place.work(2, 4, ttl=4, flits=rng.choice([2, 20, 32]), flags=flags)
                sent.append(frame)
                actions.append(Send(START, came, frame))
        for came in ("p1", "p2"):
            for i in range(25):
                frame = RingFrame.of(other_control(rng, card=2, home=4, ttl=5))
                actions.append(Send(START + 30 * i + rng.randrange(10), came, frame))
        stimulus = Stimulus.of(actions, tail=2 * length(sent), **place.straps)
        judge = partial(_control_first, "data.beside_control", stimulus.cycles)
        yield RuleCase(f"beside control {index}", stimulus, judge)


def _both(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    breaches = judge_data(rule_name, enough, stimulus, observed) + in_order(rule_name, stimulus, observed)
    return sorted(breaches, key=lambda b: b.cycle)


@rule("data.beside_mail", "the firmware's frames for the CPU or another card go between the flits of data frames", "R5")
def beside_mail(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for port, goes in OUTWARD:
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
            actions: list[Action] = [*settings(place, heartbeat=0, allowance=10_000)]
            card, home = (2, 1) if goes == "host" else (5, 0)
            sent = []
            for came in ("p1", "p2"):
                for flits in (32, *(rng.randrange(1, 33) for _ in range(9))):
                    sent.append(place.work(card, home, ttl=4, flits=flits, flags=TO_HOST))
                    actions.append(Send(START, came, sent[-1]))
            at = START
            while at < START + length(sent):
                at += rng.choice([3, 8, 8, 12, 20])
                actions.append(Post(at, port, other_control(rng, card=2, home=4, ttl=2)))
            stimulus = Stimulus.of(actions, tail=length(sent) + 700, **place.straps)
            judge = partial(_both, "data.beside_mail", stimulus.cycles)
            yield RuleCase(f"{goes} {index}", stimulus, judge)


@rule(
    "data.wrapped", "what would leave by a dead ring link comes back on the other lane, wrapped, with a fresh TTL", "R6"
)
def wrapped(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        for down, up in (("p2", "p1"), ("p1", "p2")):
            place = some_place(rng, control=roles("entry", "boundary"), crossings=0x00F0, exits=0xFFFF)
            actions: list[Action] = [*settings(place), Carrier(6, down, False)]
            at = START
            for _ in range(12):
                link = rng.choice([up, up, "host", "boundary"])
                frame = place.any(WAYS.index(link), mine=0.0)
                actions.append(Send(at, link, frame))
                at += rng.choice([10, 40, 90])
            yield played("data.wrapped", f"{down} down {index}", actions, place, 900)


def _restarted(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """The link is used at first and at the end; frames come only then."""
    view = standing(stimulus)
    carriers = [a for a in stimulus.actions if isinstance(a, Carrier)]
    if carriers and not carriers[-1].up:
        return []  # the case is about what follows the return
    return sorted(judged_data(rule_name, enough, stimulus, observed, view).breaches, key=lambda b: b.cycle)


@rule(
    "data.restarted", "a link that is used again starts afresh: three credits each way, however many there were", "R6"
)
def restarted(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for link, came in (("p2", "p1"), ("p1", "p2"), ("host", "p1"), ("boundary", "p2")):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
            card, home = {"host": (2, 1), "boundary": (5, 0)}.get(link, (2, 4))
            actions: list[Action] = [*settings(place, link_restore=20 + rng.randrange(40))]
            before = rng.randrange(4)
            actions += [Send(START, came, place.answer(card, home, ttl=4)) for _ in range(before)]
            actions += [Carrier(150, link, False), Carrier(150 + rng.choice([1, 5, 80]), link, True)]
            actions.append(Hold(440, link, -1))
            actions += [Send(450, came, place.answer(card, home, ttl=4)) for _ in range(6)]
            actions += [Send(450, link, place.answer(2, 4, ttl=4, flags=0)) for _ in range(6)]
            if index % 2:
                actions.append(Hold(700, link, 0))
            stimulus = Stimulus.of(actions, tail=900, **place.straps)
            judge = partial(_restarted, "data.restarted", stimulus.cycles)
            yield RuleCase(f"{link} {index}", stimulus, judge)
        # Slots that are still taken when the link is used again earn their credit later.
        for link, goes in (("p1", "p2"), ("host", "p2"), ("boundary", "p1")):
            place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary")})
            actions = [*settings(place, link_restore=20), Hold(10, goes, -1)]
            actions += [Send(START, link, place.answer(2, 4, ttl=4)) for _ in range(3 + rng.randrange(1, 4))]
            actions += [Carrier(150, link, False), Carrier(160, link, True)]
            actions += [Send(360, link, place.answer(2, 4, ttl=4)) for _ in range(6)]
            actions.append(Hold(500, goes, 0))
            stimulus = Stimulus.of(actions, tail=900, **place.straps)
            judge = partial(_restarted, "data.restarted", stimulus.cycles)
            yield RuleCase(f"{link}, slots taken {index}", stimulus, judge)


@rule("data.bypassed", "past a bypassed GPU data goes on, TTL less one; what is for it is dropped and counted", "R6")
def bypassed(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        for fault in ("dead", "switch_stuck_bypass"):
            place = some_place(rng, **any_roles(rng))
            ways = [0, 1, 2, 3, 0, 1] * 4
            frames = [place.any(way, mine=0.3) for way in ways]
            actions = [*settings(place), Fault(0, fault, True), *in_turn(frames, ways, gap=30)]
            yield played("data.bypassed", f"{fault} {index}", actions, place, 600)


_MANY = 261  # events: more than eight bits hold


def _paced(frames: Iterable[RingFrame], ways: Sequence[int], apart: int) -> list[Action]:
    """The frames by each way in turn; each begins `apart` cycles after the one before."""
    turns = zip(frames, itertools.cycle(ways), strict=False)
    return [Send(START + apart * i, WAYS[way], frame) for i, (frame, way) in enumerate(turns)]


@rule("data.many", "counters of the data channel and of work count on beyond 256, each for itself")
def many(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    plain = Place(rng, 2, 1, 8)
    frames = [plain.answer(2, 1, flags=TO_HOST) for _ in range(_MANY)]
    yield played("data.many", "dropped", [*settings(plain), *_paced(frames, (0, 1, 2, 3), 3)], plain, 500)
    place = Place(rng, 2, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 5})
    damaged = [place.unit(8)[0].with_bit_flip(rng.randrange(64, 320)) for _ in range(_MANY)]
    yield played("data.many", "damaged", [*settings(place), *_paced(damaged, (0, 1, 2), 7)], place, 500)
    frames = [place.answer(5, 3, ttl=2) for _ in range(_MANY)]
    yield played("data.many", "crossed", [*settings(place), *_paced(frames, (0, 1, 2), 7)], place, 500)
    for name, kind in (("done", 0), ("refused", 1)):
        units = [place.unit(8, compute=kind)[0] for _ in range(_MANY)]
        actions = settings(place, compute_setup=0, compute_per_flit=0)
        yield played("data.many", name, [*actions, *_paced(units, (0, 1, 2), 12)], place, 500)
