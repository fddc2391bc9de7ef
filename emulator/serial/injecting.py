"""Faults asked for over a management port, as events of a timeline.

Those of the timeline, and what a lost board leaves behind, are set as well: who begins or ends one doesn't matter.
"""

from collections.abc import Callable

from ringhil.emulator.scenario import EventAction, GpuRef, LinkRef, TimelineEvent
from ringhil.emulator.scenario.file.faults import FAULTS, PARAMETERS, FaultTarget
from ringhil.emulator.serial.refused import NotDone
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.line.management import Injection, LineFault, Refusal
from ringhil.protocol.line.messages import InjectRequest


class Injections:
    """The faults of one card that are set, whoever has set them, and what becomes of them. `for_good`: which of them
    can't be ended."""

    def __init__(self, wiring: Wiring, card: int, for_good: Callable[[str, GpuRef], bool]) -> None:
        self._wiring, self._card, self._for_good = wiring, wiring.cards[card], for_good
        self._number = card
        self._set: set[tuple[str, int]] = set()

    def event(self, asked: InjectRequest, now: int) -> TimelineEvent:
        """What is asked for, now. Raises NotDone."""
        try:
            injection, name = Injection.of(asked.injection), LineFault.of(asked.fault)
        except ValueError as error:
            raise NotDone(Refusal.BAD_VALUE, str(error)) from None
        fault, place = FAULTS[name], (str(name), asked.gpu)
        if asked.gpu >= self._card.gpus:
            raise NotDone(Refusal.NO_SUCH_GPU, f"GPU {asked.gpu}: the card has 0 .. {self._card.gpus - 1}")
        self._check_place(name, fault.hits, asked.gpu)
        begins = injection is Injection.SET
        if begins == (place in self._set):
            raise NotDone(Refusal.BAD_VALUE, f"{name} of GPU {asked.gpu} is {'set' if begins else 'not set'}")
        target = GpuRef(self._card.name, asked.gpu)
        if not begins and self._for_good(name, target):
            raise NotDone(Refusal.BAD_VALUE, f"{name} of GPU {asked.gpu} is for good: its board is gone")
        value = self._value(name, asked.value) if begins else None
        (self._set.add if begins else self._set.discard)(place)
        link = LinkRef(self._card.name, asked.gpu, self._card.gpus)
        action = EventAction.FAULT if begins else EventAction.CLEAR
        return TimelineEvent(now, action, name, target if fault.target == "gpu" else link, None, 0, value)

    def struck(self, event: TimelineEvent, gpu: int) -> None:
        """One has begun or ended, of this card."""
        if not event.reverse:  # the other direction can't be asked for here
            (self._set.add if event.begins else self._set.discard)((event.kind, gpu))

    def over(self, kind: str, gpu: int) -> None:
        """One has ended by itself."""
        self._set.discard((kind, gpu))

    def _check_place(self, name: str, hits: FaultTarget, gpu: int) -> None:
        linked = gpu in self._card.host_links
        if hits is FaultTarget.HOST_LINKED and not linked:
            raise NotDone(Refusal.BAD_VALUE, f"{name}: GPU {gpu} has no link to the CPU")
        crossing = self._wiring.cell(self._number, gpu) in self._wiring.crossings
        if hits is FaultTarget.KEEPING_ALIVE and not (linked or crossing):
            raise NotDone(Refusal.BAD_VALUE, f"{name}: GPU {gpu} sends no keepalives")

    @staticmethod
    def _value(name: str, asked: int) -> int | None:
        parameter = FAULTS[name].parameter
        if parameter is None:
            if asked:
                raise NotDone(Refusal.BAD_VALUE, f"{name} takes no value; found {asked}")
            return None
        allowed = PARAMETERS[parameter]
        value = asked or allowed.default
        if not allowed.low <= value <= allowed.high:
            raise NotDone(Refusal.BAD_VALUE, f"{name}: found {asked}; allowed are {allowed.low} .. {allowed.high}")
        return value
