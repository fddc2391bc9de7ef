"""Boards by the clock: whether what a board answers comes within the time that is modelled for it.

That is measured, and nothing follows from it in the ring, where an answer holds in the cycle in which it was asked for,
however late it is: a run is the same on a slow board, and a session replays.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ringhil.emulator.loop.far import Exchange, FarFirmware
from ringhil.emulator.serial.line.pacing import Pacing
from ringhil.emulator.server.firmware_choice import FirmwareChoice
from ringhil.emulator.server.foreign import Maker
from ringhil.protocol.line.firmware_codec import cycle_of

_DIGITS = 3  # of how late an answer is: what is kept doesn't grow with the run


@dataclass
class Punctuality:
    """Of one board. `clock`: cycles of the ring in a second; `latency`: cycles that an answer may take."""

    clock: int
    latency: int
    answers: int = 0
    late: int = 0
    _lateness: Counter[float] = field(default_factory=Counter, repr=False)  # seconds

    def took(self, seconds: float) -> bool:
        """Notes how long an answer took, and returns whether it was late."""
        self.answers += 1
        late = seconds - self.latency / self.clock
        if late <= 0:
            return False
        self.late += 1
        self._lateness[float(f"{late:.{_DIGITS}g}")] += 1
        return True

    def to_json(self) -> dict[str, float | None]:
        """Returns what stands in the document of `ringhil run --json`."""
        document: dict[str, float | None] = {
            "clock": self.clock,
            "latency": self.latency,
            "answers": self.answers,
            "late": self.late,
        }
        for name, late in zip(("median_late", "worst_late"), self._figures() or (None, None), strict=True):
            document[f"{name}_us"] = None if late is None else _rounded(1e6 * late)
            document[f"{name}_cycles"] = None if late is None else _rounded(self.clock * late)
        return document

    def __str__(self) -> str:
        allowed = f"allowed are {self.latency:,} cycles, {_shown(1e6 * self.latency / self.clock)} us"
        if not self.late:
            return f"{self.answers:,} answers, none of them late; {allowed}"
        how = (f"{_shown(1e6 * late)} us ({_shown(self.clock * late)} cycles)" for late in self._figures())
        late = f"{self.late:,} of {self.answers:,} answers were late; {allowed}"
        return late + "; late by {} in the median, {} at worst".format(*how)

    def _figures(self) -> tuple[float, ...]:
        """Seconds by which late answers were late: half of them by no more, and at worst. Nothing: none was."""
        left = (self.late + 1) // 2
        for seconds, number in sorted(self._lateness.items()):
            left -= number
            if left <= 0:
                return seconds, max(self._lateness)
        return ()


def _rounded(number: float) -> float:
    return float(f"{number:.6g}")


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def timed(
    choice: FirmwareChoice,
    clock: int,
    latency: int,
    *,
    pacing: Pacing | None = None,
    on_late: Callable[[str, int, float], None] = lambda where, cycle, seconds: None,
    monotonic: Callable[[], float] = time.monotonic,
) -> tuple[FirmwareChoice, dict[str, Punctuality]]:
    """The same with boards whose answers are timed, and what is found of each, by GPU. `pacing`: they are asked when a
    ring in real time would ask them; None: whoever runs it sees to that. `on_late` is told of the first late answer of
    each: GPU, cycle, and how long it took."""
    found = {where: Punctuality(clock, latency) for where in choice.boards}

    def made(where: str, exchange: Exchange) -> Maker:
        def answered(request: bytes) -> bytes:
            cycle = cycle_of(request)
            if cycle is None:
                return exchange(request)
            if pacing is not None:
                pacing.wait(cycle)
            began = monotonic()
            answer = exchange(request)
            took = monotonic() - began
            if found[where].took(took) and found[where].late == 1:
                on_late(where, cycle, took)
            return answer

        return lambda boot: FarFirmware(answered, boot)

    makers = {where: made(where, board.exchange) for where, board in choice.boards.items()}
    chosen = {where: replace(each, maker=makers.get(where, each.maker)) for where, each in choice.chosen.items()}
    return replace(choice, chosen=chosen), found
