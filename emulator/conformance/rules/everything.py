"""Every kind of frame by every way, in every state of the switch, with every fault: what no other rule combines."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ringhil.emulator.conformance.coverage import IGNORED, switch_state
from ringhil.emulator.conformance.data_frames import Place, roles, some_place
from ringhil.emulator.conformance.data_judge import judged_data
from ringhil.emulator.conformance.frames import other_control, statistics
from ringhil.emulator.conformance.rule import RuleCase, rule
from ringhil.emulator.conformance.rules.control import RECORDS
from ringhil.emulator.conformance.rules.faults import own_frames
from ringhil.emulator.conformance.steady import judge_control, view_of
from ringhil.emulator.coverage.cross import NO_FAULT, SWITCH
from ringhil.emulator.documents import one
from ringhil.emulator.testbench.frame import DATA_KINDS, KIND_NAMES, RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import OUT, OUTWARD
from ringhil.emulator.testbench.reference.data import WAYS
from ringhil.emulator.testbench.stimulus import Action, Fault, Poke, Post, Send, Stimulus
from ringhil.protocol import registers, wire

NAME = "everything.forwarding"
FOREVER = 1_000_000  # cycles: longer than any case
SOON = 10  # cycles after which a watchdog bites that is to bite
BEAT = 20  # cycles between questions to a GPU that is to be found hanging
FAILS = 30  # cycle in which the faults begin
START = 100  # cycle of the first frame; the switch stands where it is to stand
GAP = 25  # cycles between frames of a way
TAIL = 900  # cycles after the last action: all has come to rest


@dataclass(frozen=True)
class _Held:
    """A state of the switch, the fault that is counted with it, and what brings both about and holds them until the
    last frame has come. Without all of it nothing is said about a play."""

    switch: str
    fault: str
    actions: tuple[Action, ...]

    @property
    def muted(self) -> bool:
        """The guardian has put the GPU out of the ring."""
        return self.switch == "bypass" and self.fault not in ("dead", "hang", "switch_stuck_bypass")

    @property
    def swallowing(self) -> bool:
        """The switch doesn't let go of a GPU that is dead."""
        return (self.switch, self.fault) == ("stuck", "switch_stuck_through")

    @property
    def counted(self) -> dict[str, int]:
        """Registers that count how the state came about."""
        return {"mutes": int(self.muted), "trips": int((self.switch, self.fault) == ("bypass", "hang"))}


def _combinations() -> Iterable[tuple[str, str]]:
    """(switch, fault) that can be held."""
    never = [i.when for i in IGNORED if set(i.when) == {"switch", "fault"}]
    for switch in SWITCH:
        for fault in (NO_FAULT, *registers.FaultBit.codes()):
            if not any(switch in when["switch"] and fault in when["fault"] for when in never):
                yield switch, fault


def _held(switch: str, fault: str, rng: random.Random, place: Place, end: int) -> _Held:
    values = {"heartbeat": 0, "watchdog": FOREVER, "gpu_restore": FOREVER}
    values |= {"allowance": FOREVER, "allowance_period": FOREVER, "compute_setup": 1, **place.settings}
    state = _Held(switch, fault, ())
    first: list[Action] = []
    if switch == "stuck" or (switch, fault) == ("bypass", "hang"):
        values["watchdog"] = SOON
        values["heartbeat"] = 0 if switch == "stuck" else BEAT
    if switch == "restoring":
        first = [Fault(FAILS, "dead", True), Fault(FAILS + SOON, "dead", False)]
    elif state.swallowing:
        first = [Fault(FAILS, "dead", True)]
    elif state.muted:
        values["allowance"] = 0
        if fault != "babble":
            home = (place.node + 1) % place.size
            first = [Post(FAILS, 0, _control(rng, "election", place.card, home, 2))]
    # The first one in the very first cycle: a new heartbeat holds from the next question on.
    actions: list[Action] = [Poke(2 * i, name, value) for i, (name, value) in enumerate(values.items())]
    actions += first
    if fault != NO_FAULT:
        actions.append(Fault(FAILS + 2 * SOON if switch == "restoring" else FAILS, fault, True))
    if (switch, fault) == ("through", "hang"):
        # What a GPU that hangs has taken goes on when it works again, before the watchdog has bitten.
        actions.append(Fault(end, fault, False))
    return replace(state, actions=tuple(actions))


