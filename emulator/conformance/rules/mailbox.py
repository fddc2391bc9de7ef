"""Frames from the firmware and to it: the guardian, four ports, and firmware that writes nonsense (R4)."""

import random
from collections.abc import Iterable, Sequence
from functools import partial

from ringhil.emulator.conformance.frames import control_frame, other_control, statistics
from ringhil.emulator.conformance.guard import Guarded, Written, guarded, offered
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, straps, with_gaps
from ringhil.emulator.conformance.rules.faults import own_frames
from ringhil.emulator.conformance.rules.switch import BACK, LONGEST, either, foreign
from ringhil.emulator.conformance.steady import view_of
from ringhil.emulator.conformance.timeline import bit, faulty, readings, setting, written
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import control
from ringhil.emulator.testbench.reference.control import IN, OUT, OUTWARD, ControlOutcome, Leaving
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.scoreboard import difference
from ringhil.emulator.testbench.stimulus import Action, Fault, Peek, Poke, Post, Send, Stimulus
from ringhil.emulator.trace.naming import described
from ringhil.protocol import codec, crc, wire
from ringhil.protocol.frames import Report
from ringhil.protocol.wire import BY_PORT

RING_QUEUE, HOST_QUEUE = 32, 64  # flits: frames up to this length always fit the queue of their port
CHOSEN = 8  # cycles from the end of a frame that is whole until the lane must take it into account


def message(rng: random.Random, place: dict[str, int], ttl: int = 2) -> bytes:
    """A frame of the GPU's own for its neighbour."""
    return other_control(rng, card=place["card"], home=(place["node"] + 1) % place["size"], ttl=ttl)


def _short(rng: random.Random, place: dict[str, int]) -> bytes:
    return next(m for m in iter(partial(message, rng, place), b"") if len(m) <= 5 * wire.FLIT_BYTES)


def _posts(stimulus: Stimulus) -> list[Post]:
    return [a for a in stimulus.actions if isinstance(a, Post)]


# ------------------------------------------------------------------------------------------------------- guardian


