"""Puts the faults of a timeline into the hardware, and takes them out again."""

from collections.abc import Callable

from ringhil.emulator.events.server import Flapped, LossOver
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.scenario import CrossRef, GpuRef, LinkRef, TimelineEvent, Trait, having
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol import registers
from ringhil.protocol.frames import Keepalive
from ringhil.protocol.registers import LinkFaultBit
from ringhil.protocol.wire import Link

_CUT_BIT = {
    Link.P1: LinkFaultBit.CUT_PORT1,
    Link.P2: LinkFaultBit.CUT_PORT2,
    Link.HOST: LinkFaultBit.CUT_HOST,
    Link.BOUNDARY: LinkFaultBit.CUT_BOUNDARY,
}
_STOPS = having(Trait.STOPS) | {"flapped"}

_SEQUENCE = slice(12, 16)  # bytes of a keepalive

End = tuple[int, Link]  # cell, and by which of its links


class Injector:
    """`on_life(cell, alive)` is called when a GPU's firmware has to stop or boot."""

    def __init__(self, kernel: Kernel, wiring: Wiring, on_life: Callable[[int, bool], None]) -> None:
        self._kernel, self._wiring, self._on_life = kernel, wiring, on_life
        self._gpus: dict[int, set[str]] = {}
        self._cuts: dict[End, set[str]] = {}
        # Cell -> rounds of keepalives to lose (None: all), and those that it has lost.
        self._losing: dict[int, tuple[int | None, set[bytes]]] = {}

    def apply(self, event: TimelineEvent) -> None:
        """A fault begins or ends now."""
        on = event.begins
        if isinstance(event.target, GpuRef):
            self._gpu(event, self._wiring.cell_of(event.target), on)
        elif event.kind == "link_bit_errors":
            for cell, link in self._ends(event.target):
                self._kernel.engine.set_bit_errors(cell, link.code, (event.value or 0) if on else 0)
        elif event.kind == "link_delay":
            for cell, link in self._ends(event.target):
                self._kernel.engine.set_delay(cell, link.code, (event.value or 0) if on else 0)
        else:
            first, second = self._ends(event.target)
            if event.kind == "link_one_way":
                ends, name = [first] if event.reverse else [second], f"one way {event.reverse}"
            else:
                ends, name = [first, second], event.kind
            for end in ends:
                self._cut(end, name, on)

    def _ends(self, target: LinkRef | CrossRef) -> tuple[End, End]:
        """Where a link arrives: at its first GPU and at its second one."""
        if isinstance(target, CrossRef):
            return (self._wiring.cell_of(target.from_), Link.BOUNDARY), (self._wiring.cell_of(target.to), Link.BOUNDARY)
        return (self._wiring.cell_of(target.before), Link.P2), (self._wiring.cell_of(target.after), Link.P1)

    def _cut(self, end: End, name: str, on: bool) -> None:
        reasons = self._cuts.setdefault(end, set())
        (reasons.add if on else reasons.discard)(name)
        self._kernel.engine.set_link_fault(end[0], _CUT_BIT[end[1]].word, bool(reasons))

    def _gpu(self, event: TimelineEvent, cell: int, on: bool) -> None:
        if event.kind == "host_link_cut":
            self._cut((cell, Link.HOST), event.kind, on)
        elif event.kind == "flap":
            self._set(cell, "flap", on)
            self._flap(event, cell, on)
        elif event.kind == "keepalive_loss":
            self._losing.pop(cell, None)
            if on:
                self._losing[cell] = (event.count, set())
            else:
                self._set(cell, "keepalive_loss", False)
        else:
            self._set(cell, event.kind, on)

    def _set(self, cell: int, name: str, on: bool) -> None:
        active = self._gpus.setdefault(cell, set())
        stopped = bool(active & _STOPS)
        (active.add if on else active.discard)(name)
        if name in ("dead", "flapped"):
            self._kernel.engine.set_fault(cell, "dead", bool(active & {"dead", "flapped"}))
        elif name in registers.FaultBit.codes():
            self._kernel.engine.set_fault(cell, name, on)
        if bool(active & _STOPS) != stopped:
            self._on_life(cell, stopped)

    def _flap(self, event: TimelineEvent, cell: int, failed: bool) -> None:
        """Fails and recovers, for half a period each, until the fault is cleared."""
        if "flap" not in self._gpus[cell]:
            failed = False
        changed = ("flapped" in self._gpus[cell]) != failed
        self._set(cell, "flapped", failed)
        assert isinstance(event.target, GpuRef)
        if changed:
            card = self._wiring.number(event.target.card)
            self._kernel.observations.tell(Flapped(self._kernel.now, card, event.target.index, failed))
        if "flap" in self._gpus[cell]:
            period = event.value or 2
            half = period // 2 if failed else period - period // 2
            self._kernel.after(half, lambda: self._flap(event, cell, not failed))

    def before_sending(self, cell: int, frame: bytes) -> None:
        """A GPU's firmware is about to send a frame.

        The keepalives that it sends in one round, to whomever, have one sequence number. A counted loss begins here
        and not before, so that it never takes half of a round that is just being written; and it ends here.
        """
        if frame[0] != Keepalive.KIND or cell not in self._losing:
            return
        count, lost = self._losing[cell]
        lost.add(frame[_SEQUENCE])
        if count is None or len(lost) <= count:
            self._set(cell, "keepalive_loss", True)
            return
        del self._losing[cell]
        self._set(cell, "keepalive_loss", False)
        self._kernel.observations.tell(LossOver(self._kernel.now, cell))
