"""The compute engine: digests, times, refusals, streams, faults of the GPU (R5)."""

import random
from collections.abc import Iterable, Sequence
from functools import partial

from ringhil.emulator.conformance.data_frames import Place, roles, some_place, unknown_kind
from ringhil.emulator.conformance.data_judge import judge_data, judged_data
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.data import START, length, played, settings
from ringhil.emulator.conformance.timeline import faulty, setting
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.compute import SLOW
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.reference.view import COMMANDS
from ringhil.emulator.testbench.stimulus import Action, Fault, Hold, Send, Stimulus
from ringhil.protocol import codec, wire
from ringhil.protocol.wire import Compute

OVERHEAD = 40  # cycles that a unit may take beside its computation, from the last flit in to the first flit out
INSIDE = 20  # cycles from the end of a segment on an idle link until it has been taken
_CREATE = Compute.CREATE.code
_SHORTEST = 30  # cycles that a GPU is dead: its switch has followed
_BACK = 100  # cycles within which it takes part again, beside `gpu_restore`
_LONGEST = 300  # bytes of a unit that it is given then
_UNIT = slice(12, 16)  # bytes of work, results and refusals
_LARGE = 65_536  # bytes of the largest unit
_BEGINS = 16  # cycles after a unit's time is up in which the next one may begin


def sources(place: Place) -> list[tuple[int, int] | None]:
    """The GPUs that work comes from, by way in; each other card uses one way only."""
    cards = [c for c in range(16) if c != place.card]
    return [None, (cards[0], 3), None, (cards[1], 900)]


def all_of(units: Iterable[tuple[int, Sequence[RingFrame]]], gap: int) -> list[Action]:
    """Units one after the other, each by its way in, `gap` cycles apart beside their own flits."""
    at = START
    actions: list[Action] = []
    for way, frames in units:
        actions += [Send(at, WAYS[way], frame) for frame in frames]
        at += length(frames) + gap
    return actions


