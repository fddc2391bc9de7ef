"""The bypass switch: a GPU that is dead, hangs, comes back, or whose switch is stuck (R6)."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from ringhil.emulator.conformance.frames import control_frame, other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import GAP, QUIET, RECORDS, follows, spread, straps
from ringhil.emulator.conformance.steady import judge_control, view_of
from ringhil.emulator.conformance.timeline import NEVER, Span, bit, faulty, readings, setting
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Fault, Peek, Poke, Post, Send, Stimulus

AT_ONCE = 4  # cycles within which what has to happen at once has happened, from the pins to the status register
BACK = 8  # cycles that a GPU's return may take beyond gpu_restore: it answers the switch first
LONGEST = 140  # cycles that the longest frame played here takes to pass, queues included
OWN = 40  # cycles: more than any frame of the GPU's own takes that is played here
OUT_OF_RING = ("bypass_cw", "bypass_ccw")


def foreign(rng: random.Random, stimulus: dict[str, int], flits: int = 0) -> RingFrame:
    """A good frame for another GPU, statistics more often than not; of about `flits` flits if that isn't 0."""
    size = stimulus["size"]
    home = rng.choice([g for g in range(min(size, 8)) if g != stimulus["node"]])
    given = {"card": stimulus["card"], "ttl": size}
    if flits or rng.random() < 0.7:
        records = max(0, (flits - 5) // 2) if flits else rng.randrange(6)
        flags = RECORDS if records else rng.choice([0, RECORDS])
        data = statistics(rng, origin=home, flags=flags, records=records, size=size, **given)
    else:
        data = other_control(rng, home=home, **given)
    return RingFrame.of(data)


def either(stimulus: Stimulus) -> tuple[NodeView, NodeView]:
    """A node that takes part, and one that doesn't."""
    view = view_of(stimulus)
    return view, replace(view, bypassed=True)


def _switches(observed: Observed, *names: str) -> int:
    return len(faulty(observed, *names))


# ------------------------------------------------------------------------------------------------------------ dead


def _dead(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    dead = bool(faulty(observed, "dead"))
    name = "switch.dead"
    breaches = judge_control(name, stimulus, observed, NodeView(bypassed=dead))
    if not dead:
        return breaches
    breaches += [
        Breach(name, frame.ended, f"{link}: a frame of the dead GPU left ({frame.title})")
        for link in ("host", "boundary")
        for frame in observed.left[link]
    ]
    status = observed.registers["status"]
    wanted = {"bypass_cw": True, "bypass_ccw": True, "healthy": False, "tripped": False, "stuck": False}
    breaches += [
        Breach(name, stimulus.cycles, f"status bit {bit_name} is {int(not on)} with a dead GPU, must be {int(on)}")
        for bit_name, on in wanted.items()
        if bit(status, bit_name) != on
    ]
    return breaches + [_late(name, arrived, left) for arrived, left in _pairs(observed) if left - arrived != 1]


def _pairs(observed: Observed) -> Iterable[tuple[int, int]]:
    """Cycles in which a frame's first flit arrived and left, of frames that come one by one."""
    for lane, link in enumerate(IN):
        began = {f.data[:2] + f.data[6:16]: f.began for f in observed.left[OUT[lane]]}
        for frame in observed.arrived[link]:
            if frame.data[:2] + frame.data[6:16] in began and frame.sof:
                yield frame.began, began[frame.data[:2] + frame.data[6:16]]


def _late(name: str, arrived: int, left: int) -> Breach:
    return Breach(name, left, f"a frame takes {left - arrived} cycles past a dead GPU, must be 1")


@rule("switch.dead", "every frame passes a dead GPU in one cycle, TTL less one; the GPU's own frames don't leave", "R6")
def dead(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = straps(rng)
        frames = [control_frame(rng, damage=0.2, **place) for _ in range(12)]
        given = {"card": place["card"], "ttl": 3}
        frames += [RingFrame.of(other_control(rng, home=place["node"], **given)) for _ in range(2)]
        posts = [Post(20 + 60 * i, i % 4, other_control(rng, home=place["size"] - 1, **given)) for i in range(8)]
        actions = [*QUIET, Fault(6, "dead", True), *spread(frames, (0, 1) * 7), *posts]
        yield RuleCase(f"dead {index}", Stimulus.of(actions, **place), _dead)


def _silenced(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """No frame of its own begins when it has been dead for a moment; one that had begun leaves whole, or cut."""
    name, written = "switch.silenced", {a.data[6:16] for a in stimulus.actions if isinstance(a, Post)}
    return [
        Breach(
            name, f.ended, f"{link}: a frame of the GPU began to leave {f.began - span.begin} cycles after its death"
        )
        for span in faulty(observed, "dead")
        for link, frames in observed.left.items()
        for f in frames
        if f.data[6:16] in written and span.begin + AT_ONCE < f.began < span.end
    ]


@rule("switch.silenced", "once a GPU is dead, no frame that it has written begins to leave", "R6")
def silenced(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = straps(rng)
        actions: list[Action] = [*QUIET, Poke(6, "gpu_restore", 4)]
        at = 20
        # The mailbox takes a flit a cycle and a port sends one, so frames wait behind longer ones only: on one port,
        # and on a port outside the ring while both lanes still send frames of the GPU, for which the switch waits.
        alone = [[(port, flits) for flits in (20, 5, 6)] for port in (0, 1, 2, 3, 2, 3)]
        beside = [[(port, 61), (0, 31), (1, 17), (port, 5)] for port in (2, 3, 2, 3)]
        for frames in alone + beside:
            for port, flits in frames:
                given = {"card": place["card"], "origin": place["node"], "ttl": 2, "size": place["size"]}
                records = (flits - 5) // 2 if flits > 6 else 0
                data = statistics(rng, flags=RECORDS if records else 0, records=records, **given)
                actions.append(Post(at, port, data))
            written = sum(flits for _, flits in frames)
            fails = at + rng.randrange(written - 9, written + 7)
            actions += [Fault(fails, "dead", True), Fault(fails + 150, "dead", False)]
            at = fails + 250
        yield RuleCase(f"silenced {index}", Stimulus.of(actions, **place), _silenced)


# -------------------------------------------------------------------------------------------------- falling out


def _falls_out(rule_name: str, faults: Sequence[str], stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Every good frame goes on once, whenever the GPU fails; while it is known to work, counted."""
    working, passing = either(stimulus)
    spans = faulty(observed, *faults)
    first = spans[0].begin if spans else NEVER

    def views(frame: RingFrame) -> Sequence[NodeView]:
        return (working,) if frame.ended + LONGEST < first else (working, passing)

    breaches = judge_moving(rule_name, stimulus, observed, Moves(views, cuts=len(spans)))
    if observed.registers["overflowed"]:
        text = f"register overflowed is {observed.registers['overflowed']}: nothing that came had to be lost"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    if faults == ("hang",):
        breaches += _trips(rule_name, stimulus, observed, spans)
    return breaches


def _trips(rule_name: str, stimulus: Stimulus, observed: Observed, spans: Sequence[Span]) -> list[Breach]:
    """A hanging GPU is tripped once, `watchdog` cycles after it has taken a flit, not earlier."""
    watchdog, breaches = setting(stimulus, "watchdog"), []
    # A frame of its own may go first.
    behind = OWN if any(isinstance(a, Post) for a in stimulus.actions) else 0
    trips = observed.registers["trips"]
    if trips > len(spans):
        text = f"register trips is {trips} after {len(spans)} hangs"
        breaches.append(Breach(rule_name, stimulus.cycles, text))
    for cycle, value in readings(observed, "status"):
        span = next((s for s in spans if cycle in s), None)
        if span is None:
            continue
        # A flit that came just before may be in the GPU when it stops.
        taken = [f for link in IN for f in observed.arrived[link] if f.channel == "control" and f.sof and f.ttl]
        early = min((max(f.began, span.begin - 3) for f in taken if f.ended >= span.begin - 3), default=NEVER)
        handed = _handed_over(stimulus, observed, [s for s in spans if s.end <= span.begin])
        late = min((max(f.began, span.begin) for f in handed if f.ended >= span.begin), default=NEVER)
        if bit(value, "tripped") and cycle < early + watchdog and cycle < span.begin + watchdog:
            text = f"status says tripped {cycle - span.begin} cycles after the GPU hung, watchdog is {watchdog}"
            breaches.append(Breach(rule_name, cycle, text))
        if not bit(value, "tripped") and late + watchdog + behind + AT_ONCE < cycle:
            text = (
                f"not tripped {cycle - late} cycles after the GPU should have acted on a flit, watchdog is {watchdog}"
            )
            breaches.append(Breach(rule_name, cycle, text))
    return breaches


def _handed_over(stimulus: Stimulus, observed: Observed, before: Sequence[Span]) -> Iterable[RingFrame]:
    """Frames that the GPU gets, for certain: their lane was idle when it came back from its last failure, so that the
    switch had no frame's end to wait for."""
    back = before[-1].end + setting(stimulus, "gpu_restore") + BACK if before else 0
    for lane, link in enumerate(IN):
        if not any(f.began <= back <= f.ended for f in observed.left[OUT[lane]]):
            arrived = (f for f in observed.arrived[link] if f.channel == "control" and f.sof and f.ttl)
            yield from (f for f in arrived if f.began > back)


def _episodes(
    rng: random.Random,
    fault: str,
    lengths: Sequence[int],
    offsets: Iterable[int],
    wait: int,
    watchdog: int = OWN,
) -> Stimulus:
    """Frames on both lanes, again and again, while the GPU fails at every cycle of them and recovers. Frames of its own
    too, if the watchdog leaves time for the one on its way out: a switch that waits for longer counts as stuck."""
    place = straps(rng)
    actions: list[Action] = [*QUIET, Poke(5, "watchdog", watchdog), Poke(6, "gpu_restore", 4)]
    at = 20
    for offset in offsets:
        for lane in (0, 1):
            shift = rng.randrange(4) * lane
            flits = rng.choice(lengths)
            frame = foreign(rng, place, flits)
            if rng.random() < 0.2:
                frame = RingFrame.of(other_control(rng, card=place["card"], home=place["node"], ttl=2))
            actions.append(Send(at + shift, IN[lane], frame))
            if watchdog >= OWN and rng.random() < 0.3:
                sent = other_control(rng, card=place["card"], home=(place["node"] + 1) % place["size"], ttl=2)
                actions.append(Post(at + rng.randrange(12), lane, sent))
            actions.append(Send(at + shift + len(frame.data) // 8 + 3, IN[lane], foreign(rng, place)))
        actions += [Fault(at + offset, fault, True), Fault(at + offset + wait, fault, False)]
        if fault == "hang":
            actions += [Peek(at + offset + i, "status") for i in range(watchdog - 1, wait - 3, 3)]
        at += max(offset + wait, max(lengths) + 50) + 60
    return Stimulus.of(actions, tail=500, **place)


@rule("switch.dies", "when a GPU dies, in whatever cycle, every good frame goes on exactly once as a good one", "R6")
def dies(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_falls_out, "switch.dies", ("dead",))
    short = _episodes(rng, "dead", (5, 7, 9, 13), range(26), 20)
    yield RuleCase("short frames", short, judge)
    for index in range(effort):
        offsets = sorted(rng.sample(range(70), 8))
        yield RuleCase(f"long frames {index}", _episodes(rng, "dead", (31, 63), offsets, 40), judge)


@rule("switch.hang", "a hang trips the switch `watchdog` cycles after a flit was taken, and loses no frame", "R6")
def hang(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_falls_out, "switch.hang", ("hang",))
    short = _episodes(rng, "hang", (5, 7, 9, 13), range(0, 26, 2 if effort == 1 else 1), 50, 8)
    yield RuleCase("short frames", short, judge)
    for index in range(effort):
        offsets = sorted(rng.sample(range(70), 8))
        yield RuleCase(f"long frames {index}", _episodes(rng, "hang", (31, 63), offsets, 60, 8), judge)
    own = _episodes(rng, "hang", (5, 7, 9, 13), sorted(rng.sample(range(26), 10)), 80)
    yield RuleCase("frames of its own", own, judge)
    brief = _episodes(rng, "hang", (7, 9), range(0, 20, 2), 5, 8)
    yield RuleCase("shorter than the watchdog", brief, judge)


# ----------------------------------------------------------------------------------------------------- heartbeat


def _heartbeat(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    name = "switch.heartbeat"
    period, watchdog = setting(stimulus, "heartbeat"), setting(stimulus, "watchdog")
    spans, breaches = faulty(observed, "hang"), []
    writes = [(cycle, action) for cycle, action in observed.done if isinstance(action, Poke)]
    start = max((cycle for cycle, _action in writes), default=0)
    beats = period > 0 and any(cycle <= 1 and action.register == "heartbeat" for cycle, action in writes)
    for cycle, value in readings(observed, "status"):
        tripped = bit(value, "tripped")
        span = next((s for s in reversed(spans) if s.begin <= cycle), None)
        if span is None or (cycle > span.end + AT_ONCE):
            if tripped:
                breaches.append(Breach(name, cycle, "status says tripped, and the GPU works"))
        elif cycle in span and tripped and (period == 0 or cycle < span.begin + watchdog - 1):
            text = f"tripped {cycle - span.begin} cycles after the GPU hung: heartbeat {period}, watchdog {watchdog}"
            breaches.append(Breach(name, cycle, text))
        elif cycle in span and not tripped and beats and cycle > max(span.begin, start) + period + watchdog + 6:
            text = f"not tripped {cycle - span.begin} cycles after the GPU hung: heartbeat {period}"
            breaches.append(Breach(name, cycle, f"{text}, watchdog {watchdog}"))
    if observed.registers["trips"] > len(spans):
        text = f"register trips is {observed.registers['trips']} after {len(spans)} hangs"
        breaches.append(Breach(name, stimulus.cycles, text))
    return breaches


@rule("switch.heartbeat", "a hang without any traffic trips within heartbeat + watchdog; heartbeat 0 switches that off")
def heartbeat(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        for period, muted in ((rng.randrange(20, 60), False), (0, False), (rng.randrange(20, 60), True)):
            watchdog = rng.randrange(5, 15)
            # A period that is written later holds from the next question on, which the old one decides.
            settings = [Poke(0, "heartbeat", period), Poke(2, "watchdog", watchdog), Poke(3, "gpu_restore", 4)]
            actions: list[Action] = [*settings]
            at = 40
            if muted:  # all the time: that is no reason not to ask it
                actions += [Poke(4, "allowance", 0), Poke(5, "allowance_period", 10_000)]
                actions.append(Post(20, 0, other_control(rng, home=0, ttl=2)))
            for _ in range(4):
                at += rng.randrange(5 * period + 60)  # a question may be under way, and was answered once or more often
                limit = period + watchdog
                actions.append(Fault(at, "hang", True))
                actions += [Peek(at + i, "status") for i in (watchdog - 3, limit // 2, limit + 8, limit + 12)]
                at += limit + 20
                actions += [Fault(at, "hang", False), Peek(at + 6, "status"), Peek(at + 40, "status")]
                at += 45
            name = f"heartbeat {period}{', muted' * muted} {index}"
            yield RuleCase(name, Stimulus.of(actions, tail=60), _heartbeat)


# ------------------------------------------------------------------------------------------------------- restore


def _restore(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Dead GPUs take part again `gpu_restore` cycles after they are well, hanging ones too; neither earlier."""
    working, passing = either(stimulus)
    restore, watchdog = setting(stimulus, "gpu_restore"), setting(stimulus, "watchdog")
    unwell, deaths = faulty(observed, "dead", "hang"), faulty(observed, "dead")
    # Out of the ring by a trip, for certain: from where status said so.
    out_since = [*deaths]
    for span in faulty(observed, "hang"):
        seen = [c for c, value in readings(observed, "status") if c in span and bit(value, "tripped")]
        out_since += [Span(first, span.end) for first in seen[:1]]

    def must_pass(begin: int, end: int) -> bool:
        """The GPU is out of the ring for certain, all this time."""
        return any(s.begin + AT_ONCE <= begin and end < s.end + restore for s in out_since)

    def must_work(begin: int, end: int) -> bool:
        before = [s for s in unwell if s.begin <= end + LONGEST]
        return all(s.end + restore + BACK < begin for s in before)

    def views(frame: RingFrame) -> Sequence[NodeView]:
        if must_pass(frame.began, frame.ended):
            return (passing,)
        return (working,) if must_work(frame.began, frame.ended) else (working, passing)

    breaches = judge_moving(rule_name, stimulus, observed, Moves(views, cuts=len(unwell)))
    for cycle, value in readings(observed, "status"):
        out = [bit(value, name) for name in OUT_OF_RING]
        if must_pass(cycle - LONGEST if any(isinstance(a, Post) for a in stimulus.actions) else cycle, cycle):
            restoring = restore == 0 or bit(value, "restoring")
            if not (all(out) and restoring):
                text = f"status 0x{value:03X}: in the ring before gpu_restore ({restore}) is over"
                breaches.append(Breach(rule_name, cycle, text))
        if must_work(cycle - LONGEST, cycle - LONGEST) and (any(out) or bit(value, "restoring")):
            text = f"status 0x{value:03X}: not in the ring {LONGEST} cycles after gpu_restore ({restore}) was over"
            breaches.append(Breach(rule_name, cycle, text))
        inside = any(s.begin + 2 <= cycle < s.end for s in deaths)
        outside = all(not s.begin <= cycle <= s.end + 2 for s in deaths)
        if (inside and bit(value, "healthy")) or (outside and not bit(value, "healthy")):
            breaches.append(Breach(rule_name, cycle, f"status 0x{value:03X}: healthy is wrong"))
        if bit(value, "tripped") and all(not s.begin + watchdog <= cycle + 1 <= s.end + 5 for s in unwell):
            breaches.append(
                Breach(rule_name, cycle, f"status 0x{value:03X}: tripped, and the GPU has not hung so long")
            )
    return breaches


@rule("switch.restore", "a GPU takes part again gpu_restore cycles after it is well; one that flaps stays out", "R6")
def restore(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for fault, wait in product(("dead", "hang"), (index % 2, 30, 90)):
            place = straps(rng)
            actions: list[Action] = [*QUIET, Poke(5, "watchdog", 10), Poke(6, "gpu_restore", wait)]
            at = 20
            actions.append(Send(at, "p1", foreign(rng, place)))
            at += 200
            for _ in range(3):
                down = rng.randrange(25, 60)
                actions += [Fault(at, fault, True), Fault(at + down, fault, False)]
                for lane in (0, 1):
                    actions.append(Send(at + 1, IN[lane], foreign(rng, place)))
                    for i in range((wait + 60) // 30):
                        begin = at + down + 30 * i + rng.randrange(8)
                        actions.append(Send(begin, IN[lane], foreign(rng, place)))
                actions += [Peek(at + down + wait + i, "status") for i in (-wait - 5, -3, -1, 12, 150, 160)]
                at += down + wait + 170
            yield RuleCase(f"{fault}, {wait} cycles {index}", Stimulus.of(actions, tail=500, **place), _named_restore)
        place = straps(rng)
        actions = [*QUIET, Poke(5, "gpu_restore", 64)]
        for i in range(10):
            at = 200 + 50 * i
            lasts = rng.randrange(1, 20) if i % 4 else 1
            actions += [Fault(at, "dead", True), Fault(at + lasts, "dead", False)]
            actions += [Send(at + rng.randrange(50), IN[i % 2], foreign(rng, place)), Peek(at + 30, "status")]
        yield RuleCase(f"flapping {index}", Stimulus.of(actions, tail=500, **place), _named_restore)


def _named_restore(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    return _restore("switch.restore", stimulus, observed)


# --------------------------------------------------------------------------------------------------------- stuck


def _stuck(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """A switch stuck in THROUGH before a dead GPU."""
    watchdog = setting(stimulus, "watchdog")
    stuck, deaths = faulty(observed, "switch_stuck_through"), faulty(observed, "dead")
    both = [Span(max(s.begin, d.begin), min(s.end, d.end)) for s in stuck for d in deaths]
    both = [s for s in both if s.begin < s.end]
    working, passing = either(stimulus)

    def views(frame: RingFrame) -> Sequence[NodeView]:
        return (working, passing) if deaths else (working,)

    cuts = len(stuck) + len(deaths)
    breaches = judge_moving(rule_name, stimulus, observed, Moves(views, cuts=2 * cuts, lossy=bool(both)))
    # One that gets loose follows at once; else it is asked to move until the GPU is back, gpu_restore cycles later.
    restore, loose = setting(stimulus, "gpu_restore"), {s.end for s in stuck}
    silences = [Span(s.begin, s.end + 2 * AT_ONCE + (0 if s.end in loose else restore + BACK)) for s in both]
    for link in OUT:
        for cycle, up in _watched(stimulus, [(c, up) for c, up, _fault in observed.levels[link]]):
            may = any(s.begin + watchdog <= cycle < s.end for s in silences)
            must = any(s.begin + watchdog + 2 * AT_ONCE <= cycle < s.end for s in both)
            if (must and up) or (not up and not may):
                text = f"{link}: carrier is {'on' if up else 'off'} with a switch that is"
                text += " stuck before a dead GPU" if must else " not stuck so long"
                breaches.append(Breach(rule_name, cycle, f"{text}, watchdog is {watchdog}"))
    for cycle, value in readings(observed, "status"):
        must = any(s.begin + watchdog + 2 * AT_ONCE <= cycle < s.end for s in both)
        may = any(s.begin + watchdog <= cycle < s.end for s in silences)
        if (must and not bit(value, "stuck")) or (not may and bit(value, "stuck")):
            breaches.append(Breach(rule_name, cycle, f"status 0x{value:03X}: stuck is {int(bit(value, 'stuck'))}"))
    return breaches


def _watched(stimulus: Stimulus, changes: Sequence[tuple[int, bool]]) -> Iterable[tuple[int, bool]]:
    """The carrier in every cycle, from its changes."""
    up, after = True, 0
    for cycle, now in [*changes, (stimulus.cycles, True)]:
        yield from ((c, up) for c in range(after, cycle))
        up, after = now, cycle


@rule("switch.stuck_through", "a switch stuck in THROUGH before a dead GPU takes its carrier off both ring ports", "R6")
def stuck_through(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_stuck, "switch.stuck_through")
    for index in range(effort):
        for first, second in (("dead", "switch_stuck_through"), ("switch_stuck_through", "dead")):
            place = straps(rng)
            watchdog = rng.choice([10, 40, 64])
            actions: list[Action] = [*QUIET, Poke(5, "watchdog", watchdog), Poke(6, "gpu_restore", rng.choice([4, 64]))]
            # At first it is stuck, and nothing is wrong; then GPU or switch recover, in either order.
            actions += [Fault(120, "switch_stuck_through", True), Fault(300, "dead", True)]
            actions += [Fault(600, first, False), Fault(900, second, False)]
            seen = (250, 302, 300 + watchdog - 2, 300 + watchdog + 12, 590, 612, 700, 1000)
            actions += [Peek(at, "status") for at in seen]
            # What was there for less than the watchdog's time leaves nothing behind: the next time it lasts as long.
            for again in range(3):
                at = 1100 + 250 * again
                brief = (watchdog - 3, watchdog // 2, watchdog + 30)[again]
                actions += [Fault(at, "switch_stuck_through", True), Fault(at + 1, "dead", True)]
                actions += [Fault(at + brief, "switch_stuck_through", False), Fault(at + brief + 40, "dead", False)]
                actions += [Peek(at + brief - 1, "status"), Peek(at + brief + 12, "status")]
            frames = [foreign(rng, place) for _ in range(24)]
            actions += [Send(20 + 70 * i, IN[i % 2], frame) for i, frame in enumerate(frames)]
            yield RuleCase(f"{second} lasts {index}", Stimulus.of(actions, tail=500, **place), judge)


def _stuck_bypass(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    name, watchdog = "switch.stuck_bypass", setting(stimulus, "watchdog")
    spans = faulty(observed, "switch_stuck_bypass")
    if not spans:
        return judge_control(name, stimulus, observed)
    breaches = judge_control(name, stimulus, observed, NodeView(bypassed=True))
    death = min((span.begin for span in faulty(observed, "dead")), default=stimulus.cycles + 1)
    wanted = {"bypass_cw": True, "bypass_ccw": True, "healthy": True, "tripped": False, "restoring": False}
    for cycle, value in [*readings(observed, "status"), (stimulus.cycles, observed.registers["status"])]:
        since = cycle - spans[0].begin
        if since < 2 * AT_ONCE or cycle >= death:
            continue
        expected = dict(wanted)
        if not watchdog <= since <= watchdog + 2 * AT_ONCE:
            expected["stuck"] = since > watchdog
        breaches += [
            Breach(name, cycle, f"status 0x{value:03X}: {bit_name} must be {int(on)} with a switch stuck in BYPASS")
            for bit_name, on in expected.items()
            if bit(value, bit_name) != on
        ]
    for link in OUT:
        breaches += [Breach(name, c, f"{link}: carrier off") for c, up, _fault in observed.levels[link] if not up]
    return breaches


@rule("switch.stuck_bypass", "a switch stuck in BYPASS passes all frames, keeps its carrier and says that it is stuck")
def stuck_bypass(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = straps(rng)
        watchdog = rng.randrange(20, 100)
        actions: list[Action] = [*QUIET, Poke(5, "watchdog", watchdog), Fault(6, "switch_stuck_bypass", True)]
        actions += spread([control_frame(rng, damage=0.1, **place) for _ in range(8)], (0, 1) * 4)
        actions += [Peek(at, "status") for at in (16, 6 + watchdog - 3, 6 + watchdog + 12)]
        # A GPU that is out already, by its switch, can still die: now it stands where it should.
        actions += [Fault(6 + watchdog + 20, "dead", True), Fault(6 + watchdog + 90, "dead", False)]
        yield RuleCase(f"stuck {index}", Stimulus.of(actions, tail=300, **place), _stuck_bypass)
    place = straps(rng)
    actions = [*QUIET, Fault(6, "switch_stuck_through", True)]
    actions += spread([control_frame(rng, **place) for _ in range(6)], (0, 1) * 3, gap=GAP)
    yield RuleCase(
        "stuck in THROUGH with a GPU that works", Stimulus.of(actions, **place), follows("switch.stuck_bypass")
    )
