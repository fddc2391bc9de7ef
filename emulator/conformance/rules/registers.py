"""The register map: reset values, what can be written, what is counted, what survives a failure."""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from ringhil.emulator.conformance.data_frames import TO_HOST, Place
from ringhil.emulator.conformance.frames import other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import QUIET, spread, straps
from ringhil.emulator.conformance.rules.data import played
from ringhil.emulator.conformance.rules.switch import foreign
from ringhil.emulator.conformance.steady import judge_control, view_of
from ringhil.emulator.conformance.timeline import can_be_lent, faulty, readings, setting, silent
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference import control
from ringhil.emulator.testbench.reference.control import IN, OUT, ControlOutcome
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.stimulus import Action, Carrier, Fault, Peek, Poke, Post, Send, Stimulus
from ringhil.protocol import codec, registers, wire
from ringhil.protocol.frames import Report
from ringhil.protocol.registers import PowerState

# Bits; all others have 32.
WIDTH = {
    **{"gpu_type": 8, "weight": 16, "lent": 1, "boundary_peer": 8, "crossings": 16, "exits": 16},
    **dict.fromkeys(("run_power", "idle_power", "low_power", "off_power", "low_wake", "off_wake"), 16),
}
UNMAPPED = tuple(address for address in range(256) if address not in registers.ADDRESS.values())
_BY_TIME = ("energy_low", "energy_high", "busy_low", "busy_high")  # rules of power judge them
_STATES = PowerState.codes().values()
_SETTINGS = tuple(r.name for r in registers.REGISTERS if r.access == "rw")
HEALTHY = registers.StatusBit.HEALTHY
COUNTERS = tuple(
    r.name
    for r in registers.REGISTERS
    if r.access == "ro" and r.name not in ("status", "contexts", "power_state") and r.name not in _BY_TIME
)


def _has(observed: Observed, register: str) -> bool:
    """The node has this register: some come with contexts, some with a meter."""
    if register == registers.OF_LENDING:
        return can_be_lent(observed)
    if register in registers.OF_METER:
        return observed.registers.get("power_state", 0) > 0
    return observed.registers.get("contexts", 0) > 0 or register not in registers.OF_CONTEXTS


def _resets(observed: Observed) -> dict[str, int]:
    """The registers of the node after reset."""
    return {r.name: r.reset if _has(observed, r.name) else 0 for r in registers.REGISTERS}


def _holds(stimulus: Stimulus, observed: Observed) -> dict[str, int]:
    """What each register must hold after the writes, if nothing but writes has happened."""
    contexts, state = (observed.registers.get(name, 0) for name in ("contexts", "power_state"))
    values = _resets(observed) | {"status": HEALTHY, "contexts": min(contexts, wire.CONTEXTS)}
    values["power_state"] = state if state in _STATES else 0
    if _has(observed, "power_state"):
        values |= {name: observed.registers[name] for name in _BY_TIME if name in observed.registers}
    names = {r.address: r for r in registers.REGISTERS}
    for action in stimulus.actions:
        if isinstance(action, Poke):
            address = registers.ADDRESS[action.register] if isinstance(action.register, str) else action.register
            if address in names and names[address].access == "rw" and _has(observed, name := names[address].name):
                values[name] = action.value & (1 << WIDTH.get(name, 32)) - 1
    return values