# --------------------------------------------------------------------------------------------------------- frames


def _control(rng: random.Random, kind: str, card: int, home: int, ttl: int) -> bytes:
    if kind == "statistics":
        records = rng.randrange(4)
        flags = RECORDS if records else rng.choice([0, RECORDS])
        return statistics(rng, card=card, origin=home, ttl=ttl, flags=flags, records=records)
    while True:
        data = other_control(rng, card=card, home=home, ttl=ttl)
        if KIND_NAMES[data[0]] == kind:
            return data


def _data(rng: random.Random, kind: str, place: Place, way: int, mine: float) -> RingFrame:
    while True:
        frame = place.any(way, mine=mine)
        own = frame.data[1] == place.card and int.from_bytes(frame.data[6:8], "big") == place.node
        # Frames that expire are counted in one register with those of the other channel.
        if frame.kind == kind and frame.ttl > 0 and (mine or not own):
            return frame


def _frames(rng: random.Random, place: Place, way: int, mine: float) -> list[RingFrame]:
    """A frame of each kind, in any order; a share of `mine` is for this GPU."""
    frames = []
    for kind, value in wire.Kind.codes().items():
        if value in DATA_KINDS:
            frames.append(_data(rng, kind, place, way, mine))
        else:
            home = place.node if rng.random() < mine else place.other_gpu()
            card = place.card if rng.random() < 0.9 else place.other_card()
            ttl = rng.choice([1, 2, place.size])
            frames.append(RingFrame.of(_control(rng, kind, card, home, ttl)))
    rng.shuffle(frames)
    return frames


# ---------------------------------------------------------------------------------------------------------- judge


