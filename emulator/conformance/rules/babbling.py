"""A babbling GPU beside its own firmware: what it sends, and what becomes of what is written meanwhile."""

import random
from collections.abc import Iterable
from functools import partial

from ringhil.emulator.conformance.frames import other_control, statistics
from ringhil.emulator.conformance.guard import offered
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, RECORDS, straps
from ringhil.emulator.conformance.rules.switch import BACK, LONGEST
from ringhil.emulator.conformance.timeline import Span, faulty, setting
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.stimulus import Action, Fault, Poke, Post, Send, Stimulus
from ringhil.protocol import wire
from ringhil.protocol.wire import BY_PORT

BABBLE = 0xBABB1E00  # its sequence number
OFTEN = 40  # cycles in which it sends a frame at least
WRITTEN = 60  # flits that the firmware may still have to write when it ends to babble
SLACK = 60  # cycles that what was begun may take to leave
_KEPT = slice(6, 16)  # bytes that no hop changes


def _census(frame: RingFrame, stimulus: Stimulus, lane: int, number: int) -> str | None:
    """What is wrong with a frame that a babbling GPU sent."""
    data = frame.data
    wanted = {
        "kind": (data[0], wire.Kind.STATISTICS.code),
        "card": (data[1], stimulus.card),
        "flag with_records": (int.from_bytes(data[2:4], "big") & wire.Flag.WITH_RECORDS, 0),
        "TTL": (frame.ttl, stimulus.size + 1),
        "number": (int.from_bytes(data[6:8], "big"), number),
        "sequence": (int.from_bytes(data[12:16], "big"), BABBLE),
        "count": (int.from_bytes(data[16:18], "big"), 1),
        "number of records": (int.from_bytes(data[18:20], "big"), 0),
        "length in flits": (len(data) // wire.FLIT_BYTES, 5),
        "flag ccw": (bool(int.from_bytes(data[2:4], "big") & wire.Flag.CCW), lane == 1),
    }
    for what, (found, right) in wanted.items():
        if found != right:
            return f"{what} 0x{found:X}, must be 0x{right:X}"
    return None


def _judge(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    spans = faulty(observed, "babble")
    breaches: list[Breach] = []
    posts = [a for a in stimulus.actions if isinstance(a, Post)]
    unseen = {port: [p.data for p in posts if p.port == port] for port in range(4)}
    number = stimulus.node
    if faulty(observed, "duplicate_id"):
        number = (number - 1) % stimulus.size
    transit = [f for link in IN for f in observed.arrived[link]]
    came = {f.data[_KEPT] for f in transit}
    late = SLACK + WRITTEN + sum(len(f.data) // wire.FLIT_BYTES for f in transit)
    babbled: list[tuple[int, int]] = []
    for port, link in enumerate(BY_PORT):
        for frame in (f for f in observed.left[link] if f.data[_KEPT] not in came):
            place = next((i for i, data in enumerate(unseen[port]) if data[_KEPT] == frame.data[_KEPT]), None)
            if place is not None and len(unseen[port][place]) == len(frame.data):
                del unseen[port][: place + 1]
                why = None
            elif link in OUT and any(s.begin < frame.began < s.end + late for s in spans):
                babbled.append((frame.began, port))
                why = _census(frame, stimulus, port, number)
            else:
                why = "it was neither written, nor then, nor in that order"
            if why is None and not frame.good:
                why = "damaged"
            if why is not None:
                breaches.append(Breach(rule_name, frame.ended, f"{link}: a {frame.kind} frame left: {why}"))
    if setting(stimulus, "allowance") >= stimulus.cycles:
        # A frame of the firmware's, or one on its way, may hold up one of two that were sent in turn.
        breaches += [] if posts or came else _turns(rule_name, sorted(babbled))
        breaches += [] if came else _silence(rule_name, spans, sorted(babbled), stimulus)
    breaches += _never_left(rule_name, posts, {data for rest in unseen.values() for data in rest}, observed, stimulus)
    return sorted(breaches, key=lambda b: b.cycle)


def _turns(rule_name: str, babbled: list[tuple[int, int]]) -> Iterable[Breach]:
    """No lane gets two frames more than the other."""
    ahead = [0]
    for began, port in babbled:
        ahead.append(ahead[-1] + (1 if port else -1))
        if max(ahead) - min(ahead) > 2:
            yield Breach(rule_name, began, "a babbling GPU sends by turns clockwise and counter-clockwise")
            return


def _silence(rule_name: str, spans: list[Span], babbled: list[tuple[int, int]], stimulus: Stimulus) -> Iterable[Breach]:
    """The GPU sends all the time when its allowance has no limit."""
    written = WRITTEN if any(isinstance(a, Post) for a in stimulus.actions) else 0
    for span in spans:
        times = [span.begin + written, *(began for began, _ in babbled), min(span.end, stimulus.cycles)]
        inside = [t for t in times if span.begin + written <= t <= min(span.end, stimulus.cycles)]
        gaps = [(b - a, a) for a, b in zip(sorted(inside), sorted(inside)[1:], strict=False)]
        for gap, since in gaps:
            if gap > OFTEN:
                yield Breach(rule_name, since, f"a babbling GPU is silent for {gap} cycles")


def _never_left(
    rule_name: str, posts: list[Post], unseen: set[bytes], observed: Observed, stimulus: Stimulus
) -> Iterable[Breach]:
    """Frames written long before it babbles, or when all that follows from it is over, leave."""
    spans = faulty(observed, "babble")
    after = SLACK
    if setting(stimulus, "allowance") < stimulus.cycles:
        after += 2 * setting(stimulus, "allowance_period") + setting(stimulus, "gpu_restore") + BACK + LONGEST
    for post, at in zip(posts, offered(posts), strict=True):
        ends = at + len(post.data) // wire.FLIT_BYTES
        # What a babbling GPU doesn't take may have to be written later.
        clear = all(ends + SLACK < s.begin or s.end + after + WRITTEN < post.at for s in spans)
        if clear and post.data in unseen and ends + 2 * SLACK < stimulus.cycles:
            yield Breach(rule_name, at, f"{BY_PORT[post.port]}: the frame written in cycle {at} never left")


@rule("faults.babbled", "a babbling GPU sends statistics frames of its own, as described, by turns on both lanes", "R6")
def babbled(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_judge, "faults.babbled")
    size = 0
    for index in range(2 * effort):
        size = 1023 ^ size if index % 2 else rng.randrange(2, 1022)  # each bit is set in one of two
        place = {"card": rng.randrange(255), "node": rng.randrange(size), "size": size}
        actions: list[Action] = [QUIET[0], Poke(4, "allowance", 1_000_000)]
        actions += [Fault(6, "duplicate_id", True)] * (index % 2)
        at = 30
        for length in (1, 2, 4, 5, 6, 9, 10, 11, 60, 200):
            actions += [Fault(at, "babble", True), Fault(at + length, "babble", False)]
            at += length + SLACK
        yield RuleCase(f"babble {index}", Stimulus.of(actions, **place), judge)
    # Frames on their way hold its lanes up until its queues are full, and it hangs for a cycle or two.
    for index in range(2 * effort):
        place = straps(rng) | {"size": rng.choice([8, 64])}
        place["node"] = rng.randrange(place["size"])
        actions = [QUIET[0], Poke(4, "allowance", 1_000_000), Fault(30, "babble", True)]
        given = {"card": place["card"], "origin": (place["node"] + 1) % place["size"], "ttl": 3, "size": place["size"]}
        for _ in range(12):
            data = statistics(rng, flags=RECORDS, records=rng.randrange(8, 20), limit=30, **given)
            actions.append(Send(30, IN[rng.randrange(2) if index % 2 else 0], RingFrame.of(data)))
        ends = 30 + 400
        for at in range(40, ends, 23):
            hangs = at + rng.randrange(12)
            actions += [Fault(hangs, "hang", True), Fault(hangs + rng.randrange(1, 3), "hang", False)]
        actions.append(Fault(ends, "babble", False))
        yield RuleCase(f"held up {index}", Stimulus.of(actions, tail=400, **place), judge)
    # A lane is free again in whatever cycle its queue is full.
    for index in range(2 * effort):
        place = straps(rng) | {"size": 8, "node": 3}
        actions = [QUIET[0], Poke(4, "allowance", 1_000_000)]
        at = 30
        for offset in range(16):
            data = statistics(rng, card=place["card"], origin=4, ttl=3, size=8, flags=RECORDS, records=30, limit=30)
            actions.append(Send(at, IN[index % 2], RingFrame.of(data)))
            actions += [Fault(at + offset, "babble", True), Fault(at + offset + 75, "babble", False)]
            at += offset + 75 + SLACK + WRITTEN
        yield RuleCase(f"free again {index}", Stimulus.of(actions, tail=200, **place), judge)


@rule(
    "faults.babble_beside", "frames that firmware writes beside a babbling GPU don't leave in parts; later frames leave"
)
def babble_beside(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_judge, "faults.babble_beside")
    for allowance in (1_000_000, 1_000_000, 3):
        for index in range(effort):
            place = straps(rng)
            period = 60
            actions: list[Action] = [QUIET[0], Poke(3, "allowance_period", period), Poke(4, "allowance", allowance)]
            at = 30
            for offset in range(-9, 14, 3 if allowance > 100 else 6):
                # It begins, and ends, in any flit of what is being written.
                length = rng.choice([3, 7, 12, 26, 60])
                begin = at + 9 + offset
                posts = [at, at + rng.randrange(12), begin + length + rng.randrange(-8, 4), begin + length]
                home = (place["node"] + 1) % place["size"]
                given = {"card": place["card"], "home": home, "ttl": 2}
                actions += [Post(max(when, at), rng.randrange(4), other_control(rng, **given)) for when in posts]
                actions += [Fault(begin, "babble", True), Fault(begin + length, "babble", False)]
                at = begin + length + SLACK + WRITTEN + 10
                if allowance > 100:
                    actions.append(Post(at, rng.randrange(4), other_control(rng, **given)))
                at += SLACK + 20
                if allowance < 100:
                    at += 2 * period
            given = {"card": place["card"], "home": (place["node"] + 1) % place["size"], "ttl": 2}
            at += WRITTEN + 2 * period + LONGEST + setting(Stimulus.of(actions), "gpu_restore")
            actions += [Post(at + 2 * period * port, port, other_control(rng, **given)) for port in range(4)]
            name = f"{'muted' if allowance < 100 else 'heard'}, {allowance} {index}"
            yield RuleCase(name, Stimulus.of(actions, tail=300, **place), judge)