def _kept(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    wanted, breaches = _holds(stimulus, observed), []
    for name, value in observed.registers.items():
        if value != wanted[name] and not (name == "status" and wanted[registers.OF_LENDING]):
            text = f"register {name} is 0x{value:X}, must be 0x{wanted[name]:X}"
            breaches.append(Breach(rule_name, stimulus.cycles, text))
    breaches += _nothing_there(rule_name, observed)
    ends = [frame.ended for frames in observed.left.values() for frame in frames] + [m.ended for m in observed.mail]
    breaches += [Breach(rule_name, cycle, "a frame left, or was handed over, that nobody sent") for cycle in ends]
    return breaches


def _nothing_there(rule_name: str, observed: Observed) -> list[Breach]:
    return [
        Breach(rule_name, cycle, f"address 0x{register:02X} reads as 0x{value:X}, nothing is there")
        for cycle, register, value in observed.peeks
        if register in UNMAPPED and value
    ]


@rule("registers.reset", "after reset every register has the value of the map, wherever the GPU is")
def reset(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(2):
        addresses = UNMAPPED if index == 0 else rng.sample(UNMAPPED, 20)
        peeks = [Peek(5 + i, address) for i, address in enumerate(addresses)]
        yield RuleCase(f"reset {index}", Stimulus.of(peeks, **straps(rng)), partial(_kept, "registers.reset"))


@rule("registers.write", "a setting keeps what is written to it, alone; counters and unmapped addresses take nothing")
def write(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    judge = partial(_kept, "registers.write")
    for index in range(2 * effort):
        actions: list[Action] = []
        at = 5
        for name in rng.sample([*registers.ADDRESS], len(registers.ADDRESS)):
            # Timers that are set to nothing at all would act; those have rules of their own.
            low = 1 << 12 if name in {"watchdog", "heartbeat"} else 0
            actions.append(Poke(at, name, rng.choice([rng.randrange(low, 1 << 32), 0xFFFFFFFF])))
            at += 1
        for address in rng.sample(UNMAPPED, 40):
            actions += [Poke(at, address, 0xFFFFFFFF), Peek(at + 2, address)]
            at += 3
        yield RuleCase(f"all {index}", Stimulus.of(actions, **straps(rng)), judge)
    for name in rng.sample(_SETTINGS, 5 * effort if effort < 3 else len(_SETTINGS)):
        actions = [Poke(5, name, 0xFFFFFFFF), Peek(6, name), Poke(7, name, 0xA5A5A5A5)]
        yield RuleCase(f"{name} alone", Stimulus.of(actions, tail=40), judge)


# ------------------------------------------------------------------------------------------------------- counters


def _counted(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Every counter but those of the reference model counts nothing here, except wraps."""
    name = "registers.counters"
    down = frozenset(link for link in OUT if silent(observed, link))
    view = view_of(stimulus)
    outcome = ControlOutcome()
    for lane, link in enumerate(IN):
        control.arrive_all((f for f in observed.arrived[link] if f.channel == "control"), lane, view, outcome)
    if outcome.uncertain or any((link, "control") in observed.unfinished for link in IN):
        return []
    wanted = Counter(outcome.counters)
    wanted["wraps"] = len(down)
    breaches = [] if down else judge_control(name, stimulus, observed)
    breaches += _nothing_there(name, observed)
    for counter in COUNTERS:
        # A lost link may cut what is on its way; then only these are certain.
        if (not down or counter == "wraps") and observed.registers[counter] != wanted[counter]:
            text = f"register {counter} is {observed.registers[counter]}, must be {wanted[counter]}"
            breaches.append(Breach(name, stimulus.cycles, text))
    return breaches


@rule("registers.counters", "each counter counts its own event, by port, and no other counter moves")
def counters(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for lane in (0, 1):
        for kind in ("bad", "marked", "used up", "counted", "purged", "home"):
            place = straps(rng)
            monitor = registers.ControlBit.MONITOR if kind == "purged" else 0
            actions: list[Action] = [*QUIET, Poke(6, "control", monitor)]
            frames = [event(rng, kind, place) for _ in range(rng.randrange(3, 7) * effort)]
            actions += spread(frames, [lane] * len(frames))
            # The counters must show at their own addresses alone.
            actions += [Peek(actions[-1].at + 40 + i, address) for i, address in enumerate(UNMAPPED)]
            yield RuleCase(f"{kind} by {IN[lane]}", Stimulus.of(actions, tail=40, **place), _counted)
    for link in OUT:
        yield RuleCase(f"{link} down", Stimulus.of([*QUIET, Carrier(10, link, False)]), _counted)
    # Both lanes in step: two events in one cycle are two.
    for kind in ("used up", "counted"):
        place = straps(rng)
        frames = [event(rng, kind, place) for _ in range(6)]
        sends = [Send(20 + 40 * i, link, frame) for i, frame in enumerate(frames) for link in IN]
        yield RuleCase(f"{kind} by both", Stimulus.of([*QUIET, *sends], **place), _counted)


def event(rng: random.Random, kind: str, place: dict[str, int]) -> RingFrame:
    """A control frame that is counted as this `kind`."""
    given = {"card": place["card"], "origin": (place["node"] + 1) % place["size"], "size": place["size"]}
    match kind:
        case "bad":
            return foreign(rng, place).with_bad_link_crc()
        case "marked":
            return foreign(rng, place).marked()
        case "used up":
            return foreign(rng, place).with_ttl(0)
        case "purged":
            return RingFrame.of(statistics(rng, flags=rng.choice([0, wire.Flag.CIRCULATING]), ttl=2, **given))
        case "home":
            return RingFrame.of(other_control(rng, card=place["card"], home=place["node"], ttl=1))
        case _:
            return RingFrame.of(statistics(rng, ttl=2, **given))


# --------------------------------------------------------------------------------------------------------- memory


def _memory(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """All settings stand as they were written, whatever the GPU does; so do the counters."""
    wanted, breaches = _holds(stimulus, observed), []
    for name, value in wanted.items():
        if (
            name != "status"
            and name not in COUNTERS
            and name not in registers.LIVE
            and observed.registers[name] != value
        ):
            text = f"register {name} is 0x{observed.registers[name]:X} after the GPU's failure, written was 0x{value:X}"
            breaches.append(Breach("registers.memory", stimulus.cycles, text))
    for cycle, value in readings(observed, "memory"):
        written = [
            a.value for c, a in observed.done if isinstance(a, Poke) and a.register == "memory" and c < cycle - 1
        ]
        if value != (written[-1] if written else 0):
            text = f"memory reads as 0x{value:X}, written was 0x{written[-1] if written else 0:X}"
            breaches.append(Breach("registers.memory", cycle, text))
    trips = observed.registers["trips"]
    if trips and not faulty(observed, "hang"):
        breaches.append(Breach("registers.memory", stimulus.cycles, f"register trips is {trips}, and nothing hung"))
    return breaches


@rule("registers.memory", "memory and all settings survive the GPU's failure, and can be written meanwhile", "R10")
def memory(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for fault in ("dead", "hang"):
        for index in range(effort):
            place = straps(rng)
            actions: list[Action] = [*QUIET, Poke(6, "watchdog", 20), Poke(8, "gpu_restore", 10)]
            actions += [Poke(10, "memory", rng.getrandbits(32)), Poke(12, "weight", rng.getrandbits(16))]
            actions += [Fault(30, fault, True), Send(35, "p1", foreign(rng, place)), Peek(100, "memory")]
            actions += [Fault(150, fault, False), Peek(250, "memory"), Fault(300, fault, True)]
            actions += [Poke(340, "memory", rng.getrandbits(32)), Peek(345, "memory"), Fault(400, fault, False)]
            yield RuleCase(f"{fault} {index}", Stimulus.of(actions, **place), _memory)


# ------------------------------------------------------------------------------------------------- bits, and sums


def reads_back(rule_name: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What is read is what was written last, bit by bit; nothing is asked of what the settings bring about."""
    held = {name: value for name, value in _resets(observed).items() if name in _SETTINGS}
    breaches, peeks = [], iter(observed.peeks)
    for action in stimulus.actions:
        if isinstance(action, Poke) and action.register in held and _has(observed, str(action.register)):
            held[str(action.register)] = action.value & (1 << WIDTH.get(str(action.register), 32)) - 1
        elif isinstance(action, Peek):
            cycle, name, value = next(peeks)
            if name in held and value != held[str(name)]:
                text = f"{name} reads as 0x{value:X}, written was 0x{held[str(name)]:X}"
                breaches.append(Breach(rule_name, cycle, text))
    return breaches


@rule("registers.bits", "each bit of each setting is kept by itself, and by no other setting")
def bits(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    names = _SETTINGS
    for index in range(effort):
        actions: list[Action] = []
        at = 5
        for name in rng.sample(names, len(names)):
            for place in rng.sample(range(32), 32):
                actions += [Poke(at, name, 1 << place), Peek(at + 2, name)]
                at += 3
            actions += [Poke(at, name, rng.getrandbits(32)), Peek(at + 2, rng.choice(names))]
            at += 3
        actions += [Peek(at + i, name) for i, name in enumerate(names)]
        yield RuleCase(
            f"bits {index}", Stimulus.of(actions, tail=20, **straps(rng)), partial(reads_back, "registers.bits")
        )


def _summed(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """All frames that have used up their TTL are counted, whichever arrive in one cycle."""
    name = "registers.together"
    if observed.unfinished:
        return []
    came = [f for link in ("p1", "p2", "host") for f in observed.arrived[link]]
    wanted = sum(f.sof and f.eof and f.ttl == 0 for f in came)
    found = observed.registers["ttl_dropped"]
    if any(True for link in observed.left for _ in observed.left[link]):
        return [Breach(name, stimulus.cycles, "a frame left that had used up its TTL")]
    if found != wanted:
        return [Breach(name, stimulus.cycles, f"register ttl_dropped is {found}, must be {wanted}")]
    return []


@rule("registers.together", "what happens in one cycle, on both lanes and both channels, is counted each for itself")
def together(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for kind in ("purged", "counted", "bad", "marked", "home"):
        place = straps(rng)
        monitor = registers.ControlBit.MONITOR if kind == "purged" else 0
        frames = [event(rng, kind, place) for _ in range(6 * effort)]
        sends = [Send(20 + 40 * i, link, frame) for i, frame in enumerate(frames) for link in IN]
        actions: list[Action] = [*QUIET, Poke(6, "control", monitor), *sends]
        yield RuleCase(f"{kind} by both", Stimulus.of(actions, **place), partial(judge_control, "registers.together"))
    yield RuleCase("both links", Stimulus.of([*QUIET, *(Carrier(10, link, False) for link in OUT)]), _wrapped_twice)
    for index in range(effort):
        there = Place(rng, 1, 2, 8)
        actions = [*QUIET, Poke(6, "control", registers.ControlBit.ENTRY)]
        at = 20
        # The ways differ in how long a frame takes to where it is dropped.
        for shift in range(-3, 4):
            for late in range(-3, 4):
                actions += [Send(at + 8, link, there.answer(1, 5, ttl=0)) for link in IN]
                actions.append(Send(at + 8 + shift, "host", there.answer(1, 5, ttl=0, flags=0)))
                for link in IN:
                    frame = RingFrame.of(other_control(rng, card=1, home=5, ttl=0))
                    actions.append(Send(at + 8 + late, link, frame))
                at += 30
        yield RuleCase(f"used up {index}", Stimulus.of(actions, **there.straps), _summed)
        # It is neither entry nor boundary: nobody takes these.
        chosen = [ways for count in (2, 3, 4) for ways in itertools.combinations(WAYS, count)]
        actions = [*QUIET]
        for turn, ways in enumerate(chosen):
            actions += [Send(20 + 30 * turn, link, there.answer(1, 2, flags=TO_HOST)) for link in ways]
        yield played("registers.together", f"dropped {index}", actions, there, 500)


# -------------------------------------------------------------------------------------------------- many events

MANY = 260  # events: more than eight bits hold
_SAID = 26  # bad frames from one record to the next, by both links
APART = 16  # cycles from the beginning of one to its end, and from there to the next one
# Settings with which such an event is over in this time: a hang that trips the switch, a frame that mutes, a lost link.
SWIFT = {
    "trips": {"heartbeat": 4, "watchdog": 4, "gpu_restore": 0},
    "mutes": {"heartbeat": 0, "allowance": 0, "allowance_period": 4, "gpu_restore": 0},
    "wraps": {"heartbeat": 0, "link_restore": 4},
}


def short_control(rng: random.Random, place: dict[str, int], ttl: int) -> RingFrame:
    """The shortest control frame for another GPU."""
    home = (place["node"] + 1) % place["size"]
    head = bytes([Report.KIND, place["card"], 0, 0, *ttl.to_bytes(2, "big"), *home.to_bytes(2, "big")])
    return RingFrame.of(codec.seal(head + rng.randbytes(8)))


def _close(frames: Iterable[RingFrame], links: Sequence[str], more: int = 0) -> list[Action]:
    """The frames by each link in turn, one behind the other, with `more` cycles between them."""
    at = dict.fromkeys(links, 20)
    actions: list[Action] = []
    for frame, link in zip(frames, itertools.cycle(links), strict=False):
        actions.append(Send(at[link], link, frame))
        at[link] += len(frame.data) // 8 + more
    return actions


def _lanes_many(rng: random.Random, place: dict[str, int], most: int) -> Iterator[tuple[str, list[RingFrame]]]:
    """What lanes count, `most` of each, by one link or both."""
    given = {"card": place["card"], "origin": (place["node"] + 1) % place["size"], "size": place["size"], "ttl": 2}
    bad = [short_control(rng, place, 2).with_bad_link_crc() for _ in range(2 * most)]
    for at in range(2 * most, 0, -_SAID):  # by both links what has been counted is said in a record
        bad[at:at] = [RingFrame.of(statistics(rng, flags=wire.Flag.WITH_RECORDS, **given)) for _ in IN]
    yield "bad", bad
    yield "marked", [short_control(rng, place, 2).marked() for _ in range(2 * most)]
    yield "used up", [short_control(rng, place, 0) for _ in range(most)]
    yield "counted", [RingFrame.of(statistics(rng, **given)) for _ in range(most)]
    circulating = wire.Flag.CIRCULATING
    yield "purged", [RingFrame.of(statistics(rng, flags=circulating, **given)) for _ in range(most)]


def happening(rng: random.Random, register: str, place: dict[str, int], at: int, port: int) -> list[Action]:
    """What one of the counters of SWIFT counts; both ring links are lost at once. `port`: of a frame that mutes."""
    if register == "mutes":
        return [Post(at, port, short_control(rng, place, 2).data)]
    if register == "trips":
        return [Fault(at, "hang", True), Fault(at + APART, "hang", False)]
    return [Carrier(at + APART * up, link, bool(up)) for up in (0, 1) for link in OUT]


def times(rule_name: str, register: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """What happened again and again was counted each time, as long as it had time to happen."""
    if register == "mutes":
        most = sum(isinstance(a, Post) for a in stimulus.actions)
        least = most
    else:
        spans = [s for link in OUT for s in silent(observed, link)] if register == "wraps" else faulty(observed, "hang")
        least, most = sum(s.end - s.begin >= APART for s in spans), len(spans)
    if any(setting(stimulus, name) != value for name, value in SWIFT[register].items()):
        least = 0
    found = observed.registers[register]
    if least <= found <= most:
        return []
    wanted = str(most) if least == most else f"{least} to {most}"
    return [Breach(rule_name, stimulus.cycles, f"register {register} is {found}, must be {wanted}")]


@rule("registers.many", "counters count on beyond 256, and each for itself")
def many(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    place = straps(rng)
    # A counter that goes wrong in one bit can be right again when it is read: it is read at an odd and at an even one.
    half = 2 * rng.randrange(MANY // 4 + 2, MANY // 2 - 2)
    for most in (half, half + 1, MANY):
        for kind, frames in _lanes_many(rng, place, most):
            monitor = registers.ControlBit.MONITOR if kind == "purged" else 0
            actions: list[Action] = [
                *QUIET,
                Poke(6, "control", monitor),
                *_close(frames, IN, more=kind in ("counted", "bad")),
            ]
            name = kind if most == MANY else f"{kind} {most}"
            yield RuleCase(name, Stimulus.of(actions, **place), partial(judge_control, "registers.many"))
    for register, values in SWIFT.items():
        # Before the liveness check asks for the first time.
        actions = [Poke(i, name, value) for i, (name, value) in enumerate(values.items())]
        for index in range(MANY if register != "wraps" else MANY // 2):
            at = 20 + 2 * APART * index
            actions += happening(rng, register, place, at, index % 4)
        yield RuleCase(register, Stimulus.of(actions, **place), partial(times, "registers.many", register))


def _wrapped_twice(stimulus: Stimulus, observed: Observed) -> list[Breach]:
    wanted = len([link for link in OUT if silent(observed, link)])
    found = observed.registers["wraps"]
    if found != wanted:
        return [Breach("registers.together", stimulus.cycles, f"register wraps is {found}, must be {wanted}")]
    return []
