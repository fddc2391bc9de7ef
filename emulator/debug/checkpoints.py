"""Which moments of a run are kept: dense near the present, ever sparser away from it."""

from collections.abc import Sequence

NEAR = 512  # cycles: none is kept for less


def on_the_way(start: int, target: int) -> list[int]:
    """Where to leave some when time goes from one cycle to another: at half of the way, half of the rest and so on."""
    found, left = [], (target - start) // 2
    while left >= NEAR:
        found.append(target - left)
        left //= 2
    return found


def dispensable(cycles: Sequence[int], present: int) -> int:
    """Place of the one, of at least two in rising order, that is missed least; never the first of them. One is missed
    the less, the closer its neighbours are and the farther the present."""

    def worth(place: int) -> float:
        after = cycles[place + 1] if place + 1 < len(cycles) else max(present, cycles[place]) + NEAR
        return (after - cycles[place - 1]) / (abs(present - cycles[place]) + NEAR)

    return min(range(1, len(cycles)), key=worth)
