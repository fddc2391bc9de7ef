"""The port to another card: what crosses, what enters, what waits too long (R8)."""

import random
from collections.abc import Iterable, Iterator
from functools import partial

from ringhil.emulator.conformance.data_frames import CCW, TO_HOST, WRAPPED, Place, roles
from ringhil.emulator.conformance.data_judge import standing
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.data import START, length, played, settings
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import data
from ringhil.emulator.testbench.stimulus import Action, Carrier, Hold, Peek, Send, Stimulus
from ringhil.protocol import wire
from ringhil.protocol.wire import DATA_SLOTS, LINKS

THERE = 5  # a card that frames leave for here
ELSEWHERE = 9  # one for which they go on
PATIENCE = 4000  # cycles that a frame waits for another card
LATE = 50  # cycles by which the drop may be later, for each frame


def place_at(rng: random.Random, *names: str, size: int = 8) -> Place:
    """A boundary GPU, with these roles beside."""
    held = roles("boundary", *names)
    return Place(rng, 2, 3, size, {"control": held, "crossings": 1 << THERE, "exits": 1 << THERE | 1 << ELSEWHERE})


def _count(crossed: int) -> int:
    return crossed << wire.CROSSINGS_SHIFT


@rule("crossing.enter", "a frame from another card starts afresh in this ring: TTL, wrapped flag, one more crossing")
def enter(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for above in ((), ("from_above",)):
        for index in range(2 * effort):
            # Rings of all sizes: as numbers, together they hold each bit as 0 and as 1.
            place = place_at(rng, "entry", *above, size=(rng.choice([8, 341]), rng.choice([682, 1024]))[index % 2])
            actions = settings(place)
            targets = [(2, 4), (2, 6), (ELSEWHERE, 3), (ELSEWHERE, 0), (20, 1), (THERE, 2), (2, 3)]
            for number, (card, home) in enumerate(targets * 3):
                flags = _count(rng.choice([0, 1, 7, 13, 14, 15])) | rng.choice([0, WRAPPED]) | rng.choice([0, CCW])
                flags |= rng.choice([0, TO_HOST])
                frame = place.answer(card, home, ttl=rng.choice([0, 1, 8, 9, 0xFFFF]), flags=flags)
                actions.append(Send(START + 20 * number, "boundary", frame))
            yield played("crossing.enter", f"from {'above' if above else 'below'} {index}", actions, place, 600)


@rule("crossing.lanes", "up the tree clockwise, down it counter-clockwise; nothing leaves the ccw lane by the link up")
def lanes(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for above in ((), ("from_above",)):
        for index in range(effort):
            place = place_at(rng, "entry", *above)
            actions = settings(place)
            for number in range(16):
                link = LINKS[number % 4]
                flags = rng.choice([0, TO_HOST]) | rng.choice([0, CCW])
                if link != "host":
                    flags |= rng.choice([0, 0, WRAPPED])
                card = rng.choice([THERE, THERE, ELSEWHERE, 2])
                actions.append(Send(START + 20 * number, link, place.answer(card, 4, ttl=4, flags=flags)))
            for card in (16 + THERE, ELSEWHERE, THERE):
                # Results find their way by the card too; those with numbers from 16 on have no way across.
                actions += [Send(START + 400 + 4 * card, "p2", f) for f in place.unit(30, source=(card, 2))]
            yield played("crossing.lanes", f"link {'above' if above else 'below'} {index}", actions, place, 600)


@rule("crossing.cards", "by each way in, each card's bit in `crossings` and in `exits` counts for itself", "R8")
def cards(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        names = rng.sample(range(16), 16)
        # Of any two cards each is among those of some set in which the other isn't.
        sets = [
            [c for c, name in enumerate(names) if (name >> bit & 1) == is_in] for bit in range(4) for is_in in (0, 1)
        ]
        for number, across in enumerate([*sets, rng.sample(range(16), 13), rng.sample(range(16), 2)]):
            crossings, exits = sum(1 << c for c in across), sum(1 << c for c in sets[number * 3 % 8])
            values = {"control": roles("entry", "boundary"), "crossings": crossings, "exits": exits}
            place = Place(rng, rng.randrange(16), rng.randrange(8), 8, values)
            actions = settings(place)
            for link in data.WAYS:
                others = [*range(16), *(16 * rng.randrange(1, 15) + c for c in rng.sample(range(16), 2))]
                for turn, card in enumerate(rng.sample(others, len(others))):
                    frame = place.answer(card, place.other_gpu(), ttl=4, flags=rng.choice([0, TO_HOST]))
                    actions.append(Send(START + 24 * turn, link, frame))
            yield played("crossing.cards", f"set {number} {index}", actions, place, 450)
        for number, those in enumerate(sets):
            # Where no frame leaves at once, what the CPU sends goes by `exits` alone.
            values = {"control": roles("entry"), "crossings": 0xFFFF, "exits": sum(1 << c for c in those)}
            place = Place(rng, rng.randrange(16), rng.randrange(8), 8, values)
            frames = [place.answer(card, place.other_gpu(), ttl=4) for card in rng.sample(range(16), 16)]
            actions = [*settings(place), *(Send(START, "host", frame) for frame in frames)]
            yield played("crossing.cards", f"exits {number} {index}", actions, place, 550)


@rule(
    "crossing.closed",
    "a GPU that isn't the boundary GPU takes no data frame from another card, and sends it no data frame",
)
def closed(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = Place(rng, 2, 3, 8, {"control": roles("entry"), "crossings": 0xFFFF, "exits": 1 << THERE})
        actions = settings(place)
        for number in range(16):
            link = LINKS[number % 4]
            card, home = rng.choice([(THERE, 4), (2, 4), (2, 3), (ELSEWHERE, 3)])
            # Over the link it came with what was left of its time to live on the other ring, which may be nothing.
            ttl = rng.choice([0, 4]) if link == "boundary" else 4
            actions.append(Send(START + 20 * number, link, place.answer(card, home, ttl=ttl)))
        for frame in place.unit(30, source=(THERE, 1)):
            actions.append(Send(START + 400, "p1", frame))  # its result goes clockwise
        yield played("crossing.closed", f"closed {index}", actions, place, 600)


@rule("crossing.crowd", "what leaves for another card takes turns: both lanes, the CPU's frames and this GPU's results")
def crowd(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = place_at(rng, "entry")
        actions: list[Action] = settings(place)
        frames = []
        for link in ("p1", "p2", "host"):
            for _ in range(8):
                frames.append(place.work(THERE, rng.randrange(1024), ttl=4))
                actions.append(Send(START, link, frames[-1]))
        for _ in range(3):
            frames += place.unit(20, source=(THERE, 5))
            actions.append(Send(START, "p1", frames[-1]))
        actions += [Hold(rng.randrange(START, 300), "boundary", rng.choice([0, 20])) for _ in range(3)]
        yield played("crossing.crowd", f"crowd {index}", actions, place, 2 * length(frames) + 1200)


@rule("crossing.drained", "frames for a dead link to the CPU or to another card don't hold up other frames")
def drained(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for down in ("host", "boundary"):
            place = place_at(rng, "entry")
            actions: list[Action] = [*settings(place), Carrier(6, down, False)]
            for number in range(10):
                for link in ("p1", "p2"):
                    lost = (THERE, 3) if down == "boundary" else (2, 3)
                    card, home = lost if number % 2 == 0 or number < 6 else (2, 4)
                    actions.append(Send(START + 8 * number, link, place.answer(card, home, ttl=4)))
            for frame in place.unit(10, source=(THERE, 1) if down == "boundary" else None):
                actions.append(Send(START + 300, "p1", frame))
            yield played("crossing.drained", f"{down} down {index}", actions, place, 700)


def _dropped(began: Iterable[int], cycle: int, patience: int) -> int:
    """The frames of one way that are dropped by `cycle`: each waits from when the one before it has gone."""
    dropped = gone = 0
    for since in began:
        gone = max(since, gone) + patience
        dropped += gone <= cycle
    return dropped


def _impatient(rule_name: str, link: str, waited: Iterable[tuple[int, RingFrame | None]]) -> Iterator[Breach]:
    """The frames for another card that came by `link`, in order: when each came, and as what it left. A frame that
    waited too long should have been dropped."""
    gone = 0  # at the latest
    for since, left in waited:
        head = max(since, gone)
        if left is None:
            gone = head + PATIENCE + LATE
            continue
        if left.began > head + PATIENCE + LATE:
            text = f"a frame that came by {link} left for another card after {left.began - head} cycles"
            yield Breach(rule_name, left.began, f"{text} at the head of its buffer, at most {PATIENCE} are allowed")
        gone = left.ended


def _stalls(rule_name: str, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """While the other card takes nothing, the frame at the head of each buffer is dropped when its patience is over;
    the others still go their ways."""
    view = standing(stimulus)
    left = {f.data[8:16]: f for link in data.WAYS for f in observed.left[link]}
    stays: dict[str, list[int]] = {}  # by way in: when frames for another card came that never left
    lost: list[tuple[str, str]] = []  # frames for elsewhere that never left: way in, way out
    breaches = []
    for way, link in enumerate(data.WAYS):
        fates = [(f, data.fate(f.data, way, view)) for f in observed.arrived[link]]
        across = [(f.began, left.get(f.data[8:16])) for f, to in fates if to == "boundary"]
        breaches += list(_impatient(rule_name, link, across))
        for frame, to in fates:
            if frame.data[8:16] in left or to not in data.WAYS:
                continue
            if to == "boundary":
                stays.setdefault(link, []).append(frame.began)
            else:
                lost.append((link, to))
    opened = [a.at for a in stimulus.actions if isinstance(a, Hold) and a.cycles >= 0]
    closed = any(isinstance(a, Hold) and a.cycles < 0 for a in stimulus.actions)
    readings = [(c, v) for c, name, v in observed.peeks if name == "stalled"]
    for cycle, value in [*readings, (stimulus.cycles, observed.registers["stalled"])]:
        least, most = (
            sum(_dropped(began, cycle, each) for began in stays.values()) for each in (PATIENCE + LATE, PATIENCE)
        )
        if opened and cycle >= min(opened):
            least = 0
        if not least <= value <= most:
            text = f"stalled is {value}, must be {least if least == most else f'{least} to {most}'}"
            breaches.append(Breach(rule_name, cycle, text))
    # What has waited too long is counted by this register alone.
    for name in ("data_dropped", "ttl_dropped"):
        if found := observed.registers[name]:
            text = f"{name} is {found}, must be 0: frames that waited too long count as stalled alone"
            breaches.append(Breach(rule_name, stimulus.cycles, text))
    if stimulus.cycles >= enough and (opened or not closed):
        dropped, found = sum(len(began) for began in stays.values()), observed.registers["stalled"]
        if dropped != found:
            text = f"stalled is {found}, and {dropped} frames for another card never left"
            breaches.append(Breach(rule_name, stimulus.cycles, text))
    if stimulus.cycles >= enough:
        breaches += [
            Breach(rule_name, stimulus.cycles, f"a frame that came by {link} never left by {to}")
            for link, to in lost
            if opened or not closed or link not in stays
        ]
    return sorted(breaches, key=lambda b: b.cycle)


@rule("crossing.stalled", "a frame that waits for another card longer than 4,000 cycles is dropped and counted", "R8")
def stalled(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for links, other in ((("p1", "host"), "p2"), (("host", "p2"), "p1")):
            place = place_at(rng, "entry")
            actions: list[Action] = [*settings(place), Hold(10, "boundary", -1)]
            for number, link in enumerate(links):
                # The first ones leave, and take all credits.
                since = START + 50 * number
                actions += [
                    Send(since, link, place.answer(THERE, 4, ttl=4)) for _ in range(DATA_SLOTS + 2 - 3 * number)
                ]
                # Behind those that are dropped, one that goes on.
                actions += [Send(START + 400, link, place.answer(2, 5, ttl=4))]
            actions += [Send(START + 200, other, place.answer(2, 4, ttl=4)) for _ in range(2)]
            last = START + 2 * PATIENCE + 400
            actions += [Peek(at, "stalled") for at in (START + PATIENCE - 40, START + PATIENCE + 90, last - 500)]
            link = links[0]
            if index % 2 == 0:
                actions.append(Hold(START + 2 * PATIENCE + 300, "boundary", 0))
                actions += [Send(last, link, place.answer(THERE, 4, ttl=4)) for _ in range(3)]
            stimulus = Stimulus.of(actions, tail=900, **place.straps)
            name = f"{' and '.join(links)} {index}"
            yield RuleCase(name, stimulus, partial(_stalls, "crossing.stalled", stimulus.cycles))
    # A slot becomes free for one of two that wait: the other one's time goes on.
    place = place_at(rng, "entry")
    frees = START + PATIENCE // 2
    actions = [*settings(place), Hold(10, "boundary", frees), Hold(START + 30, "boundary", 2 * PATIENCE)]
    actions.append(Send(START, "p1", place.answer(THERE, 4, ttl=4)))
    for link in ("p1", "host"):
        actions += [Send(START + 60, link, place.answer(THERE, 4, ttl=4)) for _ in range(DATA_SLOTS - 1)]
    actions += [Peek(START + PATIENCE + at, "stalled") for at in (20, 200)]
    stimulus = Stimulus.of(actions, tail=200, **place.straps)
    yield RuleCase("in turn", stimulus, partial(_stalls, "crossing.stalled", stimulus.cycles))
    # One of each way in waits from the same cycle on.
    place = place_at(rng, "entry")
    actions = [*settings(place), Hold(10, "boundary", -1)]
    actions += [Send(START, "p1", place.answer(THERE, 4, ttl=4)) for _ in range(DATA_SLOTS)]
    actions += [Send(START + 60, link, place.answer(THERE, 4, ttl=4)) for link in ("p1", "p2", "host")]
    stimulus = Stimulus.of(actions, tail=PATIENCE + 4 * LATE, **place.straps)
    yield RuleCase("at once", stimulus, partial(_stalls, "crossing.stalled", stimulus.cycles))
    # More than seven bits count, from all ways in at once.
    place = place_at(rng, "entry")
    actions = [*settings(place), Hold(10, "boundary", -1)]
    each = 128 // 3 + DATA_SLOTS
    for number, link in enumerate(("p1", "p2", "host")):
        actions += [Send(START + 50 * number, link, place.answer(THERE, 4, ttl=4)) for _ in range(each)]
    stimulus = Stimulus.of(actions, tail=(each + 1) * (PATIENCE + LATE), **place.straps)
    yield RuleCase("many", stimulus, partial(_stalls, "crossing.stalled", stimulus.cycles))
