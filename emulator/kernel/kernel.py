"""Runs the engine up to the next thing that Python has to do, does it, and so on."""

import heapq
from collections import deque
from collections.abc import Callable, Sequence

from ringhil.emulator.card_port import CardPort, Mail, ignore
from ringhil.emulator.engine.engine import FOREVER, FROM_RING, Engine, Events
from ringhil.emulator.events.hardware import Advanced, FromCpu, FromFirmware, RegisterChanged, ToCpu, ToFirmware
from ringhil.emulator.events.stream import Stream

# Of one cycle reminders come first, then what is early, then all else; each in the order in which it was asked for.
_EARLY = -(1 << 40)
_REMINDERS = 2 * _EARLY

MOST_IN_A_CYCLE = 200_000  # things to do: a server of the largest size does some 20,000 when it is powered up


class EndlessCycleError(RuntimeError):
    """What is done in a cycle always asks for something more in it, so that it never ends."""

    def __init__(self, cycle: int) -> None:
        super().__init__(f"cycle {cycle} never ends: {MOST_IN_A_CYCLE:,} things were done in it, and more are due")


class Kernel(CardPort):
    """The cards of one engine, their firmware and the CPU on one clock.

    `firmware_latency` and `cpu_latency` are the cycles between a frame's arrival and the reaction to it.

    Because nobody reacts sooner, the engine may run on that far before it has to ask: frames that arrive
    close together are handed over together. What happens is told to whoever listens to `observations`.
    """

    def __init__(self, engine: Engine, firmware_latency: int, cpu_latency: int) -> None:
        super().__init__()
        self.engine = engine
        self.observations = Stream()
        self._latency = {True: firmware_latency, False: cpu_latency}
        self._lookahead = max(1, min(firmware_latency, cpu_latency))
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._stopped = False
        self.on_firmware_mail: Mail = ignore
        self.on_lost: Callable[[int, str], None] = lambda cell, why: None  # the hardware of a GPU outside is gone
        self._lost = set[int]()
        listeners = self.observations.listeners
        self._advanced, self._to_firmware, self._to_cpu = listeners(Advanced), listeners(ToFirmware), listeners(ToCpu)
        self._from_firmware, self._from_cpu = listeners(FromFirmware), listeners(FromCpu)

    @property
    def now(self) -> int:
        """The present cycle."""
        return self.engine.now

    def at(self, cycle: int, act: Callable[[], None]) -> None:
        """Have something done at a cycle that is not past."""
        self._plan(cycle, 0, act)

    def after(self, delay: int, act: Callable[[], None]) -> None:
        """See CardPort."""
        self._plan(self.engine.now + delay, 0, act)

    def early(self, cycle: int, act: Callable[[], None]) -> None:
        """Have something done at a cycle that is not past, before what other parts do in it, whenever they asked."""
        self._plan(cycle, _EARLY, act)

    def remind(self, cycle: int, look: Callable[[], None]) -> None:
        """Have somebody look at a cycle that is not past, before anything is done in it. To look changes nothing."""
        self._plan(cycle, _REMINDERS, look)

    def _plan(self, cycle: int, rank: int, act: Callable[[], None]) -> None:
        self._order += 1
        now = self.engine.now
        heapq.heappush(self._agenda, (cycle if cycle > now else now, rank + self._order, act))

    def send_mail(self, cell: int, port: int, frame: bytes) -> None:
        """A GPU's firmware writes a frame into its mailbox now."""
        if self._from_firmware:
            self.observations.tell(FromFirmware(self.engine.now, cell, port, frame))
        self.engine.send_mail(cell, port, frame, at=self.engine.now)

    def send(self, cell: int, frames: Sequence[bytes]) -> None:
        """The CPU sends frames to a GPU now."""
        if self._from_cpu:
            for frame in frames:
                self.observations.tell(FromCpu(self.engine.now, cell, 0, frame))
        self.engine.send_from_cpu(cell, frames, at=self.engine.now)

    def stop(self) -> None:
        """End `run` after what is being done at this moment."""
        self._stopped = True

    def run(self, until: int = FOREVER) -> None:
        """Go on to cycle `until`, or until `stop` is called."""
        self._stopped = False
        engine, agenda, pop = self.engine, self._agenda, heapq.heappop
        done = 0  # in this cycle
        while not self._stopped:
            now = engine.now
            due = agenda[0][0] if agenda else FOREVER
            if due <= now:
                if now > until:
                    return
                pop(agenda)[2]()
                done += 1
                if done > MOST_IN_A_CYCLE:
                    raise EndlessCycleError(now)
            elif now >= until:
                return
            else:
                done = 0
                self._advance(due if due < until else until)

    def run_before(self, cycle: int) -> None:
        """Go on to `cycle`, whatever `stop` says; what is to be done in that very cycle is still to come."""
        while self.now < cycle:
            self.run(cycle - 1)
            if not self._stopped:
                self._advance(cycle)

    def tell_differences(self) -> None:
        """Have it known what nodes outside did otherwise than their twins; whoever reads registers last does this."""
        for differed in self.engine.differences():
            self.observations.tell(differed)

    def _advance(self, limit: int) -> None:
        engine = self.engine
        events = engine.run(limit, lookahead=self._lookahead)
        if self._advanced:
            self.observations.tell(Advanced(engine.now))
        changes = deque(engine.observations().tolist()) if engine.observed else None
        if engine.attached and engine.differing:
            self.tell_differences()
        if events.raw:
            self._hand_over(events, changes)
        if changes:
            self._tell_changes(changes)
        if engine.attached and engine.lost != len(self._lost):  # in this very cycle: what was before is told first
            for node in engine.outside():
                if node.lost and node.cell not in self._lost:
                    self._lost.add(node.cell)
                    self.on_lost(node.cell, node.lost)

    def _tell_changes(self, changes: deque[tuple[int, ...]], until: int = FOREVER) -> None:
        """Tell of registers that changed up to this cycle, and take those changes out."""
        while changes and changes[0][0] <= until:
            cycle, cell, _, value, address = changes.popleft()
            self.observations.tell(RegisterChanged(cycle, cell, address, value))

    def _hand_over(self, events: Events, changes: deque[tuple[int, ...]] | None) -> None:
        """Frames, and changes that were before the last of them: all in the order of time, so that it makes no
        difference in how many runs the engine has come here."""
        for cycle, cell, kind, port, bad, _, offset, length in events:
            if changes:
                self._tell_changes(changes, cycle)
            frame, damaged = events.buffer[offset : offset + length], bad != 0
            ring = kind == FROM_RING
            if self._to_firmware if ring else self._to_cpu:
                self.observations.tell((ToFirmware if ring else ToCpu)(cycle, cell, port, frame, damaged))
            deliver = self.on_firmware_mail if ring else self.on_cpu_mail
            self._plan(cycle + self._latency[ring], 0, _Delivery(deliver, cell, frame, port, damaged))


class _Delivery:
    __slots__ = ("_bad", "_cell", "_deliver", "_frame", "_port")

    def __init__(self, deliver: Mail, cell: int, frame: bytes, port: int, bad: bool) -> None:
        self._deliver, self._cell, self._frame, self._port, self._bad = deliver, cell, frame, port, bad

    def __call__(self) -> None:
        self._deliver(self._cell, self._frame, self._port, self._bad)
