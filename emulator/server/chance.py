"""What is left to chance in a run, and how the rest of it is drawn anew.

| what | in a run | drawn anew |
|---|---|---|
| jitter of keepalives | from the seed | from another seed, of our firmware |
| flits that a noisy link damages | from a register in the link | from another value of it |
| faults and loans still to come | from the file | one in `ODDS` comes, half a census period earlier to half a later |

Latencies are none of it: they are what the settings say, to the cycle, and judged so. A fault that comes ends as long
afterwards as in the file; one that is there already ends, at another moment.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from ringhil.emulator.scenario import TimelineEvent

ODDS = 4


def redrawn(timeline: Iterable[TimelineEvent], now: int, period: int, rng: Random) -> Iterator[TimelineEvent]:
    """The events at cycle `now` or later, drawn from `rng`; `period`: cycles. None of those given is among them."""
    shifts: dict[tuple[object, ...], int | None] = {}  # of what begins in this future; None: it doesn't
    for event in timeline:
        if event.at < now:
            continue
        what = (event.kind, event.target, event.reverse)
        comes, shift = rng.randrange(ODDS) == 0, rng.randint(max(-period // 2, now - event.at), period // 2)
        if event.begins:
            shifts[what] = shift if comes else None
        found = shifts[what] if event.begins else shifts.pop(what, shift)
        if found is not None:
            yield replace(event, at=event.at + found)
