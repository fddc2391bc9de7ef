"""The control channel of a working GPU: counting, forwarding, TTL, taking home, damaged frames (R2, R3, R8)."""

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from ringhil.emulator.conformance.frames import control_frame, other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.steady import judge_control
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUT
from ringhil.emulator.testbench.reference.view import NodeView
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Pause, Poke, Post, Send, Stimulus
from ringhil.protocol import registers, wire

RECORDS = wire.Flag.WITH_RECORDS
GAP = 40  # cycles between frames that must not touch
QUIET = (Poke(2, "heartbeat", 0), Poke(4, "allowance", 10_000))  # nothing but the frames makes the node act
FIRST = 10  # cycle of the first frame


def straps(rng: random.Random) -> dict[str, int]:
    """A place in a ring, drawn."""
    size = rng.choice([2, 3, 8, 64, 1024])
    return {"card": rng.randrange(16), "node": rng.randrange(size), "size": size}


def spread(frames: Iterable[RingFrame], lanes: Iterable[int], gap: int = GAP) -> list[Action]:
    """Frames one after the other with a gap between them, each into its lane."""
    at = FIRST
    actions: list[Action] = []
    for frame, lane in zip(frames, lanes, strict=False):
        actions.append(Send(at, IN[lane], frame))
        at += len(frame.data) // 8 + gap
    return actions


def follows(rule_name: str, view: NodeView | None = None) -> partial[list[Breach]]:
    """The judge by the reference model."""
    return partial(judge_control, rule_name, view=view)


