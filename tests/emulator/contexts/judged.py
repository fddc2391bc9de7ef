"""What a GPU did with a program, held against the reference: each answer, when it left, and what it said of memory."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import zip_longest

from ringhil.emulator.testbench.reference.contexts import Said
from ringhil.emulator.testbench.reference.power import PowerSettings
from ringhil.emulator.testbench.reference.sharing import EngineSettings, EngineState, SharedEngine
from ringhil.protocol import codec, registers, wire
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Port, ResultStatus

from .ring import GPU, RING, Change, Flits, Played, Program, Reading
from .ways_in import Segment, segments

_FROZEN = {"hang", "dead"}
_OUT = {Port.CW.code: 0, Port.CCW.code: 1, Port.CPU.code: 2}  # by which link an answer leaves
_WAIT = 400  # cycles that a link with a delay may keep an answer waiting


@dataclass
class Verdict:
    """`wrong`: the first thing that isn't as it must be, or nothing. `answers`: what was said, and when."""

    wrong: str = ""
    answers: list[tuple[int, Said]] = field(default_factory=list)


class _States:
    """What was so in each cycle."""

    def __init__(self, program: Program, played: Played) -> None:
        self.played = played
        faults: set[str] = set()
        self.cycles, self.faults = [0], [frozenset(faults)]
        registers = {**RESET}
        self.settings = [_settings(registers)]
        for cycle, change in _in_order(program):
            if change.register:
                registers[change.what] = change.value
            else:
                (faults.add if change.value else faults.discard)(change.what)
            self.cycles.append(cycle)
            self.faults.append(frozenset(faults))
            self.settings.append(_settings(registers))
        self.outs = [0, *(cycle for cycle, _ in played.bypassed)]
        self.is_out = [False, *(out for _, out in played.bypassed)]

    def at(self, cycle: int, free: int) -> EngineState:
        faults = self.faults[bisect_right(self.cycles, cycle) - 1]
        return EngineState(bool(faults & _FROZEN), "slow" in faults, self.out(cycle), cycle >= free)

    def settings_at(self, cycle: int) -> EngineSettings:
        return self.settings[bisect_right(self.cycles, cycle) - 1]

    def out(self, cycle: int) -> bool:
        return self.is_out[bisect_right(self.outs, cycle) - 1]

    def lost(self, cycle: int) -> bool:
        state = self.at(cycle, 0)
        return state.frozen or state.out

    def changed(self) -> set[int]:
        return {*self.cycles, *self.outs}


def _in_order(program: Program) -> list[tuple[int, Change]]:
    """All that is changed, with the cycle from which on it holds. One register is written a cycle, `control` in the
    first of all, and what is written holds from the next one on."""
    setup = [Change(1, name, value, register=True) for name, value in program.setup.items()]
    found, last = [], 0
    for change in [*setup, *sorted(program.changes, key=lambda c: c.cycle)]:
        if change.register:
            last = max(change.cycle, last + 1)
        found.append((last + 1 if change.register else change.cycle, change))
    return sorted(found, key=lambda one: one[0])


def judge(program: Program, played: Played) -> Verdict:
    """Play the program on the reference, with the segments when they arrived."""
    verdict, states = Verdict(), _States(program, played)
    arrived = {s.cycle: s for s in segments(played.into, states.lost, states.out)}
    verdict.wrong = _follow(SharedEngine(states.settings[0]), program, played, states, arrived, verdict)
    return verdict


def _follow(
    engine: SharedEngine,
    program: Program,
    played: Played,
    states: _States,
    arrived: dict[int, Segment],
    verdict: Verdict,
) -> str:
    readings = {reading.cycle: reading for reading in played.metered}
    visits = sorted({*arrived, *states.changed(), *readings}, reverse=True)
    out, held, turns = [*played.out], [(0, 0)], [(0, 0)]
    free = now = 0
    while True:
        segment = arrived.get(now)
        state = states.at(now, free)
        engine.settings = states.settings_at(now)
        if now in readings and (wrong := _metered(engine, readings.pop(now))):
            return f"cycle {now}: {wrong}"
        said = engine.cycle(now, state, (segment.work, segment.port) if segment else None)
        if engine.contexts.held != held[-1][1]:
            held.append((now + 1, engine.contexts.held))
        if engine.shown != turns[-1][1]:
            turns.append((now + 1, engine.shown))
        if said:
            answer, queued = said
            verdict.answers.append((now, answer))
            if not out:
                return f"cycle {now}: {answer} doesn't come"
            frame = out.pop(0)
            late = _WAIT if program.delay and answer.asker.way != Port.CPU.code else 0
            if wrong := _differs(frame, answer, queued, now, late):
                return f"cycle {now}: {wrong}"
            free = frame.cycles[-1] + 1
        while visits and visits[-1] <= now:
            visits.pop()
        wake = engine.next_cycle(now, states.at(now + 1, free))
        nexts = [*visits[-1:], *([] if wake is None else [wake])]
        if free > now:
            nexts.append(free)
        if not nexts:
            break
        now = min(nexts)
        if now > played.end - _WAIT:  # what comes later may not have been seen to its end
            out = [frame for frame in out if frame.cycles[0] < now]
            break
    if out:
        return f"cycle {out[0].cycles[0]}: {codec.decode(out[0].data, link=False)} is said, and nothing should be"
    if held[1:] != played.held:
        return f"memory_held: {played.held}, and not {held[1:]}"
    seen = [change for change in played.turns if change[0] <= now]
    if turns[1:] != seen:
        first = next(pair for pair in zip_longest(seen, turns[1:]) if pair[0] != pair[1])
        return f"turn: {first[0]}, and not {first[1]}"
    return ""


def _metered(engine: SharedEngine, reading: Reading) -> str:
    """How what was read isn't what the meter must say."""
    expected = Reading(reading.cycle, engine.power_state(reading.cycle).code, *engine.look(reading.cycle))
    return "" if reading == expected else f"{reading}, and not {expected}"


def _differs(frame: Flits, answer: Said, queued: int, now: int, late: int) -> str:
    """How a frame isn't what must be said from cycle `now` on, or up to `late` cycles later."""
    if not 0 <= frame.cycles[0] - now - 1 <= late or frame.port != _OUT[answer.asker.way]:
        return f"{answer} leaves by link {frame.port} in cycle {frame.cycles[0]}"
    a = answer.asker
    flags = wire.Flag.TO_HOST | (wire.Flag.CCW if a.way == Port.CW.code else 0)
    head = (a.card, flags, RING + 1, a.home, a.epoch, a.unit, GPU, a.attempt, answer.status.code, 0, queued)
    expected: Result | Acknowledgement
    if isinstance(answer.status, ResultStatus):
        expected = Result(*head, answer.digest, answer.length, answer.cycles)
    else:
        assert isinstance(answer.status, AckStatus)
        expected = Acknowledgement(*head)
    found = codec.decode(frame.data, link=False)
    return "" if found == expected else f"{found} is said, and not {expected}"


RESET = {r.name: r.reset for r in registers.REGISTERS}


def _settings(values: Mapping[str, int]) -> EngineSettings:
    names = ("compute_setup", "compute_per_flit", "device_memory", "context_switch", "default_slice")
    power = PowerSettings(**{each.name: values[each.name] for each in fields(PowerSettings)})
    return EngineSettings(*(values[name] for name in names), power)
