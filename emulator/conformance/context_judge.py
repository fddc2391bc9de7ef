"""Judges a node whose compute engine has contexts: what it answers, whose turn it is and what is held, against the
reference (docs/reference/contexts.md).

The page says what a node does to the cycle, but for two things that are its own: how long a frame takes from the wire
to its engine (`lead`), and an answer from the engine to the wire. So the reference is asked with each lead that a node
may have, and one of them must do.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise

from ringhil.emulator.conformance.timeline import faulty
from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.contexts import Said
from ringhil.emulator.testbench.reference.power import PowerSettings
from ringhil.emulator.testbench.reference.sharing import EngineSettings, EngineState, SharedEngine
from ringhil.emulator.testbench.stimulus import Carrier, Fault, Mark, Poke, Send, Stimulus
from ringhil.emulator.trace.naming import differing
from ringhil.protocol import codec, crc, registers, wire
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import LINKS, AckStatus, Port, ResultStatus

_OURS = 2  # cycles from the wire to the engine that are tried first
_LEADS = (_OURS, *(n for n in range(17) if n != _OURS))
_LATE = 40  # cycles that an answer may take to the wire, where nothing is in its way
_CROWDED = 120  # and where other frames may be
_HEAD = wire.WORK_HEADER_FLITS * wire.FLIT_BYTES
_RESET = {r.name: r.reset for r in registers.REGISTERS}
_OUT = registers.StatusBit.BYPASS_CW | registers.StatusBit.BYPASS_CCW
_SEEN = ("turn", "memory_held", "power_state", "energy_low", "busy_low")


@dataclass(frozen=True)
class Segment:
    """A segment of work that the engine has read, with its last flit in `cycle`, by way `port`."""

    cycle: int
    port: int
    work: Work


@dataclass
class _Inputs:
    """What comes to the engine but for work: settings and faults, each with the cycle from which on it holds."""

    cycles: list[int] = field(default_factory=lambda: [0])
    settings: list[EngineSettings] = field(default_factory=lambda: [_settings(_RESET)])
    states: list[EngineState] = field(default_factory=lambda: [EngineState()])

    @classmethod
    def of(cls, observed: Observed) -> "_Inputs":
        inputs, values, faults = cls(), {**_RESET}, set[str]()
        for cycle, action in observed.done:
            match action:
                case Poke(_, str(register), value):
                    values[register], holds = value, cycle + 2
                case Fault(_, name, on):
                    (faults.add if on else faults.discard)(name)
                    holds = cycle + 1
                case _:
                    continue
            inputs.cycles.append(holds)
            inputs.settings.append(_settings(values))
            inputs.states.append(EngineState("hang" in faults, "slow" in faults))
        return inputs

    def at(self, cycle: int, free: bool) -> tuple[EngineSettings, EngineState]:
        place = bisect_right(self.cycles, cycle) - 1
        state = self.states[place]
        return self.settings[place], EngineState(state.frozen, state.slow, state.out, free)


def _settings(values: Mapping[str, int]) -> EngineSettings:
    power = PowerSettings(**{each.name: values[each.name] for each in fields(PowerSettings)})
    memory, switch, default = (values[name] for name in ("device_memory", "context_switch", "default_slice"))
    return EngineSettings(values["compute_setup"], values["compute_per_flit"], memory, switch, default, power)


# ---------------------------------------------------------------------------------------------------------- what came


def _segments(stimulus: Stimulus, observed: Observed, lead: int) -> list[Segment] | None:
    """Those for this GPU; None where two may have reached the engine at once: who is first is the node's choice; or one
    while the GPU hung, as it waits on its way then."""
    hangs = faulty(observed, "hang")
    found = []
    spans: list[tuple[int, int]] = []
    for port, link in enumerate(LINKS):
        for frame in observed.arrived[link]:
            if frame.channel != "data" or not frame.sof:
                continue
            flits = len(frame.data) // wire.FLIT_BYTES
            if not frame.eof or frame.ended - frame.began + 1 != flits:
                return None  # flits that come with gaps, or never end
            spans.append((frame.began, frame.ended))
            work = _work(stimulus, frame)
            if work is not None:
                if any(span.begin <= frame.ended + lead and frame.began <= span.end for span in hangs):
                    return None
                found.append(Segment(frame.ended + lead, port, work))
    spans.sort()
    if any(end >= begin for (_, end), (begin, _) in pairwise(spans)):
        return None
    return sorted(found, key=lambda one: one.cycle)


def _work(stimulus: Stimulus, frame: RingFrame) -> Work | None:
    data = frame.data
    if not frame.good or data[0] != wire.Kind.WORK.code or len(data) < _HEAD + wire.FLIT_BYTES:
        return None
    _, *head = Work.HEAD.unpack(data[:_HEAD])
    work = replace(Work(*head), payload=data[_HEAD:-8])
    mine = (work.card, work.destination) == (stimulus.card, stimulus.node) and not work.flags & wire.Flag.TO_HOST
    return work if mine and crc.e2e_crc(data) == int.from_bytes(data[-8:-4], "big") else None


def _abstains(stimulus: Stimulus, observed: Observed) -> bool:
    """The reference says nothing of a GPU that may have left the ring, or of links that may have been down."""
    faults = {a.name for a in stimulus.actions if isinstance(a, Fault)}
    return (
        faults - {"hang", "slow"} != set()
        or any(isinstance(a, Carrier | Mark) for a in stimulus.actions)
        or any(isinstance(a, Poke) and not isinstance(a.register, str) for a in stimulus.actions)
        or any(value & _OUT for _, value in observed.status)
        or (bool(observed.arrived["host"]) and not _enters(stimulus))
    )


def _enters(stimulus: Stimulus) -> bool:
    """It is the entry GPU, which takes what the CPU sends, from before the first frame on."""
    written = [a for a in stimulus.actions if isinstance(a, Poke) and a.register == "control"]
    first = min((a.at for a in stimulus.actions if isinstance(a, Send)), default=0)
    return bool(written) and written[0].at + 2 < first and all(a.value & registers.ControlBit.ENTRY for a in written)


# ----------------------------------------------------------------------------------------------------------- the judge


def judge_contexts(rule: str, stimulus: Stimulus, observed: Observed) -> list[Breach]:
    """Everything that the node says of its contexts; empty for a node that has none."""
    many = observed.registers.get("contexts", 0)
    if not many or _abstains(stimulus, observed):
        return []
    found: list[tuple[int, Breach]] = []
    for lead in _LEADS:
        segments = _segments(stimulus, observed, lead)
        if segments is None:
            return []
        wrong = _Following(stimulus, observed, many, segments).wrong()
        if wrong is None:
            return []
        found.append((wrong[0], Breach(rule, *wrong)))
        if not segments:
            break
    return [max(found, key=lambda one: one[0])[1]]  # of the lead that goes well for longest


class _Following:
    """The reference beside what was observed, with one lead."""

    def __init__(self, stimulus: Stimulus, observed: Observed, many: int, segments: list[Segment]) -> None:
        self._stimulus, self._observed = stimulus, observed
        self._inputs = _Inputs.of(observed)
        self._segments = {one.cycle: one for one in segments}
        self._engine = SharedEngine(self._inputs.settings[0], many)
        self._left = {link: [f for f in observed.left[link] if _answers(f)] for link in LINKS}
        self._crowd = sorted((f.began, f.ended) for link in LINKS for f in observed.left[link] if not _answers(f))
        self._peeks = {c: (r, v) for c, r, v in observed.peeks if r in _SEEN}
        self._out = _LATE  # cycles from the engine to the wire

    def wrong(self) -> tuple[int, str] | None:
        """The first thing that isn't as it must be, and its cycle."""
        visits = sorted({*self._segments, *self._inputs.cycles, *self._peeks}, reverse=True)
        now = free = 0
        while now < self._stimulus.cycles:
            segment = self._segments.get(now)
            settings, state = self._inputs.at(now, now >= free)
            self._engine.settings = settings
            if now in self._peeks and (text := self._differs(now, *self._peeks.pop(now))):
                return now, text
            said = self._engine.cycle(now, state, (segment.work, segment.port) if segment else None)
            if said:
                frame, text = self._answered(now, *said)
                if text:
                    return now, text
                free = now + 8
                if frame:  # the next one may be taken as this one ends in the engine
                    self._out = min(self._out, frame.began - now)
                    free = max(now + 1, frame.ended + 2 - self._out)
            while visits and visits[-1] <= now:
                visits.pop()
            wake = self._engine.next_cycle(now, self._inputs.at(now + 1, now + 1 >= free)[1])
            nexts = [*visits[-1:], *([] if wake is None else [wake]), *([free] if free > now else [])]
            if not nexts:
                break
            now = min(nexts)
        for link, frames in self._left.items():
            for frame in frames:
                return frame.began, f"{link}: {_shown(frame)} left, and nothing is to be said"
        return None

    def _answered(self, now: int, said: Said, queued: int) -> tuple[RingFrame | None, str]:
        """The frame that says it; what is wrong with that."""
        link = LINKS[said.asker.way]
        wanted = self._frame(said, queued)
        if not self._left[link]:
            late = now + _CROWDED > self._stimulus.cycles or (link, "data") in self._observed.unfinished
            return None, "" if late else f"{link}: an answer doesn't leave ({_status(said)})"
        frame = self._left[link].pop(0)
        text = ""
        body = frame.data[: len(wanted) - 8]
        if body != wanted[:-8] or len(frame.data) != len(wanted):
            text = f"{link}: {_shown(frame)} must be {_status(said)}: {differing(frame.data, wanted)}"
        else:
            crowded = any(begin <= frame.began and end >= now for begin, end in self._crowd)
            held = bool(self._observed.granted[link]) or crowded
            if not 0 <= frame.began - now <= (_CROWDED if held else _LATE):
                text = f"{link}: {_shown(frame)} left {frame.began - now} cycles after it was to be said"
        return frame, text

    def _frame(self, said: Said, queued: int) -> bytes:
        asker, stimulus = said.asker, self._stimulus
        flags = wire.Flag.TO_HOST | (wire.Flag.CCW if asker.way == Port.CW.code else 0)
        head = (asker.card, flags, stimulus.size + 1, asker.home, asker.epoch, asker.unit)
        tail = (stimulus.node, asker.attempt, said.status.code, stimulus.card, queued)
        if isinstance(said.status, ResultStatus):
            return codec.encode(Result(*head, *tail, said.digest, said.length, said.cycles))
        return codec.encode(Acknowledgement(*head, *tail))

    def _differs(self, now: int, register: str, value: int) -> str:
        """How a register isn't as it must be in this cycle."""
        engine = self._engine
        match register:
            case "turn":
                wanted = engine.shown
            case "memory_held":
                wanted = engine.contexts.held
            case _ if not self._observed.registers.get("power_state", 0):
                wanted = 0
            case "power_state":
                wanted = engine.power_state(now).code
            case _:
                energy, busy = engine.look(now)
                wanted = (energy if register == "energy_low" else busy) & 0xFFFFFFFF
        return "" if value == wanted else f"register {register} is {value}, must be {wanted}"


def _answers(frame: RingFrame) -> bool:
    return frame.channel == "data" and frame.kind in ("result", "acknowledgement")


def _status(said: Said) -> str:
    name = {AckStatus: "acknowledgement", ResultStatus: "result"}[type(said.status)]
    return f"the {name} of unit 0x{said.asker.unit:X}, status {said.status.value}"


def _shown(frame: RingFrame) -> str:
    return f"the {frame.kind} of unit 0x{int.from_bytes(frame.data[12:16], 'big'):X}"
