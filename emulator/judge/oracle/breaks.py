"""Where a ring is reported broken, and who is cut off: what the ends of the two arms of a message leave open."""

from dataclasses import dataclass

from ringhil.emulator.judge.oracle.ring import View


@dataclass(frozen=True)
class Break:
    """Between GPU `after` and, clockwise, GPU `before`: the last working GPUs that a message meets in either direction.

    `stranded`: GPUs between them; nobody has heard of them.
    """

    after: int
    before: int
    stranded: frozenset[int]


def located(view: View, entry: int, size: int) -> Break | None:
    """The break that the GPU `entry` must find by its `view` of a ring; None: its messages come all the way round."""
    if not view.cuts or entry not in view.members:
        return None
    steps = {(gpu - entry) % size: gpu for gpu in view.members}  # clockwise, from the entry GPU
    # A link is as many steps away as the GPU before it.
    borders = {(link - entry) % size for link in view.cuts}
    first, last = min(borders), max(borders)
    clockwise = max(step for step in steps if step <= first)
    counter = min((step for step in steps if step > last), default=size)
    between = {(entry + step) % size for step in range(clockwise + 1, counter)}
    return Break((entry + clockwise) % size, (entry + counter) % size, frozenset(between))
