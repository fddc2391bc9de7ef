"""Two events of any two kinds: one is moved past the other, from three cycles before it to three behind it.

A table has the kinds, and each says what brings it about in a cycle. How long a node takes from its ports to its engine
is its own; so of what the engine does the distance is that of our node, and another's is swept a few cycles beside it.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

from ringhil.emulator.conformance.context_judge import judge_contexts
from ringhil.emulator.conformance.context_programs import MANAGER, ContextDriver, ContextOrder
from ringhil.emulator.conformance.data_frames import TO_HOST, Place, roles
from ringhil.emulator.conformance.data_judge import judge_data
from ringhil.emulator.conformance.frames import other_control
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.meets import POWERS, adds_up
from ringhil.emulator.conformance.rules.registers import reads_back
from ringhil.emulator.conformance.rules.switch import either, foreign
from ringhil.emulator.conformance.transition import Moves, judge_moving
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import IN, OUTWARD
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Mark, Peek, Poke, Post, Send, Stimulus
from ringhil.protocol import registers
from ringhil.protocol.wire import LINKS, Compute

NAME = "everything.meets"
_NEAR = 3  # cycles
_APART = 110  # cycles from meeting to meeting: all is over by then
_FIRST = 60  # cycle of the first one's beginning
_BEFORE = 45  # cycles before an event in which what leads up to it may begin
_LASTS = 25  # cycles that a failure, or the loss of a link, lasts
_WAIT = 8  # cycles: gpu_restore and link_restore
_PERIOD = 60  # cycles: allowance_period
_SLEEPS = 20  # cycles of rest: low_after
_SETUP, _SWITCH, _SLICE = 4, 3, 16  # cycles
_ONE, _OTHER = 1, 2  # contexts
_KEY = 5

# Written once before all, and again while things happen: with the value that they have.
_STEADY = {
    "heartbeat": 0,
    "watchdog": 1 << 30,
    "allowance": 10_000,
    "allowance_period": _PERIOD,
    "link_restore": _WAIT,
    "gpu_restore": _WAIT,
    "control": roles("entry", "boundary"),
    "crossings": 1 << 5,
    "exits": 1 << 5,
    "boundary_peer": 7,
}
# And these with others, but for what a state takes.
_FREE = {
    **dict.fromkeys(POWERS, 1),
    "compute_setup": _SETUP,
    "compute_per_flit": 1,
    "context_switch": _SWITCH,
    "default_slice": _SLICE,
    "device_memory": 100,
    "low_after": _SLEEPS,
    "off_after": 2 * _SLEEPS,
    "memory": 0,
}


@dataclass
class _Scene:
    """Where it plays, and who sends commands."""

    place: Place
    driver: ContextDriver = field(init=False)

    def __post_init__(self) -> None:
        self.driver = ContextDriver(self.place)

    @property
    def rng(self) -> random.Random:
        return self.place.rng

    def orders(self, *sent: tuple[int, ContextOrder]) -> list[Action]:
        """Commands by ring port 1: whoever comes first is first."""
        self.driver.actions = []
        for at, order in sent:
            self.driver.send(at, order, "p1")
        return self.driver.actions


Plan = Callable[[_Scene, int], list[Action]]


def _writes(*names: str) -> Plan:
    def plan(scene: _Scene, at: int) -> list[Action]:
        name = scene.rng.choice(names)
        if name in _STEADY:
            return [Poke(at, name, _STEADY[name])]
        more = 0 if name in POWERS else scene.rng.randrange(5)
        written = Poke(at, name, _FREE[name] + more)
        return [written, Peek(at + 6, name), Poke(at + _LASTS, name, _FREE[name])]

    return plan


def _control(scene: _Scene, at: int) -> list[Action]:
    """A frame of the control channel by any link; by a ring link also one that goes on."""
    place, rng = scene.place, scene.rng
    link = rng.choice(LINKS)
    if link in IN and rng.random() < 0.7:
        return [Send(at, link, foreign(rng, place.straps, rng.choice([5, 7])))]
    return [Send(at, link, RingFrame.of(other_control(rng, card=place.card, home=place.node, ttl=2)))]


def _data(scene: _Scene, at: int) -> list[Action]:
    """A frame of the data channel by any link, for another GPU, the CPU or another card."""
    place, rng = scene.place, scene.rng
    link = rng.choice(LINKS)
    ways = [place.work(place.card, place.other_gpu(), ttl=3, flits=1)]
    if link != "host":
        ways.append(place.work(place.card, place.node, ttl=3, flags=TO_HOST, flits=1))
    if link in IN:
        ways.append(place.work(5, 3, ttl=3, flits=1))
    return [Send(at, link, rng.choice(ways))]


def _unit(before: int) -> Plan:
    """A unit of one flit comes so many cycles before; it has six with header and trailer."""

    def plan(scene: _Scene, at: int) -> list[Action]:
        return [Send(at - before, "p1", frame) for frame in scene.place.unit(8)]

    return plan


def _command(scene: _Scene, at: int) -> list[Action]:
    rng = scene.rng
    compute = rng.choice([Compute.ALLOCATE, Compute.FREE, Compute.QUERY, Compute.LAUNCH, Compute.CANCEL])
    order = ContextOrder(compute, _ONE, _KEY, rng.randrange(5))
    if rng.random() < 0.2:
        order = ContextOrder(Compute.CONFIGURE, _ONE, MANAGER, 30, _SLICE, rng.randrange(3))
    return scene.orders((at - 9, order))


def _launched(before: int, cycles: int) -> Plan:
    """Two contexts launch something; the first one begins so many cycles before."""

    def plan(scene: _Scene, at: int) -> list[Action]:
        launches = (ContextOrder(Compute.LAUNCH, context, _KEY, cycles) for context in (_ONE, _OTHER))
        return scene.orders(*zip((at - before, at - before + 8), launches, strict=True))

    return plan


def _fault(name: str, before: int, lasts: int) -> Plan:
    return lambda scene, at: [Fault(at - before, name, True), Fault(at - before + lasts, name, False)]


def _lends(before: int, lasts: int) -> Plan:
    return lambda scene, at: [Poke(at - before, "lent", 1), Poke(at - before + lasts, "lent", 0)]


def _carrier(before: int, lasts: int) -> Plan:
    def plan(scene: _Scene, at: int) -> list[Action]:
        link = scene.rng.choice(LINKS)
        return [Carrier(at - before, link, False), Carrier(at - before + lasts, link, True)]

    return plan


def _mark(scene: _Scene, at: int) -> list[Action]:
    link = scene.rng.choice(LINKS)
    return [Mark(at, link, True), Mark(at + _LASTS, link, False)]


def _posted(before: int) -> Plan:
    def plan(scene: _Scene, at: int) -> list[Action]:
        place = scene.place
        home = (place.node + 1) % place.size
        data = other_control(scene.rng, card=place.card, home=home, ttl=2)
        return [Post(at - before, scene.rng.randrange(4), data)]

    return plan


KINDS: dict[str, Plan] = {
    "ring is set": _writes(*_STEADY),
    "engine is set": _writes("compute_setup", "compute_per_flit", "memory"),
    "contexts are set": _writes("device_memory", "context_switch", "default_slice"),
    "meter is set": _writes(*POWERS, "low_after", "off_after"),
    "control frame": _control,
    "data frame": _data,
    "firmware writes": _posted(0),
    "period ends": _posted(_PERIOD + 2),
    "work begins": _unit(8),
    "work ends": _unit(8 + _SETUP + 2),
    "goes to sleep": _unit(8 + _SETUP + 2 + _SLEEPS),
    "command": _command,
    "launch ends": _launched(11 + _SWITCH + 9, 9),
    "slice ends": _launched(11 + _SWITCH + _SLICE, _SLICE + 8),
    "slow": _fault("slow", 0, _LASTS),
    "hangs": _fault("hang", 0, _LASTS),
    "goes on": _fault("hang", _LASTS, _LASTS),
    "dies": _fault("dead", 0, _LASTS),
    "is well": _fault("dead", _LASTS, _LASTS),
    "is restored": _fault("dead", _WAIT + 2, 1),
    "is lent": _lends(0, _LASTS),
    "is given back": _lends(_LASTS, _LASTS),
    "link is lost": _carrier(0, _LASTS),
    "link is back": _carrier(_LASTS, _LASTS),
    "link is used": _carrier(_WAIT + 2, 1),
    "link is refused": _mark,
}
_ORDERS = ("command", "launch ends", "slice ends")


# ----------------------------------------------------------------------------------------------------------- the judge


@dataclass(frozen=True)
class _Facts:
    """What happens beside frames: the GPU fails or is lent (`out`: so many times), hangs, is slow, loses links; its
    contexts are used (`orders`); how long work takes doesn't stay the same (`set`)."""

    out: int
    faults: frozenset[str]
    cuts: bool
    orders: bool
    set: bool

    @classmethod
    def of(cls, stimulus: Stimulus, observed: Observed) -> "_Facts":
        fails = Counter(a.name for a in stimulus.actions if isinstance(a, Fault) and a.on)
        lends = sum(a.register == "lent" and a.value & 1 for a in stimulus.actions if isinstance(a, Poke))
        cuts = any(isinstance(a, Carrier | Mark) for a in stimulus.actions)
        kinds = {a.frame.data[28] for a in stimulus.actions if isinstance(a, Send) and a.frame.kind == "work"}
        orders = bool(kinds - {Compute.DIGEST.code}) and observed.registers.get("contexts", 0) > 0
        costs = {(a.register, a.value) for a in stimulus.actions if isinstance(a, Poke) and a.register in _COSTS}
        return cls(fails["dead"] + lends, frozenset(fails), cuts, orders, len(costs) > len(_COSTS))

    @property
    def calm(self) -> bool:
        """No frame may be lost."""
        return not (self.out or self.cuts or "hang" in self.faults)