@rule("compute.digest", "a result holds CRC-32 and sum of the words that arrived, and goes back the way the work came")
def digest(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = some_place(rng, control=roles("entry", "boundary"), crossings=rng.getrandbits(16))
        units = []
        for way, source in enumerate(sources(place)):
            for size in (rng.randrange(1, 9), rng.randrange(9, 257), rng.choice([256, 257, 512, 800, 1500])):
                units.append((way, place.unit(size, source=source, ttl=place.ttl())))
        rng.shuffle(units)
        sent = sum(length(frames) for _, frames in units)
        yield played("compute.digest", f"digest {index}", [*settings(place), *all_of(units, 60)], place, sent + 600)
    for size in (_LARGE,) if effort > 2 else ():
        place = some_place(rng, control=roles("entry"))
        frames = place.unit(size)
        actions = [*settings(place), *(Send(START, "host", frame) for frame in frames)]
        yield played("compute.digest", f"{size} bytes", actions, place, 4 * length(frames))


def _times(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Each unit takes as long as its size asks for: those that wait one after the other, too. All come one way."""
    judged = judged_data(rule_name, enough, stimulus, observed)
    breaches, before = judged.breaches, 0
    for given in judged.answers.given:
        if not given.computed or given.frame is None:
            continue
        cost, since, began = given.answer.cost, given.answer.since, given.frame.began
        # The one before has left its place when its result begins to leave, or a little earlier.
        earliest, latest = max(since, before - OVERHEAD) + cost, max(since, before) + cost + OVERHEAD
        if not earliest <= began <= latest:
            text = f"the result of unit 0x{given.answer.head.unit:X} ({cost} cycles) left {began - since} cycles"
            text += f" after its last flit came; must be {earliest - since} to {latest - since}"
            breaches.append(Breach(rule_name, began, text))
        before = began
    return sorted(breaches, key=lambda b: b.cycle)


@rule("compute.time", "a unit takes compute_setup + flits x compute_per_flit cycles, a result says so", "R5")
def time(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index, (setup, each) in enumerate([(32, 1), (0, 0), (200, 3), (1, rng.randrange(40))] * effort):
        place = some_place(rng, control=roles("entry"))
        units = [place.unit(rng.choice([1, 8, 9, 100, 256, 600]), source=None) for _ in range(6)]
        way = index % 3
        actions = settings(place, compute_setup=setup, compute_per_flit=each)
        actions += all_of([(way, frames) for frames in units], rng.choice([0, 100]))
        tail = sum(length(frames) * (each + 2) + max(setup, 32) for frames in units) + 1200
        stimulus = Stimulus.of(actions, tail=tail, **place.straps)
        yield RuleCase(f"{setup} + {each} by {WAYS[way]}", stimulus, partial(_times, "compute.time", stimulus.cycles))
    # Products of more than 16 bits, of factors that have less.
    for flits in (2, 300) * effort:
        place = some_place(rng, control=roles("entry"))
        each = rng.randrange(0x1_0000, 0x1_2000) // flits + 1
        unit = place.unit(flits * wire.FLIT_BYTES - rng.randrange(wire.FLIT_BYTES), source=None)
        actions = settings(place, compute_setup=0, compute_per_flit=each)
        actions += [Send(START, WAYS[0], frame) for frame in unit]
        stimulus = Stimulus.of(actions, tail=2 * flits * each + 4 * length(unit) + 600, **place.straps)
        name = f"{flits} flits of {each} cycles"
        yield RuleCase(name, stimulus, partial(_times, "compute.time", stimulus.cycles))
    for slow in (False, True) * effort:
        place = some_place(rng, control=roles("entry"))
        cost, flits = 4 * rng.randrange(20, 100), rng.randrange(2, 90)
        actions = [*settings(place, **_reckoned(rng, flits, cost, slow)), *[Fault(1, "slow", True)] * slow]
        actions += all_of([(0, place.unit(flits * wire.FLIT_BYTES)) for _ in range(3)], 30)
        stimulus = Stimulus.of(actions, tail=3 * cost + 800, **place.straps)
        name = f"beyond 32 bits{', slow' * slow}"
        yield RuleCase(name, stimulus, partial(_times, "compute.time", stimulus.cycles))


def _reckoned(rng: random.Random, flits: int, cost: int, slow: bool = False) -> dict[str, int]:
    """Settings of any bits, by which a unit of `flits` takes `cost` cycles: what doesn't fit into 32 bits is lost."""
    each = rng.getrandbits(32)
    base = cost // SLOW + (rng.getrandbits(2) << 30) if slow else cost
    return {"compute_setup": base - flits * each & 0xFFFFFFFF, "compute_per_flit": each}


@rule("compute.slow", "a slow GPU takes four times as long", "R5")
def slow(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for way in range(3):
        place = some_place(rng, control=roles("entry"))
        units = [(way, place.unit(size)) for size in (5, 256, 300)]
        setup, each = rng.randrange(50), rng.randrange(1, 4)
        actions = [*settings(place, compute_setup=setup, compute_per_flit=each), Fault(1, "slow", True)]
        actions += all_of(units, 20)
        stimulus = Stimulus.of(actions, tail=4 * (3 * max(setup, 32) + 80 * each) + 1500, **place.straps)
        yield RuleCase(f"by {WAYS[way]}", stimulus, partial(_times, "compute.slow", stimulus.cycles))


@rule("compute.corrupt", "a corrupt GPU flips a bit of each digest, behind the CRCs' backs", "R5")
def corrupt(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = some_place(rng, control=roles("entry"))
    units = [(way, place.unit(rng.randrange(1, 400))) for way in (0, 1, 2) * effort]
    actions = [*settings(place), Fault(1, "corrupt", True), *all_of(units, 60)]
    yield played("compute.corrupt", "corrupt", actions, place, 900)


@rule("compute.queue", "four units find room, and are computed in the order in which they came; more are refused", "R5")
def queue(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for way in (0, 1, 2):
        for index in range(effort):
            place = some_place(rng, control=roles("entry"))
            setup = 900
            actions = settings(place, compute_setup=setup)
            units = [(way, place.unit(rng.choice([4, 60, 300]))) for _ in range(7)]
            # What is said of units that find no room doesn't get mixed up with what is said of those that are there.
            units += [
                (way, [_claiming(rng, place.unit(8, source=source)[0])]) for source in (None, (place.card ^ 1, 3))
            ]
            actions += all_of(units, rng.choice([2, 20]))
            # Room again: one more is taken for each that is done.
            at = START + setup + 250
            for _ in range(3):
                actions += [Send(at, WAYS[way], frame) for frame in place.unit(30)]
                at += rng.randrange(10, 40)
            yield played("compute.queue", f"by {WAYS[way]} {index}", actions, place, 7 * setup + 900)


def _claiming(rng: random.Random, unit: RingFrame) -> RingFrame:
    """The same unit, with another length."""
    return _sealed(unit.data[:24] + rng.randbytes(4) + unit.data[28:-8])


@rule(
    "compute.waiting",
    "however many results and refusals wait for a credit, no result is lost, and nothing leaves twice",
    "R5",
)
def waiting(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        ways = ((None, "p1"), ((0, 3), "boundary"), (None, "host"), ((5, 900), "p2"))
        for way, (source, goes) in enumerate(ways):
            place = Place(rng, 3, 1, 8, {"control": roles("entry", "boundary"), "crossings": 1 << 0})
            actions, at = settings(place, compute_per_flit=rng.randrange(2)), START
            for kept in (-1, -1, rng.randrange(8, 40)):
                # The first ones use up the credits; of the others some wait, and some find no room.
                units = [place.unit(rng.choice([4, 9, 30]), source=source) for _ in range(rng.randrange(7, 11))]
                for place_in_row in rng.sample(range(4, len(units)), 2):
                    units[place_in_row] = place.unit(8, source=source, compute=unknown_kind(rng))
                actions.append(Hold(at, goes, kept))
                for frames in units:
                    actions += [Send(at, WAYS[way], frame) for frame in frames]
                    at += length(frames) + rng.choice([0, 3, 30])
                at += 100 + rng.randrange(30)
                actions.append(Hold(at, goes, rng.choice([0, 0, 15])))
                # What comes while they leave is done, too.
                actions += [Send(at + rng.randrange(12), WAYS[way], place.unit(8, source=source)[0])]
                at += 250
            yield played("compute.waiting", f"by {WAYS[way]} {index}", actions, place, 800)


def _hung(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """The hang changes nothing where no segment came while the GPU stood still, or just before."""
    spans = faulty(observed, "hang")
    came = [f for link in WAYS for f in observed.arrived[link]]
    if any(f.began < s.end and s.begin < f.ended + INSIDE for f in came for s in spans):
        return []
    return judge_data(rule_name, enough, stimulus, observed)


@rule("compute.hang", "a hang that is not noticed costs no unit: each is computed afterwards, and counted once", "R5")
def hang(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = some_place(rng, control=roles("entry"))
        setup = rng.randrange(20, 120)
        actions, at = settings(place, heartbeat=0, compute_setup=setup, compute_per_flit=rng.randrange(3)), START
        for _ in range(6):
            units = [(rng.randrange(3), place.unit(rng.choice([4, 20, 90]))) for _ in range(rng.randrange(1, 4))]
            for way, frames in units:
                actions += [Send(at, WAYS[way], frame) for frame in frames]
                at += length(frames)
            # All have come; when the first is done, or a later one, the GPU stands still.
            begin = at + INSIDE + 5 + rng.randrange(len(units) * setup)
            ends = begin + rng.choice([1, 2, setup // 2, setup, 2 * setup + 30])
            actions += [Fault(begin, "hang", True), Fault(ends, "hang", False)]
            at = max(ends, at) + 2 * len(units) * (setup + 40) + 60
        stimulus = Stimulus.of(actions, tail=800 + 4 * setup, **place.straps)
        yield RuleCase(f"hang {index}", stimulus, partial(_hung, "compute.hang", stimulus.cycles))
    # In each cycle in which the next unit may begin, which costs what factors of any bits come to.
    for index in range(3 * effort):
        place = some_place(rng, control=roles("entry"))
        cost, flits = 100 + rng.randrange(20), rng.randrange(2, 5)
        actions, at = settings(place, heartbeat=0, **_reckoned(rng, flits, cost)), START
        for phase in range(_BEGINS):
            first, second = (place.unit(flits * wire.FLIT_BYTES) for _ in range(2))
            actions += [Send(at, "host", frame) for frame in (*first, *second)]
            begin = at + length(first) + cost + phase
            actions += [Fault(begin, "hang", True), Fault(begin + rng.choice([1, 1, 2, 5]), "hang", False)]
            at = begin + cost + 100
        stimulus = Stimulus.of(actions, tail=900, **place.straps)
        yield RuleCase(f"as the next begins {index}", stimulus, partial(_hung, "compute.hang", stimulus.cycles))


def _emptied(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Of units that have come before the GPU fails nothing leaves any more; those that come after it is back are all
    computed."""
    spans = [s for s in faulty(observed, "dead") if s.end - s.begin >= _SHORTEST]
    if len(spans) != 1:
        return []
    span = spans[0]
    came: dict[bytes, list[RingFrame]] = {}
    for link in WAYS:
        for frame in observed.arrived[link]:
            came.setdefault(frame.data[_UNIT], []).append(frame)
    answers = [f for link in WAYS for f in observed.left[link] if f.kind in ("result", "acknowledgement")]
    breaches: list[Breach] = []
    fresh: list[tuple[int, int]] = []  # when it had come, and when its result began to leave
    for unit, frames in came.items():
        given = [f for f in answers if f.data[_UNIT] == unit]
        name = f"unit 0x{int.from_bytes(unit, 'big'):X}"
        if all(f.ended < span.begin for f in frames):
            breaches += [
                Breach(rule_name, f.ended, f"the {f.kind} of {name} left, which the GPU had when it failed")
                for f in given
                if f.began > span.begin + INSIDE
            ]
        elif frames[0].began < span.begin:
            breaches += [
                Breach(rule_name, f.ended, f"a result of {name} left, whose first half the GPU had when it failed")
                for f in given
                if f.kind == "result"
            ]
        elif frames[0].began > span.end + _BACK and stimulus.cycles >= enough and [f.kind for f in given] != ["result"]:
            if not _is_whole(frames):
                continue
            found = given[0].kind if given else "nothing"
            text = f"{name} came when the GPU was back with an empty queue; {found} left, must be its result"
            breaches.append(Breach(rule_name, stimulus.cycles, text))
        elif given and given[0].kind == "result" and frames[0].began > span.end + _BACK:
            fresh.append((frames[-1].ended, given[0].began))
    # The first one has nobody to wait for.
    least = setting(stimulus, "compute_setup")
    most = least + _LONGEST // wire.FLIT_BYTES + 1 + OVERHEAD
    for took, began in [(began - ended, began) for ended, began in sorted(fresh)[:1]]:
        if not least <= took <= most:
            text = f"the first result since the GPU is back left {took} cycles after its unit had come"
            breaches.append(Breach(rule_name, began, f"{text}; must be {least} to {most}"))
    return sorted(breaches, key=lambda b: b.cycle)


def _is_whole(frames: Sequence[RingFrame]) -> bool:
    size = int.from_bytes(frames[-1].data[24:28], "big")
    return len(frames) == -(-size // wire.SEGMENT_BYTES) and all(f.good for f in frames)


@rule("compute.left", "a GPU that fails forgets its work: nothing of it leaves when it is back, and all is free", "R5")
def left(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = some_place(rng, control=roles("entry"))
        setup, restore = rng.randrange(1500, 1800), rng.randrange(4, 40)
        actions, at = settings(place, compute_setup=setup, gpu_restore=restore), START
        half = place.unit(600)
        # One is being computed, up to three wait, and of one the rest is still to come.
        old = [place.unit(rng.choice([4, 60, _LONGEST])) for _ in range(rng.randrange(1, 5))]
        for way, frames in [*((rng.randrange(3), frames) for frames in old), (index % 3, half[:-1])]:
            actions += [Send(at, WAYS[way], frame) for frame in frames]
            at += length(frames) + INSIDE
        at += INSIDE
        ends = at + _SHORTEST + rng.randrange(100)
        actions += [Fault(at, "dead", True), Fault(ends, "dead", False)]
        at = ends + restore + _BACK + 20
        actions.append(Send(at, WAYS[index % 3], half[-1]))
        at += length(half[-1:]) + INSIDE
        for _ in range(4):
            frames, way = place.unit(rng.choice([4, 60, _LONGEST])), rng.randrange(3)
            actions += [Send(at, WAYS[way], frame) for frame in frames]
            at += length(frames) + INSIDE
        stimulus = Stimulus.of(actions, tail=4 * setup + 600, **place.straps)
        yield RuleCase(f"left {index}", stimulus, partial(_emptied, "compute.left", stimulus.cycles))


@rule("compute.refuse", "a unit is refused when segments are missing, and when its computation is of an unknown kind")
def refuse(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = some_place(rng, control=roles("entry", "boundary"))
        units: list[tuple[int, Sequence[RingFrame]]] = []
        for way, source in enumerate(sources(place)):
            whole = [place.unit(rng.choice([300, 600, 1000]), source=source) for _ in range(5)]
            lost = rng.randrange(len(whole[0]) - 1)
            units.append((way, [f for i, f in enumerate(whole[0]) if i != lost]))
            swapped = list(whole[1])
            swapped[0], swapped[-1] = swapped[-1], swapped[0]
            units.append((way, swapped))
            units.append((way, [*whole[2][:1], *whole[2]]))  # from the beginning once more
            units.append((way, [*whole[3][:1], *whole[3][:1], *whole[3][1:2], *whole[3][1:]]))
            units.append((way, place.unit(rng.choice([20, 400]), source=source, compute=unknown_kind(rng))))
            units.append((way, whole[4]))
            short = place.unit(40, source=source)[0].data
            longer = short[:24] + (41).to_bytes(4, "big") + short[28:-8]
            units.append((way, [_sealed(longer)]))
            done = place.unit(rng.choice([8, 300]), source=source)
            units.append((way, [*done, _one_more(done[-1], 8)]))
        rng.shuffle(units)
        sent = sum(length(frames) for _, frames in units)
        yield played("compute.refuse", f"refuse {index}", [*settings(place), *all_of(units, 60)], place, sent + 600)


@rule(
    "compute.commands",
    "a command that reaches no context is refused: one that isn't there, or another's; by a node without contexts, too",
)
def commands(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = some_place(rng, control=roles("entry", "boundary"))
        units: list[tuple[int, Sequence[RingFrame]]] = []
        for way, source in enumerate(sources(place)):
            for kind in COMMANDS:
                # Keys are drawn, so none is that of context 0. Nobody has created another, nor is it here.
                there = rng.choice([0, 0x1000, 0xFFFF] if kind == _CREATE else [0, 1, 15, 16, 0x100, 0xFFFF])
                size, segment = rng.choice([(8, 8), (16, 8), (16, 256), (24, 8), (300, 256)])
                given = {"size": size, "segment": segment, "compute": kind, "context": there}
                units.append((way, place.unit(**given, source=source)))
            units.append((way, place.unit(rng.choice([8, 300]), source=source)))
        rng.shuffle(units)
        sent = sum(length(frames) for _, frames in units)
        yield played("compute.commands", f"commands {index}", [*settings(place), *all_of(units, 60)], place, sent + 600)


def _one_more(last: RingFrame, size: int) -> RingFrame:
    """A segment behind the last one of a unit, which is over: number and sum of bytes are as if it were not."""
    data = last.data
    number, length = int.from_bytes(data[20:22], "big") + 1, int.from_bytes(data[24:28], "big") + size
    head = data[:20] + number.to_bytes(2, "big") + size.to_bytes(2, "big") + length.to_bytes(4, "big") + data[28:32]
    return _sealed(head + bytes(range(size)))


def _sealed(body: bytes) -> RingFrame:
    return RingFrame.of(codec.seal(body))


@rule("compute.streams", "units that arrive by different ways, or from different cards, don't mix", "R5, R8")
def streams(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = some_place(rng, control=roles("entry", "boundary"))
        cards = [c for c in range(16) if c != place.card]
        rng.shuffle(cards)
        actions = settings(place)
        sent = 0
        for way, link in enumerate(WAYS):
            # Of this card and of three others, their segments in any order between each other.
            froms = [(cards[3 * way + i], rng.randrange(1024)) for i in range(3)]
            given = [None, *froms]
            units = [place.unit(rng.choice([40, 300, 520, 700]), source=source) for source in given]
            sent += sum(length(frames) for frames in units)
            while any(units):
                frames = rng.choice([frames for frames in units if frames])
                actions.append(Send(START, link, frames.pop(0)))
        yield played("compute.streams", f"streams {index}", actions, place, 2 * sent + 900)
    # All streams at once: each has a unit in the middle while all others begin and end. Two places, so that every card
    # is another one's.
    crossings = rng.getrandbits(16)  # to each card an answer leaves by the boundary link once, and once by the ring
    for index in range(2 * effort):
        crossings ^= 0xFFFF
        place = some_place(rng, control=roles("entry", "boundary"), crossings=crossings)
        place.card = (rng.randrange(8), rng.randrange(8, 16))[index % 2]
        ways: list[tuple[int, tuple[int, int] | None]] = [(way, None) for way in range(4)]
        ways += [(rng.randrange(4), (c, rng.randrange(1024))) for c in range(16) if c != place.card]
        rng.shuffle(ways)
        begun = [(way, place.unit(rng.choice([24, 30]), source=source, segment=16)) for way, source in ways]
        actions = settings(place)
        for number in (0, 1):
            # A segment is computed before the next one comes: at no time are there more units than find room.
            rng.shuffle(begun)
            for turn, (way, segments) in enumerate(begun):
                actions.append(Send(START + 40 * (turn + len(begun) * number), WAYS[way], segments[number]))
        yield played("compute.streams", f"all at once {index}", actions, place, 900)


@rule("compute.interrupted", "of two units that one stream mixes, the one that was interrupted is refused", "R5")
def interrupted(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = some_place(rng, control=roles("entry"))
        for way in (0, 2):
            units: list[tuple[int, Sequence[RingFrame]]] = []
            for field in _IDENTITY:
                one = place.unit(700)
                two = [_renamed(frame, field) for frame in one]
                # Only one of the three fields tells them apart.
                units += [(way, [*one[:1], *two[:1], *one[1:], *two[1:]]), (way, [*_later(one)[:2], *_later(two)[2:]])]
            yield played(
                "compute.interrupted", f"by {WAYS[way]} {index}", [*settings(place), *all_of(units, 100)], place, 900
            )


_IDENTITY = (slice(8, 12), slice(12, 16), slice(18, 20))  # bytes of epoch, unit, attempt


def _renamed(frame: RingFrame, field: slice) -> RingFrame:
    """The same segment of another unit, which differs in one field of its identity."""
    data = frame.data
    other = int.from_bytes(data[field], "big") ^ 1
    return _sealed(data[: field.start] + other.to_bytes(field.stop - field.start, "big") + data[field.stop : -8])


def _later(frames: Sequence[RingFrame]) -> list[RingFrame]:
    """The same segments of another unit."""
    return [_sealed(f.data[:12] + bytes([f.data[12] ^ 0x80]) + f.data[13:-8]) for f in frames]


@rule("compute.damaged", "a damaged segment is counted and no more; the unit is then refused", "R3, R5")
def damaged(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = some_place(rng, control=roles("entry", "boundary"))
        units: list[tuple[int, Sequence[RingFrame]]] = []
        for way, source in enumerate(sources(place)):
            for _ in range(3):
                frames = place.unit(rng.choice([20, 300, 700]), source=source)
                at = rng.randrange(len(frames))
                flits = len(frames[at].data) // wire.FLIT_BYTES
                frames[at] = rng.choice(
                    [
                        frames[at].with_bad_link_crc(),
                        frames[at].with_bit_flip(rng.randrange(64, 64 * flits)),
                        frames[at].marked(),
                        frames[at].with_bad_e2e_crc(),
                    ]
                )
                units.append((way, frames))
            units.append((way, place.unit(300, source=source)))
            # Its CRCs are right, but its header isn't whole: it mustn't be taken for the end of the one before.
            whole = place.unit(8, source=source)[0]
            units += [(way, [whole, _sealed(whole.data[: 8 * flits])]) for flits in (1, 2, 3)]
        # What isn't work passes through the engine without a trace.
        units += [(0, [place.answer(place.card, place.node, flags=0)]) for _ in range(2)]
        rng.shuffle(units)
        sent = sum(length(frames) for _, frames in units)
        yield played("compute.damaged", f"damaged {index}", [*settings(place), *all_of(units, 60)], place, sent + 600)