def _judge(held: _Held, enough: int, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    if any(action not in stimulus.actions for action in held.actions):
        return []
    breaches = list(_stands(held, stimulus, observed))
    if held.swallowing:
        return [*breaches, *_swallowed(observed)]
    faults = frozenset({held.fault} - {NO_FAULT})
    view = replace(view_of(stimulus), faults=faults, bypassed=held.switch != "through")
    if (held.switch, held.fault) == ("through", "babble"):
        stimulus, observed, complaints = _without_own(stimulus, observed)
        breaches += complaints
    for name, count in held.counted.items():
        if observed.registers[name] != count:
            text = f"register {name} is {observed.registers[name]}, must be {count}"
            breaches.append(Breach(NAME, stimulus.cycles, text))
    observed = replace(observed, registers={**observed.registers, **dict.fromkeys(held.counted, 0)})
    breaches += judge_control(NAME, stimulus, observed, view)
    breaches += judged_data(NAME, enough, stimulus, observed, view).breaches
    breaches += _handed(held, stimulus, observed)
    return sorted(breaches, key=lambda b: b.cycle)


def _stands(held: _Held, stimulus: Stimulus, observed: Observed) -> Iterable[Breach]:
    """The switch is in its state from the first frame to the last."""
    last = max([START, *(f.ended for frames in observed.arrived.values() for f in frames)])
    value = 0
    for cycle, now in [*observed.status, (last + 1, -1)]:
        if cycle > START and switch_state(value, held.fault) != held.switch:
            text = f"status 0x{value:03X} says {switch_state(value, held.fault)}, must be {held.switch}"
            yield Breach(NAME, max(cycle - 1, START), text)
            return
        if cycle > last:
            return
        value = now


def _handed(held: _Held, stimulus: Stimulus, observed: Observed) -> Iterable[Breach]:
    """Control frames of the CPU and of another card are for the firmware of a GPU in the ring, as they came."""
    if held.fault == "hang":
        return  # firmware that stands still reads nothing
    for port, link in OUTWARD:
        came = [f.data for f in observed.arrived[link] if f.channel == "control"]
        wanted = came if held.switch == "through" else []
        found = [mail.data for mail in observed.mail if mail.port == port]
        if found != wanted:
            text = f"mailbox {port}: {len(found)} frames handed over, must be the {len(wanted)} that came by {link}"
            yield Breach(NAME, stimulus.cycles, text)


def _swallowed(observed: Observed) -> Iterable[Breach]:
    """The GPU is off the ring with both ports; what leaves elsewhere had come."""
    for link in OUT:
        if any(up for _cycle, up, _fault in observed.levels[link][-1:]) or not observed.levels[link]:
            yield Breach(NAME, START, f"{link}: carrier is on with a switch that is stuck before a dead GPU")
        for frame in observed.left[link]:
            text = f"{link}: a {frame.kind} frame left with a switch that is stuck before a dead GPU"
            yield Breach(NAME, frame.ended, text)
    came = {_identity(f) for frames in observed.arrived.values() for f in frames if f.channel == "data"}
    for _, link in OUTWARD:
        for frame in observed.left[link]:
            if _identity(frame) not in came:
                yield Breach(NAME, frame.ended, f"{link}: a {frame.kind} frame of a dead GPU left")


def _identity(frame: RingFrame) -> bytes:
    """What no hop changes."""
    return frame.data[:2] + frame.data[6:16]


def _without_own(stimulus: Stimulus, observed: Observed) -> tuple[Stimulus, Observed, Sequence[Breach]]:
    """The frames without what the babbling GPU and its firmware sent: that must be babble, or have been written."""
    posts = [a for a in stimulus.actions if isinstance(a, Post)]
    written = {post.data[:2] + post.data[6:16] for post in posts}
    mine = [f for f in own_frames(observed) if f.channel == "control"]
    home = stimulus.node.to_bytes(2, "big")
    breaches = [
        Breach(NAME, frame.ended, f"{one(frame.kind)} frame left that is no census of its own and wasn't written")
        for frame in mine
        if (frame.kind, frame.data[6:8]) != ("statistics", home) and _identity(frame) not in written
    ]
    own = {id(frame) for frame in mine}
    own |= {id(f) for _, link in OUTWARD for f in observed.left[link] if _identity(f) in written}
    left = {link: [f for f in frames if id(f) not in own] for link, frames in observed.left.items()}
    kept = [a for a in stimulus.actions if not isinstance(a, Post)]
    return stimulus.with_actions(kept), replace(observed, left=left), breaches


@rule(NAME, "a frame of any kind, by any way, goes where the state of the switch sends it, whatever the fault", "R6")
def forwarding(rng: random.Random, effort: int) -> Iterable[RuleCase]:
    for index in range(effort):
        for switch, fault in _combinations():
            control = roles("entry", "boundary", *(["from_above"] if rng.random() < 0.5 else []))
            place = some_place(rng, control=control, crossings=rng.getrandbits(16), exits=rng.getrandbits(16))
            if (switch, fault) == ("through", "duplicate_id") and index % 2 == 0:
                place.node = 0  # its predecessor is the last one
            end = START + GAP * (len(wire.Kind.codes()) + 1)
            held = _held(switch, fault, rng, place, end)
            actions: list[Action] = [*held.actions]
            mine = 0.0 if (switch, fault) == ("through", "hang") else 0.3
            for way, link in enumerate(WAYS):
                if held.swallowing and link in OUT:
                    continue  # the neighbours hear no carrier, and send nothing
                frames = _frames(rng, place, way, mine)
                actions += [Send(START + GAP * i + 3 * way, link, frame) for i, frame in enumerate(frames)]
            if (switch, fault) == ("through", "babble"):
                # Its firmware goes on writing; what becomes of that is open.
                home = (place.node + 1) % place.size
                actions += [Post(START + GAP * i, i, _control(rng, "election", place.card, home, 2)) for i in range(4)]
            stimulus = Stimulus.of(actions, tail=TAIL, **place.straps)
            judge = partial(_judge, held, stimulus.cycles)
            yield RuleCase(f"{switch}, {fault} {index}", stimulus, judge)
