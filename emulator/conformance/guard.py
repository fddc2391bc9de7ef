"""What the guardian does with the frames that a GPU originates, by its arithmetic alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from ringhil.emulator.conformance.timeline import Span
from ringhil.emulator.testbench.stimulus import Post

_LEEWAY = (-8, 0, 8)  # cycles by which a frame may reach the guardian later, or a period end, than reckoned here
# A period that is running when its length is written ends as it would have, or after the new length, from its beginning
# or from the write on.
_TAKEN = ("old", "new", "anew")


@dataclass(frozen=True)
class Written:
    """A setting over time: (cycle, value) from which on it held; the first cycle is before the play."""

    values: Sequence[tuple[int, int]]

    def at(self, cycle: int) -> int:
        """The value in a cycle."""
        return [value for since, value in self.values if since <= cycle][-1]

    def over(self, taken: str, leeway: int, begin: int) -> int:
        """When a time of this setting is over that begins in a cycle."""
        end = begin + self.at(begin)
        for cycle, value in self.values:
            if taken != "old" and begin < cycle < end:
                end = max(cycle, (begin if taken == "new" else cycle) + value)
        return end + leeway


@dataclass(frozen=True)
class Guarded:
    """`passed`: places of the frames let through; `offered`: when each was. `mutes`: times that the GPU was muted.
    `muted`: cycles (begin, end) in which it was; the last end may lie beyond the play."""

    passed: tuple[int, ...]
    offered: tuple[int, ...]
    mutes: int
    muted: tuple[tuple[int, int], ...]


def offered(posts: Sequence[Post], frozen: Sequence[Span] = ()) -> list[int]:
    """The cycle in which the first flit of each is written: one after the other, not while the GPU is `frozen`. Later,
    if the queues are full."""
    times, free = [], 0
    for post in posts:
        free = max(post.at + 2, free)
        for span in frozen:
            if span.begin - len(post.data) // 8 <= free < span.end:
                free = span.end + 2
        times.append(free)
        free += len(post.data) // 8
    return times


def guarded(posts: Sequence[Post], allowance: Written, period: Written, cycles: int) -> list[Guarded]:
    """All that may happen to `posts`, in order of their cycles, up to `cycles`: what depends on a few cycles more or
    less, or on whether the frame that muted the GPU counts in the period after it, may go either way."""
    times = offered(posts)
    ways = {
        _guard(times, allowance, partial(period.over, taken, leeway), cycles, first)
        for leeway, first, taken in product(_LEEWAY, (0, 1), _TAKEN)
    }
    return sorted(ways, key=lambda way: way.passed)


def _guard(offered: Sequence[int], allowance: Written, over: Callable[[int], int], cycles: int, first: int) -> Guarded:
    passed, muted, used, ends, since = [], [], 0, -1, -1
    for place, at in enumerate([*offered, cycles]):
        while since >= 0 and ends <= at:
            # A whole period has passed: was the GPU silent enough?
            if used <= allowance.at(ends):
                muted.append((since, ends))
                since, ends, used = -1, over(ends), 0
            else:
                ends, used = over(ends), 0
        if place == len(offered):
            break
        if since >= 0:
            used += 1
        elif at >= ends and allowance.at(at):
            used, ends = 1, over(at)
            passed.append(place)
        elif at < ends and used < allowance.at(at):
            used += 1
            passed.append(place)
        else:
            since, used, ends = at, first, over(at)
    if since >= 0:
        muted.append((since, over(cycles)))
    return Guarded(tuple(passed), tuple(offered), len(muted), tuple(muted))