@rule("control.count", "a working GPU adds one to the count of a foreign statistics message, and its record", "R3, R8")
def count(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(3 * effort):
        place = straps(rng)
        others = [g for g in {0, 1, place["size"] - 1, rng.randrange(place["size"])} if g != place["node"]]
        frames = []
        for lane in (0, 1) * 4:
            flags = rng.choice([0, RECORDS]) | wire.Flag.CCW * lane
            records = rng.randrange(5) if flags & RECORDS else 0
            limit = rng.choice([wire.MAX_RING, records + 1, records])
            given = {"card": place["card"], "origin": rng.choice(others), "size": place["size"]}
            frames.append(
                RingFrame.of(statistics(rng, ttl=place["size"], flags=flags, records=records, limit=limit, **given))
            )
        marks = rng.getrandbits(5) & ~registers.ControlBit.MONITOR
        own = [Poke(6, "control", marks), Poke(7, "weight", rng.getrandbits(16))]
        own += [Poke(8, "gpu_type", rng.getrandbits(8)), Poke(9, "boundary_peer", rng.getrandbits(8))]
        stimulus = Stimulus.of([*QUIET, *own, *spread(frames, (0, 1) * 4)], **place)
        yield RuleCase(f"count {index}", stimulus, follows("control.count"))


@rule("control.forward", "other control frames for other GPUs leave as they came, TTL less one", "R6")
def forward(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = straps(rng)
        others = [g for g in range(min(place["size"], 9)) if g != place["node"]]
        given = {"card": place["card"], "ttl": place["size"]}
        frames = [RingFrame.of(other_control(rng, home=rng.choice(others), **given)) for _ in range(8)]
        frames += [RingFrame.of(other_control(rng, card=place["card"] ^ 1, home=place["node"], ttl=2))]
        stimulus = Stimulus.of([*QUIET, *spread(frames, (0, 1) * 5)], **place)
        yield RuleCase(f"forward {index}", stimulus, follows("control.forward"))


@rule("control.ttl", "the TTL goes down by one at each hop; a frame that has used it up is dropped and counted")
def ttl(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = {"card": 3, "node": 2, "size": 8}
    frames = []
    for left in (0, 1, 2, 8, 9, 10, 0xFFFF):
        frames.append(RingFrame.of(statistics(rng, card=3, ttl=left, flags=rng.choice([0, RECORDS]), size=8)))
        frames.append(RingFrame.of(other_control(rng, card=3, home=5, ttl=left)))
        frames.append(RingFrame.of(other_control(rng, card=3, home=2, ttl=left)))
    for lane in (0, 1):
        stimulus = Stimulus.of([*QUIET, *spread(frames, [lane] * len(frames))], **place)
        yield RuleCase(f"lane {lane}", stimulus, follows("control.ttl"))


@rule("control.home", "a frame whose home is this GPU goes to its firmware and no further", "R4")
def home(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = straps(rng)
        given = {"card": place["card"], "ttl": rng.choice([1, place["size"]])}
        frames = [RingFrame.of(other_control(rng, home=place["node"], **given)) for _ in range(4)]
        frames += [
            RingFrame.of(statistics(rng, origin=place["node"], flags=RECORDS, records=n, size=place["size"], **given))
            for n in (0, 1, 5)
        ]
        frames += [frames[0].marked(), frames[1].with_bad_link_crc(), frames[2]]
        stimulus = Stimulus.of([*QUIET, *spread(frames, (0, 1) * 5)], **place)
        yield RuleCase(f"home {index}", stimulus, follows("control.home"))


@rule("control.damaged", "a frame that is bad when it ends leaves marked, and is counted at the link that spoilt it")
def damaged(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(3 * effort):
        place = straps(rng)
        frames = [control_frame(rng, damage=0.7, **place) for _ in range(12)]
        # A cut frame shows only by the next one's beginning.
        frames += [control_frame(rng, **place) for _ in range(2)]
        stimulus = Stimulus.of([*QUIET, *spread(frames, (0, 1) * 7)], **place)
        yield RuleCase(f"damaged {index}", stimulus, follows("control.damaged"))
    for index in range(effort):
        place = straps(rng)
        # The mark alone makes a frame bad, whatever its CRC.
        frames = [replace(control_frame(rng, **place), err=rng.random() < 0.7) for _ in range(14)]
        stimulus = Stimulus.of([*QUIET, *spread(frames, (0, 1) * 7)], **place)
        yield RuleCase(f"marked {index}", stimulus, follows("control.damaged"))


@rule("control.short", "a frame of one flit goes nowhere: it has no TTL, and would circle for ever")
def short(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for bypassed in (False, True):
        place = straps(rng)
        actions: list[Action] = [*QUIET, *([Fault(5, "dead", True)] if bypassed else [])]
        for index, lane in enumerate((0, 1) * 4 * effort):
            whole = control_frame(rng, **place)
            only = whole.headless(len(whole.data) // 8 - 1)
            actions.append(Send(FIRST + 20 * index, IN[lane], replace(only, data=whole.data[:8], sof=True)))
            actions.append(Send(FIRST + 20 * index, IN[lane], RingFrame.of(other_control(rng, card=99, ttl=3))))
        case = Stimulus.of(actions, **place)
        yield RuleCase(
            "bypassed" if bypassed else "working", case, follows("control.short", NodeView(bypassed=bypassed))
        )


@rule("control.monitor", "the monitor marks foreign statistics frames, and purges them at their second time round")
def monitor(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place = straps(rng)
        setting = Poke(6, "control", registers.ControlBit.MONITOR)
        frames = [control_frame(rng, **place) for _ in range(12)]
        stimulus = Stimulus.of([*QUIET, setting, *spread(frames, (0, 1) * 6)], **place)
        yield RuleCase(f"monitor {index}", stimulus, follows("control.monitor"))


@rule("control.traffic", "frames close together lose nothing, double nothing and keep their order", "R3")
def traffic(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(3 * effort):
        place = straps(rng)
        actions: list[Action] = [*QUIET, Poke(6, "control", rng.getrandbits(3))]
        for lane in (0, 1):
            at = FIRST
            for _ in range(20):
                frame = control_frame(rng, damage=0.1, **place)
                at += len(frame.data) // 8 + rng.choice([0, 1, 1, 3, 10])
                actions.append(Send(at, IN[lane], frame))
            # Its own frames take turns with those on their way.
            for _ in range(4):
                sent = other_control(rng, card=place["card"], home=(place["node"] + 1) % place["size"], ttl=4)
                actions.append(Post(FIRST + rng.randrange(at), lane, sent))
            actions.append(Send(at + 100, IN[lane], RingFrame.of(other_control(rng, card=15, home=0))))
        yield RuleCase(f"traffic {index}", Stimulus.of(actions, tail=400, **place), follows("control.traffic"))
    yield _errors_while_recorded(rng)


def _errors_while_recorded(rng: random.Random) -> RuleCase:
    """A statistics frame that waits for one of the GPU's own gets its record while a damaged frame ends behind it: the
    tag must be that of the errors that the record says, whichever they are."""
    place = {"card": 2, "node": 1, "size": 8}
    actions: list[Action] = [*QUIET]
    for wait in range(48):
        for lane in (0, 1):
            at = FIRST + 130 * wait
            actions.append(Post(at, lane, other_control(rng, card=2, home=2, ttl=4)))
            counted = statistics(rng, card=2, origin=5, ttl=8, flags=RECORDS | wire.Flag.CCW * lane, records=1, size=8)
            damaged = statistics(rng, card=2, origin=6, ttl=8, size=8)
            at += wait
            for frame in (counted, damaged[:-1] + bytes([damaged[-1] ^ 1])):
                actions.append(Send(at, IN[lane], RingFrame.of(frame)))
                at += len(frame) // wire.FLIT_BYTES
    return RuleCase(
        "errors while a record is written", Stimulus.of(actions, tail=400, **place), follows("control.traffic")
    )


def with_gaps(rng: random.Random, actions: list[Action], links: Iterable[str]) -> list[Action]:
    """The same stimulus with pauses of the senders, some of them inside frames."""
    last = max(a.at for a in actions)
    for link in links:
        at = FIRST
        while at < last:
            at += rng.randrange(2, 30)
            actions.append(Pause(at, link, True))
            at += rng.randrange(1, 9)
            actions.append(Pause(at, link, False))
    return actions


@rule("control.gaps", "flits of a frame may come with gaps between them, and other frames' flits of the other channel")
def gaps(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2 * effort):
        place = straps(rng)
        frames = [control_frame(rng, damage=0.1, **place) for _ in range(20)]
        frames += [RingFrame.of(other_control(rng, card=15, home=0)) for _ in range(2)]
        actions = with_gaps(rng, [*QUIET, *spread(frames, (0, 1) * 11, gap=2)], IN)
        yield RuleCase(f"gaps {index}", Stimulus.of(actions, tail=300, **place), follows("control.gaps"))


@rule("control.own", "frames from the firmware leave whole by the port that they name, TTL at most ring size + 1", "R2")
def own(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = {"card": 1, "node": 0, "size": 8}
    actions: list[Action] = [*QUIET]
    at = FIRST
    for lane in (0, 1) * (3 * effort):
        data = statistics(rng, card=1, origin=0, ttl=rng.choice([1, 9, 10, 0xFFFF]), count=1, size=8)
        actions.append(Post(at, lane, data))
        at += GAP
    yield RuleCase("own", Stimulus.of(actions, **place), follows("control.own"))


@rule("control.long", "messages with the records of a whole ring pass, and stop growing at their limit", "R8")
def long(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = {"card": 0, "node": 700, "size": 1024}
    for records in (60, 300) if effort < 3 else (60, 300, 1022, 1023):
        given = {"flags": RECORDS, "records": records, "ttl": 1024, "size": 1024}
        frames = [RingFrame.of(statistics(rng, **given)), RingFrame.of(statistics(rng, limit=records, **given))]
        stimulus = Stimulus.of([*QUIET, *spread(frames, (0, 1))], tail=3 * records + 200, **place)
        yield RuleCase(f"{records} records", stimulus, follows("control.long"))


@rule("control.turned", "a frame that would leave by a dead link comes back on the other lane, marked as wrapped", "R6")
def turned(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for lane in (0, 1):
        for index in range(effort):
            place = straps(rng)
            out = OUT[lane]
            frames = [control_frame(rng, **place) for _ in range(12)]
            sends = spread(frames, [lane] * len(frames), gap=3 * GAP)
            stimulus = Stimulus.of([*QUIET, Carrier(6, out, False), *sends], tail=300, **place)
            yield RuleCase(f"{out} down {index}", stimulus, follows("control.turned", NodeView(down=frozenset({out}))))


def _latency(through: bool, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Each good frame that arrives alone leaves as fast as the contract says."""
    breaches = []
    for lane, link in enumerate(IN):
        left = observed.left[OUT[lane]]
        for arrived in observed.arrived[link]:
            match = next((f for f in left if f.data[6:16] == arrived.data[6:16] and f.began > arrived.began), None)
            if match is None:
                continue
            delay = 2 if through else 1
            record = 2 if len(match.data) > len(arrived.data) else 0
            found = match.began - arrived.began, match.ended - arrived.ended
            if found != (delay, delay + record):
                text = f"{OUT[lane]}: first and last flit left after {found[0]} and {found[1]} cycles"
                text += f", must be {delay} and {delay + record}"
                breaches.append(Breach("control.latency", match.began, text))
    return breaches


@rule("control.latency", "two cycles through a working GPU, one past a bypassed one; a record takes two more")
def latency(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = {"card": 0, "node": 1, "size": 4}
    frames = [RingFrame.of(statistics(rng, flags=RECORDS * (i % 2), records=i % 2)) for i in range(4)]
    frames += [RingFrame.of(other_control(rng, home=2)) for _ in range(2)]
    actions = [*QUIET, *spread(frames, (0, 1) * 3)]
    yield RuleCase("working", Stimulus.of(actions, **place), partial(_latency, True))
    yield RuleCase("bypassed", Stimulus.of([Fault(1, "dead", True), *actions], **place), partial(_latency, False))
