"""Which results count: the first right one of each unit, compared with the CPU's own computation."""

from dataclasses import dataclass
from enum import Enum

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.work.workload import digest
from ringhil.protocol.frames import Result


@dataclass
class WorkCount:
    """The CPU's books; `docs/reference/host.md` says what each number counts."""

    units: int = 0
    completed: int = 0
    duplicated: int = 0  # results accepted for a unit that was already done: must stay 0
    resent: int = 0  # attempts beyond the first
    refused: int = 0
    wrong: int = 0  # results that were not what the CPU computed
    late: int = 0  # results of units that were done by then
    fenced: int = 0  # frames refused: not from the entry GPU of the present epoch
    crossed: int = 0  # units that were sent by way of another card
    digest: int = 0  # exclusive-or over all units of their digest, turned by their number


STRIKES = 3  # wrong results in a row before a GPU is left out for a while


class Judgement(Enum):
    """What was found of one result."""

    LATE = "the unit is done"
    WRONG = "not what the CPU computed"
    RIGHT = "the first right one"


class Accepting:
    """The books of the units that are done; one bit for each unit, and a digest for each that is on its way."""

    def __init__(self, work: WorkCount) -> None:
        self._work = work
        self._done = bytearray(-(-work.units // 8))
        self._expected: dict[int, int] = {}

    def expect(self, unit: int, data: bytes) -> None:
        """A unit is sent with these bytes."""
        if unit not in self._expected:
            self._expected[unit] = digest(data)

    def is_done(self, unit: int) -> bool:
        """Whether its result has been accepted."""
        return bool(self._done[unit >> 3] >> (unit & 7) & 1)

    def judge(self, result: Result) -> Judgement:
        """What a result is worth; a unit that was never sent has none that is right."""
        if self.is_done(result.unit):
            self._work.late += 1
            return Judgement.LATE
        if result.digest != self._expected.get(result.unit):
            self._work.wrong += 1
            return Judgement.WRONG
        return Judgement.RIGHT

    def strike(self, card: CardView, gpu: int) -> bool:
        """A GPU has sent a wrong result; whether it has sent too many in a row."""
        card.strikes[gpu] = card.strikes.get(gpu, 0) + 1
        return card.strikes[gpu] >= STRIKES

    def accept(self, card: CardView, result: Result) -> None:
        """Book the right result of a unit that is not done."""
        unit, work = result.unit, self._work
        if self.is_done(unit):
            work.duplicated += 1
        self._done[unit >> 3] |= 1 << (unit & 7)
        self._expected.pop(unit, None)
        turn = unit % 64
        work.digest ^= (result.digest << turn | result.digest >> (64 - turn)) & (2**64 - 1)
        work.completed += 1
        card.completed += 1
        card.fruitless = 0
        card.strikes.pop(result.source, None)