def _judge(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    facts = _Facts.of(stimulus, observed)
    breaches = [*judge_contexts(NAME, stimulus, observed), *adds_up(NAME, stimulus, observed)]
    breaches += reads_back(NAME, stimulus, observed)
    if not facts.cuts:
        views = [*either(stimulus)][: 1 + bool(facts.out)]
        if "slow" in facts.faults:
            views += [replace(view, faults=frozenset({"slow"})) for view in views]
        # Of a frame that the switch cuts a remainder leaves, on its way out of the ring and back.
        breaches += judge_moving(NAME, stimulus, observed, Moves(lambda frame: views, cuts=2 * facts.out))
    if facts.calm and not (facts.orders or facts.set or facts.faults):
        breaches += judge_data(NAME, stimulus.cycles, stimulus, observed)
    breaches += [Breach(NAME, *wrong) for wrong in (*_told(stimulus, observed, facts), *_over(stimulus, observed))]
    return sorted(breaches, key=lambda b: b.cycle)


def _name(data: bytes) -> bytes:
    """What no hop changes, and no other frame has."""
    return data[:2] + data[6:16]


def _told(stimulus: Stimulus, observed: Observed, facts: _Facts) -> Iterator[tuple[int, str]]:
    """No frame leaves whole twice; none is lost while nothing fails. Of the firmware's frames the same."""
    left = Counter(_name(f.data) for frames in observed.left.values() for f in frames if f.good)
    read = Counter(_name(mail.data) for mail in observed.mail if mail.whole and not mail.bad)
    came = {_name(f.data) for frames in observed.arrived.values() for f in frames if f.good}
    wrote = {_name(a.data) for a in stimulus.actions if isinstance(a, Post) and a.finished and a.begun}
    for name in sorted(came | wrote):
        if left[name] + read[name] > 1:
            yield stimulus.cycles, f"a frame left {left[name]} times and was read {read[name]} times ({name.hex()})"
    if not facts.calm:
        return
    read_only = {_name(f.data) for _, link in OUTWARD for f in observed.arrived[link] if f.channel == "control"}
    for name in sorted(wrote | read_only):
        if left[name] + read[name] == 0:
            yield stimulus.cycles, f"a frame that the firmware wrote, or was to read, is lost ({name.hex()})"


def _over(stimulus: Stimulus, observed: Observed) -> Iterator[tuple[int, str]]:
    """When all is undone the GPU works, in the ring, with all links; and what can't have happened isn't counted."""
    last = max((a.at for a in stimulus.actions), default=0)
    on: dict[object, bool] = {}
    for _, action in observed.done:
        match action:
            case Fault(_, name, state):
                on[name] = state
            case Carrier(_, link, up):
                on["carrier", link] = not up
            case Mark(_, link, state):
                on["mark", link] = state
            case Poke(_, "lent", value):
                on["lent"] = bool(value & 1)
            case _:
                pass
    settings = {a.register: a.value for a in stimulus.actions if isinstance(a, Poke)}
    if any(settings.get(name) != value for name, value in _STEADY.items() if name in _NEEDED):
        return
    if not any(on.values()) and last + _APART < stimulus.cycles:
        status = observed.registers["status"]
        if status != registers.StatusBit.HEALTHY:
            yield stimulus.cycles, f"status is 0x{status:03X} when all is over, must be 0x{_HEALTHY:03X}"
    for name in _NEVER:
        if observed.registers[name]:
            yield stimulus.cycles, f"register {name} is {observed.registers[name]}, must be 0"


_HEALTHY = int(registers.StatusBit.HEALTHY)
_COSTS = ("compute_setup", "compute_per_flit")
_NEEDED = ("heartbeat", "watchdog", "allowance", "link_restore", "gpu_restore")
_NEVER = ("trips", "mutes", "purged", "overflowed", "stalled")


# ------------------------------------------------------------------------------------------------------------ the rule


def _meeting(rng: random.Random, first: str, second: str) -> Stimulus:
    place = Place(rng, rng.choice([0, 2, 9]), 1, 8, _STEADY)
    scene = _Scene(place)
    actions: list[Action] = [Poke(2 + i, name, value) for i, (name, value) in enumerate((_STEADY | _FREE).items())]
    at = _FIRST
    if {first, second} & {*_ORDERS}:
        for context in (_ONE, _OTHER):
            actions += scene.orders((at, ContextOrder(Compute.CREATE, context, _KEY, 30, _SLICE)))
            at += _BEFORE
        actions += [Peek(at, "turn")]
    actions.append(Peek(at, "energy_low"))
    for distance in range(-_NEAR, _NEAR + 1):
        at += _BEFORE
        actions += KINDS[first](scene, at)
        actions += KINDS[second](scene, at + distance)
        at += _APART - _BEFORE
    actions.append(Peek(at, "energy_low"))
    # A write takes its cycle: what else is to be done in that comes first.
    ordered = sorted(actions, key=lambda a: (a.at, isinstance(a, Poke | Peek)))
    return Stimulus.of(ordered, tail=420, **place.straps)


@rule(NAME, "two events of any two kinds, within three cycles of each other, each is what it is alone", "R6", weight=3)
def pairs(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for _ in range(effort):
        for first, second in combinations_with_replacement(KINDS, 2):
            yield RuleCase(f"{first}, {second}", _meeting(rng, first, second), _judge)
