"""A compute engine that plain work and contexts share, cycle by cycle: commands and units in, answers out.

Written from docs/reference/contexts.md. `SharedEngine.cycle` is called for each cycle in which anything may happen
(`next_cycle`); what reaches it are whole segments, with the cycle of their last flit. It says which answer leaves. In
one cycle a command is carried out first, as things stood before it; then a turn may end, then the next one begins.
"""

from collections import deque
from dataclasses import dataclass, field

from ringhil.emulator.testbench.reference.compute import digest
from ringhil.emulator.testbench.reference.contexts import Asker, ContextCommand, Contexts, Said, over
from ringhil.emulator.testbench.reference.power import UNMETERED, PowerMeter, PowerSettings
from ringhil.emulator.testbench.reference.turns import PLAIN, SLOW, Roster, Turn
from ringhil.protocol import wire
from ringhil.protocol.frames import Work
from ringhil.protocol.registers import PowerState, TurnBit
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

QUEUE = 4  # plain units, the one that is being computed included
_HEAD = wire.COMMAND_FLITS * wire.FLIT_BYTES
_COMMANDS = {kind.code for kind in Compute} - {Compute.DIGEST.code}


@dataclass(frozen=True)
class EngineSettings:
    """Registers of the GPU."""

    setup: int
    per_flit: int
    device_memory: int
    context_switch: int
    default_slice: int
    power: PowerSettings = UNMETERED


@dataclass(frozen=True)
class EngineState:
    """What else is so in a cycle. `free`: an answer may leave; `out`: the GPU is out of the ring."""

    frozen: bool = False
    slow: bool = False
    out: bool = False
    free: bool = True


@dataclass
class _Parts:
    """A unit of which not all segments have come."""

    identity: tuple[int, int, int] = (0, 0, 0)
    segments: int = 0
    size: int = 0
    data: bytes = b""


@dataclass
class _Plain:
    """The oldest plain unit while it is computed."""

    start: int  # of the work on it: its switch is over
    end: int
    cycles: int


