"""Which moments of a run are kept: dense near the present, sparser away from it, and everywhere so many that to play on
from one of them doesn't take long."""

from collections.abc import Sequence

NEAR = 512  # cycles: none is kept for less
SPREAD = 96  # moments over the whole of a run, however long it is
_NEIGHBOURHOOD = 16  # the part of a run in which those near the present are worth more


def on_the_way(start: int, target: int, end: int = 0) -> list[int]:
    """Where to leave some when time goes from one cycle to another: at half of the way, half of the rest and so on;
    of a run that is `end` cycles long also at even distances."""
    found, left = [], (target - start) // 2
    while left >= NEAR:
        found.append(target - left)
        left //= 2
    step = max(NEAR, end // SPREAD)
    even = range((start // step + 1) * step, target, step) if end else ()
    kept = [start]
    for cycle in sorted({*found, *even}):
        if cycle - kept[-1] >= NEAR and target - cycle >= NEAR:
            kept.append(cycle)
    return kept[1:]


def dispensable(cycles: Sequence[int], present: int, end: int = 0) -> int:
    """Place of the one, of at least two in rising order, that is missed least; never the first of them. One is missed
    the less, the closer its neighbours are and, in the neighbourhood of the present, the farther it is from there.
    `end`: how many cycles the run has, if that is known."""
    farthest = end // _NEIGHBOURHOOD or max(cycles[-1], present)

    def worth(place: int) -> float:
        after = cycles[place + 1] if place + 1 < len(cycles) else max(end, present, cycles[place]) + NEAR
        return (after - cycles[place - 1]) / (min(abs(present - cycles[place]), farthest) + NEAR)

    return min(range(1, len(cycles)), key=worth)
