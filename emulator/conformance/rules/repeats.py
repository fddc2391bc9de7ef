"""What takes thousands of events to be seen: short frames that come again and again, as fast as the simulator can."""

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from ringhil.emulator.conformance.data_frames import Place, roles, unknown_kind
from ringhil.emulator.conformance.frames import statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, straps
from ringhil.emulator.conformance.rules.data import settings
from ringhil.emulator.conformance.rules.mailbox import guard_settings, message
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Action, Poke, Post, Repeat, Send, Stimulus
from ringhil.protocol import codec, registers
from ringhil.protocol.frames import Report
from ringhil.protocol.wire import Flag

_CONTROL = 12  # cycles in which all frames of the control channel come once
_DATA = 60  # and of the data channel: what is computed and answered is over before it comes again
_FAR = 1 << 16  # events behind which counters of 16 bits begin again
_NEAR = 1 << 12
_ALLOWANCE = next(r.reset for r in registers.REGISTERS if r.name == "allowance")


def _counted(
    rule_name: str,
    once: Mapping[str, int],
    setup: frozenset[Action],
    there: Mapping[str, int],
    stimulus: Stimulus,
    observed: Observed,
) -> list[Breach]:
    """Each counter counts what comes once as often as that comes, and no other counter moves."""
    repeats = [a for a in stimulus.actions if isinstance(a, Repeat)]
    others = {a for a in stimulus.actions if not isinstance(a, Repeat)}
    changed = {name: getattr(stimulus, name) for name in there} != there
    if len(repeats) != 1 or others != setup or changed:
        return []
    times = repeats[0].times
    return [
        Breach(rule_name, stimulus.cycles, f"register {name} is {observed.registers[name]}, must be {times * each}")
        for name, each in once.items()
        if observed.registers[name] != times * each
    ]


def _case(
    name: str, place: Place, setup: Sequence[Action], sends: list[Send], every: int, times: int, once: Mapping[str, int]
) -> RuleCase:
    repeat = Repeat(60, tuple(sends), every, times)
    stimulus = Stimulus.of([*setup, repeat], tail=every * times + 800, **place.straps)
    return RuleCase(name, stimulus, partial(_counted, "registers.wide", once, frozenset(setup), place.straps))


def _headed(place: Mapping[str, int], ttl: int) -> RingFrame:
    """A frame of two flits for another GPU."""
    home = (place["node"] + 1) % place["size"]
    head = bytes([Report.KIND, place["card"], 0, 0, *ttl.to_bytes(2, "big"), *home.to_bytes(2, "big")])
    return RingFrame.of(codec.seal(head))


def _control(rng: random.Random) -> RuleCase:
    place = Place(rng, 2, 1, 8)
    there = {"card": 2, "node": 1, "size": 8}

    def frames(lane: int) -> Iterable[RingFrame]:
        flags = Flag.CIRCULATING if lane else 0
        yield RingFrame.of(statistics(rng, card=2, origin=3, ttl=4, flags=flags, size=8))
        # What isn't counted by what it says has no body.
        yield _headed(there, 3).with_bad_link_crc()
        yield _headed(there, 3).marked()
        yield _headed(there, 0)

    sends = []
    for lane, link in enumerate(("p1", "p2")):
        at = 0
        for frame in frames(lane):
            sends.append(Send(at, link, frame))
            at += len(frame.data) // 8
    once = {"forwarded": 1, "purged": 1, "ttl_dropped": 2}
    once |= {f"{kind}_port{port}": 1 for kind in ("rx_bad", "marked") for port in (1, 2)}
    once |= dict.fromkeys(("overflowed", "data_bad", "data_dropped", "wraps", "trips", "mutes"), 0)
    setup = [*QUIET, Poke(6, "control", roles("monitor"))]
    return _case("control", place, setup, sends, _CONTROL, _FAR + rng.randrange(1, 500), once)


def _data(rng: random.Random) -> RuleCase:
    place = Place(rng, 2, 1, 8, {"control": roles("entry")})
    (unit,), (odd,) = place.unit(8), place.unit(8, compute=unknown_kind(rng))
    bad = place.unit(8)[0].with_bad_link_crc()
    lost = place.work(place.other_card(), 5, ttl=3, flits=1)
    sends = [Send(0, "host", unit), Send(14, "p2", odd), Send(30, "p1", bad), Send(30, "host", lost)]
    once = {"units_done": 1, "units_refused": 1, "data_bad": 1, "data_dropped": 1, "rx_bad_port1": 0, "forwarded": 0}
    setup = settings(place, heartbeat=0, compute_setup=1, compute_per_flit=0)
    return _case("data", place, setup, sends, _DATA, _NEAR + rng.randrange(1, 90), once)


@rule(
    "registers.wide",
    "counters count on beyond 65,536, those of the data channel beyond 4,096, each for itself",
    weight=9,
)
def wide(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    yield _data(rng)
    yield _control(rng)


_EVERY = 20  # cycles from frame to frame of the firmware


def _heard(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """In one period so many frames leave as are allowed, where as many are written."""
    values = {a.register: a.value for a in stimulus.actions if isinstance(a, Poke)}
    posts = [a for a in stimulus.actions if isinstance(a, Post)]
    apart = all(after.at - before.at >= _EVERY for before, after in pairwise(posts))
    if values.get("allowance_period", 0) < stimulus.cycles or "heartbeat" not in values or not apart:
        return []
    wanted = min(len(posts), values.get("allowance", _ALLOWANCE))
    written = {a.data[6:16] for a in posts}
    left = [f for frames in observed.left.values() for f in frames if f.data[6:16] in written]
    if len(left) == wanted:
        return []
    text = f"{len(left)} of {len(posts)} frames of the GPU's own left, must be {wanted}"
    return [Breach("mailbox.many", max([0, *(f.began for f in left)]), text)]


@rule(
    "mailbox.many",
    "an allowance of hundreds of frames is used up by as many, not by fewer, and mutes the GPU then",
    "R6",
)
def many(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        place, most = straps(rng), rng.randrange(257, 360)
        actions = guard_settings(most, 1 << 20)
        actions += [Post(20 + _EVERY * i, rng.randrange(4), message(rng, place)) for i in range(most + 3)]
        yield RuleCase(f"{most} {index}", Stimulus.of(actions, tail=200, **place), _heard)
