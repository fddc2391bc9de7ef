"""When the hardware has switched over after an event: switches that joined or left, ports that turned round.

Read from the status registers: when the event strikes, and whenever the engine reports that one of them has changed,
until they are as the event demands, or should have been.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ringhil.emulator.events.hardware import RegisterChanged
from ringhil.emulator.judge.findings import FindingList, Name
from ringhil.emulator.judge.oracle import BLOCKED, CUT, OK, OUT, Part, PartState
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.judge.recovery.card_watch import OpenEvent
from ringhil.emulator.scenario import PartKind
from ringhil.emulator.scenario.file.faults import LENT
from ringhil.emulator.server import LiveServer
from ringhil.protocol import registers

_BIT = registers.StatusBit.codes()
BYPASSED = _BIT["bypass_cw"] | _BIT["bypass_ccw"]
STATUS_WATCHED = BYPASSED | _BIT["wrap_port1"] | _BIT["wrap_port2"]


@dataclass
class _Awaited:
    """A part of a card that has to reach `state` by cycle `until`. `status`: as last seen, by cell."""

    part: Part
    state: PartState
    until: int
    cells: tuple[int, ...]  # whose status tells
    status: dict[int, int]
    opened: OpenEvent
    not_before: int  # what is restored is restored no sooner

    def reached(self) -> bool:
        seen = [self.status[cell] for cell in self.cells]
        if len(seen) == 2:
            # A GPU that lets nothing through has the links on both its sides taken for cut.
            turned = [seen[0] & _BIT["wrap_port2"], seen[1] & _BIT["wrap_port1"]]
            return all(turned) if self.state in (CUT, BLOCKED) else not any(turned)
        return {OK: seen[0] & BYPASSED == 0, OUT: seen[0] & BYPASSED == BYPASSED}[self.state]

    def begun(self) -> bool:
        """One end of a link is in use, or one lane leads through the GPU."""
        seen = [self.status[cell] for cell in self.cells]
        if len(seen) == 2:
            return not (seen[0] & _BIT["wrap_port2"] and seen[1] & _BIT["wrap_port1"])
        return seen[0] & BYPASSED != BYPASSED


class SwitchOvers:
    """Notes in each open event when the hardware has switched over."""

    def __init__(self, server: LiveServer, bounds: Sequence[Bounds]) -> None:
        self._server, self._bounds = server, bounds
        self._awaited: list[_Awaited] = []
        self.too_soon = FindingList()
        server.observations.listen(RegisterChanged, self._changed)

    def begin(self, card: int, part: Part, state: PartState, opened: OpenEvent) -> None:
        """A part of a card has to reach `state`, from now on."""
        now, bounds = self._server.kernel.now, self._bounds[card]
        until = now + max(bounds.settling("switch_stuck_through"), bounds.settling(opened.event.kind))
        cells = self._cells(card, part, state)
        status = {cell: self._server.engine.peek(cell, "status") for cell in cells}
        awaited = _Awaited(part, state, until, cells, status, opened, 0)
        # A GPU that was out anyway, and is well but for that it hangs for less than `watchdog` cycles: nobody notices.
        unnoticed = opened.event.kind == "hang" and not any(seen & _BIT["tripped"] for seen in status.values())
        if state == OK and not awaited.begun() and not unnoticed:
            awaited.not_before = now + self._waits(card, opened)
        for cell in cells:
            self._server.engine.watch_register(cell, "status", STATUS_WATCHED)
        self._awaited.append(awaited)
        self._look(awaited, now)

    def _waits(self, card: int, opened: OpenEvent) -> int:
        """Cycles for which what is cleared must have been well before the hardware uses it again."""
        settings = self._bounds[card].times.settings
        return {
            "dead": settings.gpu_restore,
            "hang": settings.gpu_restore,
            LENT: settings.gpu_restore,
            "link_cut": settings.link_restore,
            "link_one_way": settings.link_restore,
        }.get(opened.event.kind, 0)

    def _cells(self, card: int, part: Part, state: PartState) -> tuple[int, ...]:
        kind, number = part
        size, cell = self._server.wiring.cards[card].gpus, self._server.wiring.cell
        if kind == PartKind.LINK or state == BLOCKED:
            before, after = (number, number + 1) if kind == PartKind.LINK else (number - 1, number + 1)
            return (cell(card, before % size), cell(card, after % size))
        return (cell(card, number),)

    def _changed(self, o: RegisterChanged) -> None:
        if o.address != registers.ADDRESS["status"]:
            return
        for awaited in self._awaited.copy():
            if o.cell in awaited.status:
                awaited.status[o.cell] = o.value
                self._look(awaited, o.cycle)

    def _look(self, awaited: _Awaited, now: int) -> None:
        over = awaited.opened.superseded or now > awaited.until
        if not over and now < awaited.not_before and awaited.begun():
            event = awaited.opened.event
            waits = awaited.not_before - event.at
            self.too_soon.tell(
                now,
                "at cycle {}: {} was in use again {found} cycles after its {}; it waits for {expected}",
                now,
                Name(event.where),
                event.kind,
                found=now - event.at,
                expected=waits,
            )
            awaited.not_before = 0
        if not over and awaited.reached():
            over = True
            # A role that has to move is the later part of it.
            if awaited.opened.switched is None:
                awaited.opened.switched = now
        if over:
            self._awaited.remove(awaited)
            for cell in awaited.cells:
                self._server.engine.watch_register(cell, "status", STATUS_WATCHED, on=False)