@dataclass
class SharedEngine:
    """Of one GPU, with so `many` contexts."""

    settings: EngineSettings
    many: int = wire.CONTEXTS
    contexts: Contexts = field(init=False)
    turns: Roster = field(init=False)
    meter: PowerMeter = field(init=False)
    _wake: int = 0  # cycles that work takes longer which begins in this cycle

    def __post_init__(self) -> None:
        self.meter = PowerMeter(self.settings.power)
        self.empty()

    def empty(self) -> None:
        """As it is when the GPU comes into the ring."""
        self.contexts = Contexts(self.settings.device_memory, self.many)
        self.turns = Roster()
        self._ended: int | None = None  # whose turn was over in the cycle before
        self._parts: dict[int, _Parts] = {}
        self._command: ContextCommand | None = None  # came in the cycle before
        self._queue: deque[tuple[Asker, bytes, int]] = deque()
        self._plain: _Plain | None = None
        self._switching = False  # the engine has not begun to work for whose turn it is
        self._result: Said | None = None
        self._refusal: Said | None = None
        self._busy = True  # the next cycle matters

    @property
    def shown(self) -> int:
        """The register `turn`, as it reads in the cycle after the last one."""
        if self.turns.turn is None and self._plain is None:
            return 0
        context = self.turns.turn.context if self.turns.turn else PLAIN
        return context | TurnBit.TAKEN | (TurnBit.SWITCHING if self._switching else 0)

    # ------------------------------------------------------------------------------------------------------ time

    def next_cycle(self, now: int, state: EngineState) -> int | None:
        """The next one after `now` in which anything happens, if nothing arrives and nothing changes."""
        if state.frozen or state.out:
            return None
        if self._busy or (state.free and self._offers()):
            return now + 1
        ends = [self._plain.end] if self._plain else []
        ends += [self.turns.turn.end] if self.turns.turn else []
        ends += [self._works_from()] if self._switching else []
        return max(min(ends), now + 1) if ends else None

    def cycle(self, now: int, state: EngineState, arrived: tuple[Work, int] | None) -> tuple[Said, int] | None:
        """The answer that is taken in this cycle, and how many plain units wait then. `arrived`: a segment, its way."""
        self.contexts.energy, self.contexts.busy = self.look(now)
        self._wake = self.settings.power.wake(self.power_state(now))
        self.meter.until(now + 1, *self.levels())
        if state.out:
            self.empty()
            return None
        if state.frozen:
            self._busy = False
            return None
        self._busy = arrived is not None
        self.contexts.device_memory = self.settings.device_memory
        self.contexts.leaving = None
        taken, queued = self._take(state), len(self._queue)
        held, priorities = self._result is not None, {i: c.priority for i, c in enumerate(self.contexts.all)}
        waiting = {i for i, c in enumerate(self.contexts.all) if c.launched}
        wants = bool(self._queue) and not self._plain and not held
        if taken and taken is self._result:
            self._result = None
        refusal = None
        first = self._first()
        if self._command:
            refusal = self._carry_out(self._command)
            waiting &= {i for i, c in enumerate(self.contexts.all) if c.launched}
            self._command, self._busy = None, True
        self._engine(now, state, wants, waiting, priorities, first)
        if arrived:
            refusal = self._arrive(*arrived, queued) or refusal
        if taken and taken is self._refusal:
            self._refusal = None
        if refusal and not self._refusal:
            self._refusal = refusal
        return (taken, queued) if taken else None

    # ------------------------------------------------------------------------------------------------------ power

    def levels(self) -> tuple[bool, bool]:
        """Whether it runs in the next cycle, and memory is held."""
        return self.turns.turn is not None or self._plain is not None, self.contexts.held > 0

    def look(self, now: int) -> tuple[int, int]:
        """Energy and busy time of all cycles before this one, if nothing has happened since the last."""
        self.meter.until(now, *self.levels())
        return self.meter.energy, self.meter.busy

    def power_state(self, now: int) -> PowerState:
        """In this cycle."""
        self.look(now)
        self.meter.settings = self.settings.power
        return self.meter.state(*self.levels())

    # -------------------------------------------------------------------------------------------------- answers

    def _offers(self) -> bool:
        return bool(self._refusal or self._result) or self.contexts.waiting()

    def _take(self, state: EngineState) -> Said | None:
        if not state.free or not self._offers():
            return None
        self._busy = True
        return self._refusal or self._result or self.contexts.take()

    # ------------------------------------------------------------------------------------------------- the engine

    def _works_from(self) -> int:
        """The last cycle of the switch."""
        one = self.turns.turn or self._plain
        assert one
        return one.start

    def _first(self) -> tuple[int, int, int] | None:
        """State, slice and cycles left of the context whose turn is in its first cycle."""
        turn = self.turns.turn
        if turn is None or turn.looked:
            return None
        context = self.contexts.all[turn.context]
        assert context.launch
        return context.state, context.slice or self.settings.default_slice, context.launch.left

    def _engine(
        self,
        now: int,
        state: EngineState,
        wants: bool,
        waiting: set[int],
        priorities: dict[int, int],
        first: tuple[int, int, int] | None,
    ) -> None:
        turns, turn = self.turns, self.turns.turn
        ended, self._ended = self._ended, None
        free = turn is None
        if turn:
            finished, withdrawn = turns.ends(now), turn.context not in waiting
            if first:
                self.contexts.all[turn.context].switches += turn.switches
                turn.look(self.settings.context_switch, *first)
            self._switching &= now < turn.start
            if finished or withdrawn:
                self._turn_over(turn, now, withdrawn)
                turns.turn, self._busy, ended = None, True, turn.context if finished else None
                self._switching = False
                if not self.contexts.all[turn.context].launched:
                    waiting.discard(turn.context)
        runs = self._plain is not None
        if self._plain:
            self._switching &= now < self._plain.start
        self._plain_over(now)
        if turns.turn or runs:
            return
        waits = {i: priorities[i] for i in waiting}
        if wants:
            waits[PLAIN] = 0
        chosen = turns.next(waits, ended)
        if chosen is None:
            return
        if chosen != PLAIN:
            turns.turn = Turn(chosen, now + self._wake, chosen != turns.last, state.slow)
            self._switching = turns.turn.switches
            turns.begin(chosen, waits)
            self._busy = True
        elif free:
            switch = self._wake + (self.settings.context_switch if turns.last != PLAIN else 0)
            self._plain = self._unit(now, switch, state.slow)
            self._switching = turns.last != PLAIN
            turns.begin(PLAIN, waits)
        else:
            self._ended, self._busy = ended, True

    def _turn_over(self, turn: Turn, now: int, withdrawn: bool) -> None:
        context = self.contexts.all[turn.context]
        assert context.launch
        ran, work = turn.had(now)
        context.run_time += ran
        context.launch.ran += ran
        context.launch.left -= work
        if context.launch.left == 0 and not withdrawn:
            over(context, ResultStatus.DONE)

    def _unit(self, now: int, switch: int, slow: bool) -> _Plain:
        length = self._queue[0][2]
        cycles = self.settings.setup + -(-length // wire.FLIT_BYTES) * self.settings.per_flit
        cycles *= SLOW if slow else 1
        return _Plain(now + switch, now + max(switch + cycles, 1), cycles)

    def _plain_over(self, now: int) -> None:
        if self._plain and now >= self._plain.end:
            asker, data, length = self._queue.popleft()
            self._result = Said(asker, ResultStatus.DONE, digest(data), length, self._plain.cycles)
            self._plain, self._busy = None, True

    # ------------------------------------------------------------------------------------------------- what arrives

    def _arrive(self, work: Work, way: int, queued: int) -> Said | None:
        """A segment; the refusal of its unit, if it is the last one and must be refused."""
        parts = self._parts.get(way, _Parts())
        identity = (work.epoch, work.unit, work.attempt)
        if work.segment == 0:
            parts = _Parts(identity)
        follows = parts.identity == identity and parts.segments == work.segment
        last = bool(work.flags & wire.Flag.LAST)
        if follows:
            size, data = parts.size + work.segment_bytes, parts.data + work.payload
            parts = _Parts(identity, parts.segments + 1, size, data)
            self._parts[way] = _Parts() if last else parts
        if not last:
            return None
        asker = Asker(work.epoch, work.unit, work.source, work.source_card, work.attempt, way)
        if not follows or parts.size != work.length or (work.compute in _COMMANDS and work.length < _HEAD):
            return Said(asker, AckStatus.INCOMPLETE)
        if work.compute in _COMMANDS:
            self._command = _command(work, asker, parts.data)
            return None
        if work.compute != Compute.DIGEST.code:
            return Said(asker, AckStatus.UNKNOWN_KIND)
        if queued == QUEUE:
            return Said(asker, AckStatus.BUSY)
        self._queue.append((asker, parts.data, work.length))
        return None

    def _carry_out(self, command: ContextCommand) -> Said | None:
        reason = self.contexts.carry_out(command)
        return Said(command.asker, reason) if reason else None


def _command(work: Work, asker: Asker, data: bytes) -> ContextCommand:
    """What a whole unit commands."""
    key, amount, cycles = (int.from_bytes(data[i : i + 4], "big") for i in (0, 4, 8))
    priority, state = data[12], int.from_bytes(data[13:16], "big")
    told = (key, amount, cycles, priority, state)
    return ContextCommand(asker, work.compute, work.context, *told, work.length, digest(data))