def guardian(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Some way of reckoning explains all that was seen; otherwise the first difference of the middle one."""
    allowance, period = (Written(written(observed, name)) for name in ("allowance", "allowance_period"))
    ways = guarded(_posts(stimulus), allowance, period, stimulus.cycles)
    complaints = [_explains(way, rule_name, stimulus, observed) for way in ways]
    breaches = [] if any(not c for c in complaints) else complaints[len(complaints) // 2]
    working, passing = either(stimulus)
    restore = setting(stimulus, "gpu_restore")
    muted = [span for way in ways for span in way.muted]

    def views(frame: RingFrame) -> Sequence[NodeView]:
        clear = all(
            frame.ended + LONGEST < begin or end + restore + BACK + LONGEST < frame.began for begin, end in muted
        )
        return (working,) if clear else (working, passing)

    moves = Moves(views, cuts=observed.registers["mutes"])
    return sorted([*breaches, *judge_moving(rule_name, stimulus, observed, moves)], key=lambda b: b.cycle)


def _explains(way: Guarded, rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    breaches, posts = [], _posts(stimulus)
    restore = setting(stimulus, "gpu_restore")
    left = {frame.data[6:16] for frame in own_frames(observed)}
    left |= {frame.data[6:16] for link in ("host", "boundary") for frame in observed.left[link] if frame.good}
    for place, post in enumerate(posts):
        at = way.offered[place]
        out = any(begin - LONGEST < at < end + restore + BACK for begin, end in way.muted)
        seen = post.data[6:16] in left
        text = f"the frame offered in cycle {at} ({place + 1}. of {len(posts)})"
        if seen and place not in way.passed:
            breaches.append(Breach(rule_name, at, f"{text} left: beyond the allowance, or muted"))
        if not seen and place in way.passed and not out and at + 200 < stimulus.cycles:
            breaches.append(Breach(rule_name, at, f"{text} never left: it was within the allowance"))
        # It writes into the void as long as it is out of the ring.
        if seen and any(begin + LONGEST < at < end + restore - 24 for begin, end in way.muted):
            breaches.append(Breach(rule_name, at, f"{text} left, and the GPU was out of the ring then"))
    if observed.registers["mutes"] != way.mutes:
        text = f"register mutes is {observed.registers['mutes']}, must be {way.mutes}"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    for cycle, value in readings(observed, "status"):
        sure = all(abs(cycle - edge) > 12 for span in way.muted for edge in span)
        muted = any(begin < cycle < end for begin, end in way.muted)
        if sure and bit(value, "muted") != muted:
            breaches.append(Breach(rule_name, cycle, f"status 0x{value:03X}: muted must be {int(muted)}"))
        out = any(begin + LONGEST < cycle < end + restore - 12 for begin, end in way.muted)
        back = all(cycle < begin or end + restore + BACK + LONGEST < cycle for begin, end in way.muted)
        bypassed = bit(value, "bypass_cw") and bit(value, "bypass_ccw")
        if (out and not bypassed) or (back and (bit(value, "bypass_cw") or bit(value, "bypass_ccw"))):
            breaches.append(Breach(rule_name, cycle, f"status 0x{value:03X}: bypassed must be {int(out)}"))
    return breaches


def guard_settings(allowance: int, period: int, restore: int = 10) -> list[Action]:
    """Writes what the guardian is set to; nothing else makes the node act."""
    settings = {"heartbeat": 0, "allowance": allowance, "allowance_period": period, "gpu_restore": restore}
    return [Poke(2 + i, name, value) for i, (name, value) in enumerate(settings.items())]


def _transit(rng: random.Random, place: dict[str, int], begin: int, end: int) -> list[Action]:
    return [Send(at, rng.choice(IN), foreign(rng, place)) for at in range(begin, end, 45)]


@rule("mailbox.allowance", "a GPU that keeps to its allowance in every period is heard, by all four ports", "R6")
def allowance(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = straps(rng)
        most, period = rng.choice([1, 2, 5, 16]), rng.randrange(300, 500)
        actions, at = guard_settings(most, period), 20
        for _ in range(3):
            # Its whole allowance at once, or spread over the period.
            gap = rng.choice([0, period // (most + 1)])
            actions += [Post(at + gap * i, rng.randrange(4), message(rng, place)) for i in range(most)]
            at += period + 40
            actions.append(Peek(at - 20, "status"))
        actions += _transit(rng, place, 20, at)
        judge = partial(guardian, "mailbox.allowance")
        yield RuleCase(f"{most} in {period} {index}", Stimulus.of(actions, tail=300, **place), judge)


@rule(
    "mailbox.mute",
    "the frame beyond the allowance is not let through and mutes the GPU; no other GPU loses a frame",
    "R6",
)
def mute(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(guardian, "mailbox.mute")
    for index in range(2 * effort):
        place = straps(rng)
        most, period = rng.choice([0, 1, 3, 16]), rng.randrange(300, 500)
        actions, at = guard_settings(most, period), 20
        for _ in range(2):
            count = most + rng.randrange(1, 4)
            gap = rng.choice([0, 15])
            actions += [Post(at + gap * i, rng.randrange(4), message(rng, place)) for i in range(count)]
            actions += [Peek(at + 12 * count + gap * count + i, "status") for i in (20, 200)]
            at += 4 * period
            actions.append(Peek(at - 20, "status"))
        actions += _transit(rng, place, 20, at)
        yield RuleCase(f"{most} in {period} {index}", Stimulus.of(actions, tail=300, **place), judge)
        yield RuleCase(f"stuck in THROUGH {index}", _before_a_stuck_switch(rng, rng.randrange(4)), _kept_back)
    # Muted at every cycle of a frame on its way, and of one for the GPU itself.
    for own_lane in (0, 1):
        yield RuleCase(f"at every cycle {own_lane}", _at_every_cycle(rng, own_lane), judge)


def _before_a_stuck_switch(rng: random.Random, most: int) -> Stimulus:
    """The switch doesn't follow, nor does it say so before all is over: only the guardian keeps frames back."""
    place = straps(rng)
    actions = [*guard_settings(most, 2000), Poke(8, "watchdog", 2000), Fault(10, "switch_stuck_through", True)]
    actions += [Post(20 + 15 * i, rng.randrange(4), message(rng, place)) for i in range(most + 8)]
    return Stimulus.of(actions, tail=200, **place)


def _kept_back(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """No more frames than its allowance leave in the one period."""
    most, posts = setting(stimulus, "allowance"), {a.data[6:16] for a in _posts(stimulus)}
    own = [f for frames in observed.left.values() for f in frames if f.data[6:16] in posts]
    own.sort(key=lambda f: f.began)
    if setting(stimulus, "allowance_period") < stimulus.cycles:
        return []
    text = f"the frame left with which it is more than {most} in a period"
    return [Breach("mailbox.mute", frame.began, text) for frame in own[most:]]


def _at_every_cycle(rng: random.Random, own_lane: int) -> Stimulus:
    place = straps(rng)
    actions, at = guard_settings(1, 100, 4), 20
    for offset in range(0, 28, 1):
        actions += [Post(at, 0, message(rng, place)), Post(at + 30 + offset, 1, message(rng, place))]
        for lane in (0, 1):
            given = {"card": place["card"], "ttl": 2}
            home = lane == own_lane
            frame = RingFrame.of(other_control(rng, home=place["node"], **given)) if home else foreign(rng, place)
            actions.append(Send(at + 35, IN[lane], frame))
        at += 480
    return Stimulus.of(actions, tail=500, **place)


@rule("mailbox.unmute", "a muted GPU is heard again when it has kept to its allowance for a whole period, not earlier")
def unmute(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(guardian, "mailbox.unmute")
    for index in range(3 * effort):
        place = straps(rng)
        most, period = rng.choice([2, 4]), rng.randrange(300, 400)
        actions, at = guard_settings(most, period, 100), 20
        actions += [Post(at + 12 * i, i % 4, message(rng, place)) for i in range(most + 1)]
        at += 12 * (most + 1)
        # Some periods in which it goes on beyond its allowance, one in which it sends within, one of silence.
        for load in [most + 3] * rng.randrange(3) + [rng.choice([0, most - 1])]:
            actions += [Post(at + 30 + 30 * i, rng.randrange(4), message(rng, place)) for i in range(load)]
            actions += [Peek(at + period - 40, "status"), Peek(at + period // 2, "status")]
            at += period
        # Heard by the guardian again, and not yet back in the ring.
        actions.append(Post(at + 30, rng.randrange(4), message(rng, place)))
        actions += [Peek(at + 60, "status"), *(Peek(at + period + i, "status") for i in (0, 100))]
        actions += [Post(at + 2 * period + 100 * i, i, message(rng, place)) for i in range(2)]
        yield RuleCase(f"{most} in {period} {index}", Stimulus.of(actions, tail=300, **place), judge)
    # So many frames in a muted period that low bits of their number are within the allowance.
    for power in range(5, 10):
        place, most = straps(rng), rng.choice([2, 4])
        load = 2**power + rng.randrange(most + 1)
        period = 9 * load + 200
        actions, at = guard_settings(most, period, 100), 20
        actions += [Post(at + 12 * i, 0, _short(rng, place)) for i in range(most + 1)]
        at += 12 * (most + 1)
        actions += [Post(at + 20 + 8 * i, rng.randrange(4), _short(rng, place)) for i in range(load)]
        actions += [Peek(at + period + wait, "status") for wait in (-60, 60)]
        yield RuleCase(f"2^{power} in a muted period", Stimulus.of(actions, tail=300, **place), judge)
    # One frame too many in each period, with one of them in the very cycle in which a period ends and the next begins.
    # Frames are short: whether their first or last flit counts is left open, too.
    for phase in range(-2, 14):
        place, most, period = straps(rng), 2, 100
        actions, at = guard_settings(most, period), 20
        actions += [Post(at + 12 * i, 0, _short(rng, place)) for i in range(most + 1)]
        at += 12 * most
        actions += [Post(at + 20 + 20 * i, 0, _short(rng, place)) for i in range(most + 1)]
        for _ in range(4):
            at += period
            actions += [Post(at + phase + 30 * i, 0, _short(rng, place)) for i in range(most + 1)]
            actions.append(Peek(at + 40, "status"))
        yield RuleCase(f"at the turn of a period {phase}", Stimulus.of(actions, tail=300, **place), judge)


# ---------------------------------------------------------------------------------------------------------- order


def in_order(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """The frames written for a port leave by it whole, once and in order; beside them only transit leaves."""
    view, breaches = view_of(stimulus), []
    foreign_ids = {(IN.index(link), f.data[:2] + f.data[6:16]) for link in IN for f in observed.arrived[link]}
    due = _due(stimulus, observed)
    for port, link in enumerate(BY_PORT):
        lane = port if port < 2 else -1
        wanted = [p for p in _posts(stimulus) if p.port == port and _proper(p)]
        perhaps = [p for p in _posts(stimulus) if p.port == port and p.begun and p.finished and not _proper(p)]
        found = [f for f in observed.left[link] if f.channel == "control"]
        found = [f for f in found if (lane, f.data[:2] + f.data[6:16]) not in foreign_ids]
        place = 0
        for frame in found:
            if any(difference(_leaving(p, link, view), frame) is None for p in perhaps):
                continue
            # Of a frame on its way the switch may have cut the rest, when the GPU was muted.
            if not due and lane >= 0 and frame.sof and frame.eof and frame.err:
                continue
            ahead = [i for i in range(place, len(wanted)) if difference(_leaving(wanted[i], link, view), frame) is None]
            if not ahead:
                text = f"{link}: a frame of {len(frame.data) // 8} flits left that was not written so, or not then"
                breaches.append(Breach(rule_name, frame.ended, f"{text} ({frame.title})"))
                continue
            breaches += [
                Breach(rule_name, frame.ended, f"{link}: a frame never left ({described(p.data)})")
                for p in wanted[place : ahead[0]]
                if id(p) in due
            ]
            place = ahead[0] + 1
        lost = [p for p in wanted[place:] if due.get(id(p), stimulus.cycles) < stimulus.cycles]
        if lost:
            text = f"{link}: {len(lost)} frames of the firmware never left, the first is a {described(lost[0].data)}"
            breaches.append(Breach(rule_name, stimulus.cycles, text))
    return sorted(breaches, key=lambda b: b.cycle)


def _due(stimulus: Stimulus, observed: Observed) -> dict[int, int]:
    """The cycle by which a post must have left, by its id; posts of a GPU beyond its allowance need not."""
    posts = _posts(stimulus)
    if len(posts) > setting(stimulus, "allowance"):
        return {}
    before = max(sum(len(f.data) // 8 + 2 for f in observed.arrived[link]) for link in IN)
    return {id(post): at + before + 300 for post, at in zip(posts, offered(posts), strict=True)}


def _proper(post: Post) -> bool:
    """The post must leave."""
    room = HOST_QUEUE if post.port == 2 else RING_QUEUE
    return post.begun and post.finished and len(post.data) <= 8 * room


def _leaving(post: Post, link: str, view: NodeView) -> Leaving:
    """The frame as it must leave: its TTL no larger than ring size + 1, its link CRC right."""
    ttl = min(int.from_bytes(post.data[4:6], "big"), view.longest)
    data = post.data[:4] + ttl.to_bytes(2, "big") + post.data[6:]
    return Leaving(link, data[:-4] + crc.link_crc(data).to_bytes(4, "big"), False, "own")


@rule("mailbox.ready", "frames written without pause for all four ports leave whole and in order, however full it gets")
def ready(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = straps(rng)
        actions: list[Action] = [*QUIET]
        for port in (0, 1, 2, 3, 1, 0):
            for other in [port] * 9 + [rng.randrange(4) for _ in range(3)]:
                actions.append(Post(20, other, message(rng, place, ttl=rng.choice([1, place["size"] + 5]))))
        for lane in (0, 1):
            # Lanes that are nearly full: the queues of the mailbox fill up.
            at = 20
            for _ in range(40):
                frame = foreign(rng, place, rng.choice((9, 13)))
                actions.append(Send(at, IN[lane], frame))
                at += len(frame.data) // 8 + rng.choice([3, 4, 6])
        yield RuleCase(f"full {index}", Stimulus.of(actions, tail=1500, **place), partial(in_order, "mailbox.ready"))


def _of_length(rng: random.Random, place: dict[str, int], flits: int) -> bytes:
    """A report of this number of flits for another GPU."""
    home = (place["node"] + 1) % place["size"]
    head = bytes([Report.KIND, place["card"], 0, 0, 0, 2, *home.to_bytes(2, "big")])
    return codec.seal(head + rng.randbytes(wire.FLIT_BYTES * (flits - 2)))


@rule(
    "mailbox.lengths",
    "frames of any length up to the queue's leave whole, one behind the other; longer ones don't leave",
)
def lengths(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for port in (3, 2, 0, 1):
        room = HOST_QUEUE if port == 2 else RING_QUEUE
        place = straps(rng)
        actions: list[Action] = [*QUIET]
        # Mostly such as nearly fill the queue, so that the ends of the next ones lie anywhere in it.
        flits = [*rng.sample(range(2, room + 1), 12), *(rng.randrange(room - 8, room + 4) for _ in range(24 * effort))]
        flits += [room, room - 1] * 4
        rng.shuffle(flits)
        at = 20
        for count in flits:
            actions.append(Post(at, port, _of_length(rng, place, count)))
            at += count + rng.choice([0, 0, 1, room + 6])
        stimulus = Stimulus.of(actions, tail=400, **place)
        yield RuleCase(f"by {BY_PORT[port]}", stimulus, partial(in_order, "mailbox.lengths"))


def _turns(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """While frames of both kinds wait for a lane, at most one of the other kind goes first, beside the one that has
    begun already."""
    breaches = in_order(rule_name, stimulus, observed)
    posts = _posts(stimulus)
    wrote = {p.data[:2] + p.data[6:16]: at + len(p.data) // 8 for p, at in zip(posts, offered(posts), strict=True)}
    for lane, link in enumerate(OUT):
        came = {f.data[:2] + f.data[6:16]: f.ended for f in observed.arrived[IN[lane]]}
        for kind, since, others in (("on its way", came, wrote), ("of the GPU's own", wrote, came)):
            ready, ahead = 0, [f.began for f in observed.left[link] if f.data[:2] + f.data[6:16] in others]
            for frame in observed.left[link]:
                name = frame.data[:2] + frame.data[6:16]
                if name not in since:
                    continue
                # What begins up to then may have been chosen before it was there.
                ready = max(ready, since[name] + CHOSEN)
                passed = sum(ready < began < frame.began for began in ahead)
                if passed > 1:
                    text = (
                        f"{link}: {passed} frames went ahead of one {kind} that waited since cycle {ready}, at most 1"
                    )
                    breaches.append(Breach(rule_name, frame.began, text))
                ready = frame.ended
    return sorted(breaches, key=lambda b: b.cycle)


@rule("mailbox.turns", "on each lane frames of the GPU's own and frames on their way take turns while both wait")
def turns(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for lane in (0, 1):
            place = straps(rng)
            actions: list[Action] = [*QUIET]
            # Endless own frames and a few on their way, then bursts of these beside a few own ones.
            at = 20
            for _ in range(40):
                actions.append(Post(at, lane, _of_length(rng, place, rng.choice([4, 6, 9]))))
            for _ in range(8):
                at += rng.randrange(20, 40)
                actions.append(Send(at, IN[lane], foreign(rng, place, 5)))
            at = 500
            for _ in range(4):
                for _ in range(10):
                    actions.append(Send(at, IN[lane], foreign(rng, place, 5)))
                for _ in range(4):
                    actions.append(Post(at + rng.randrange(30), lane, _of_length(rng, place, rng.choice([2, 5]))))
                at += 180
            stimulus = Stimulus.of(actions, tail=400, **place)
            yield RuleCase(f"by {OUT[lane]} {index}", stimulus, partial(_turns, "mailbox.turns"))


@rule("mailbox.hostile", "frames that don't end, don't begin or are too long don't leave; later ones do")
def hostile(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(in_order, "mailbox.hostile")
    for index in range(2 * effort):
        for kind in ("no end", "no beginning", "too long"):
            place = straps(rng)
            actions: list[Action] = [*QUIET]
            at = 20
            for _ in range(8):
                port = rng.randrange(4)
                good = message(rng, place)
                if kind == "no end":
                    actions.append(Post(at, port, good[: 8 * rng.randrange(1, 7)], finished=False))
                elif kind == "no beginning":
                    actions.append(Post(at, port, good, begun=False))
                else:
                    records = rng.choice([14, 15, 16, 40]) + (16 if port == 2 else 0)
                    given = {"origin": place["node"], "flags": 2, "records": records, "size": place["size"]}
                    data = statistics(rng, card=place["card"], ttl=2, **given)
                    actions.append(Post(at, port, data, finished=rng.random() < 0.7))
                at += 120
                for other in rng.sample(range(4), 2):
                    actions.append(Post(at, other, message(rng, place)))
                actions.append(Post(at, port, message(rng, place)))
                at += 60
            yield RuleCase(f"{kind} {index}", Stimulus.of(actions, tail=500, **place), judge)


# --------------------------------------------------------------------------------------------------- falling out


def _ended(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Frames leave the ring whole, or marked, or not at all; those of a working GPU leave."""
    view, breaches = view_of(stimulus), []
    restore, spans = setting(stimulus, "gpu_restore"), faulty(observed, "dead")
    for port, link in OUTWARD:
        waiting = [post for post in _posts(stimulus) if post.port == port]
        for frame in observed.left[link]:
            post = next((p for p in waiting if difference(_leaving(p, link, view), frame) is None), None)
            if post is not None:
                waiting.remove(post)
            elif not (frame.sof and frame.eof and frame.err):
                text = f"{link}: {len(frame.data) // 8} flits of a frame left, and neither its end nor a marked one"
                breaches.append(Breach(rule_name, frame.ended, f"{text} ({frame.title})"))
        posts = _posts(stimulus)
        if len(posts) > setting(stimulus, "allowance"):
            continue
        times = {id(post): at for post, at in zip(posts, offered(posts, spans), strict=True)}
        for post in waiting:
            at = times[id(post)]
            calm = all(at + 60 < s.begin or s.end + restore + BACK + 4 < post.at for s in spans)
            if calm and at + 60 < stimulus.cycles:
                text = f"{link}: the frame of cycle {post.at} never left"
                breaches.append(Breach(rule_name, post.at, text))
    return breaches


@rule("mailbox.cut", "a frame for the CPU or another card is not left without an end when its GPU dies", "R6")
def cut(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for port, link in OUTWARD:
        place = straps(rng)
        actions: list[Action] = [*QUIET, Poke(6, "gpu_restore", 4)]
        at = 20
        for offset in list(range(26)) * effort:
            actions += [Post(at, port, message(rng, place)), Fault(at + offset, "dead", True)]
            at += offset + 20
            actions += [Fault(at, "dead", False), Post(at + 40, port, message(rng, place))]
            at += 110
        judge = partial(_ended, "mailbox.cut")
        yield RuleCase(link, Stimulus.of(actions, **place), judge)


# ------------------------------------------------------------------------------------------------ CPU, other card


def _handed(rule_name: str, link: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Control frames by a port that leaves the ring are handed to the firmware as they came, bad ones marked."""
    port, breaches = BY_PORT.index(link), []
    out = bool(faulty(observed, "dead"))
    outcome = ControlOutcome()
    cut = False
    for frame in observed.arrived[link]:
        if not frame.sof or out:
            continue
        bad = frame.err or not frame.link_ok or not frame.eof
        data = b"" if not frame.eof else frame.data
        outcome.mail.append(control.Delivered(port, data, bad, optional=cut))
        cut = not frame.eof
    waiting = list(outcome.mail)
    for mail in observed.mail:
        if mail.port != port:
            continue
        # It may be any up to the first that can't have been lost; of a cut one it can't be told which it was.
        first = next((i for i, m in enumerate(waiting) if not m.optional), len(waiting))
        able = [i for i, m in enumerate(waiting[: first + 1]) if _is(m, mail.data, mail.bad)]
        place = next((i for i in able if waiting[i].data), able[0] if able else -1)
        if place < 0 or not mail.whole:
            text = (
                f"mailbox {port}: a frame that is {'bad' if mail.bad else 'good'} was handed over, or handed over so,"
            )
            breaches.append(Breach(rule_name, mail.ended, f"{text} that did not come ({described(mail.data)})"))
            return breaches
        del waiting[: place + 1]
    if any(not mail.optional for mail in waiting):
        text = f"mailbox {port}: {len(waiting)} frames were not handed over"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    return breaches


def _is(expected: control.Delivered, data: bytes, bad: bool) -> bool:
    return expected.bad == bad and expected.data in (b"", data)


def _outside(link: str, rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = straps(rng)
        actions: list[Action] = [*QUIET]
        at = 20
        for i in range(14):
            frame = control_frame(rng, damage=0.0 if i > 11 else 0.5, **place)
            actions.append(Send(at, link, frame))
            at += len(frame.data) // 8 + rng.choice([0, 1, 20])
            if rng.random() < 0.5:
                actions.append(Post(at, BY_PORT.index(link), message(rng, place, ttl=0xFFFF)))
        if index % 2:
            actions.insert(2, Fault(6, "dead", True))
        with_gaps(rng, actions, [link])
        judge = partial(_handed, f"mailbox.{link}", link)
        yield RuleCase(f"{link} {index}", Stimulus.of(actions, **place), judge)


@rule("mailbox.host", "control frames of the CPU go to the firmware as they are; not to that of a dead GPU", "R4")
def host(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    yield from _outside("host", rng, effort)


@rule("mailbox.boundary", "control frames of another card go to the firmware as they are; not to that of a dead GPU")
def boundary(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    yield from _outside("boundary", rng, effort)
