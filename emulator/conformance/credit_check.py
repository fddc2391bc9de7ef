"""Credits of the data channel, link by link: what a node may begin to send, and what it gives back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ringhil.emulator.documents import one
from ringhil.emulator.testbench.monitor import Breach
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.reference.control import AHEAD
from ringhil.emulator.testbench.reference.data import LONGEST
from ringhil.protocol.wire import DATA_SLOTS

INTO_RING = 2  # credits: the slot that stays free is the bubble that keeps a ring from deadlock
ONWARD = 1


@dataclass(frozen=True, slots=True)
class Use:
    """Cycles in which a link was used, `first` to `last`; a link that is used again starts with no credits."""

    first: int
    last: int
    credits: int


def uses(observed: Observed, link: str) -> list[Use]:
    """The spans that the node itself names: carrier, and no remote fault."""
    spans, since, credits = [], 0, DATA_SLOTS
    used = True
    for cycle, up, fault in observed.levels[link]:
        if used and (not up or fault):
            spans.append(Use(since, cycle - 1, credits))
        elif not used and up and not fault:
            since, credits = cycle, 0
        used = up and not fault
    return [*spans, Use(since, 1 << 62, credits)] if used else spans


def credits_left(observed: Observed, link: str) -> int:
    """Credits that the node has at the end; 0 while it doesn't use the link."""
    spans = uses(observed, link)
    if not spans or spans[-1].last < 1 << 62:
        return 0
    use = spans[-1]
    begun = sum(f.channel == "data" and f.began >= use.first for f in observed.left[link])
    return use.credits + sum(g > use.first for g in observed.granted[link]) - begun


def overspent(rule: str, observed: Observed, link: str, streams: dict[int, str]) -> Iterator[Breach]:
    """Frames that were begun with too few credits. `streams`: by cycle in which a frame began, where it came from."""
    onward = AHEAD.get(link)
    for use in uses(observed, link):
        begun = 0
        for frame in observed.left[link]:
            if frame.channel != "data" or not use.first <= frame.began <= use.last:
                continue
            had = use.credits + sum(use.first < g < frame.began for g in observed.granted[link]) - begun
            begun += 1
            stream = streams.get(frame.began, "")
            needed = ONWARD if onward is None or stream == onward or not stream else INTO_RING
            if had < needed:
                came = f" that came by {stream}" if stream else ""
                text = f"{link}: {one(frame.kind)} frame{came} began with {had} credits, needs {needed}"
                yield Breach(rule, frame.began, text)


def given_back(rule: str, observed: Observed, link: str, taken: Iterable[int], most_lost: int) -> Iterator[Breach]:
    """A credit for each frame that was taken (`taken`: cycles of their first flits) once all have left; a link that
    is used again gives one for each slot. At most `most_lost` frames were lost without one."""
    spans = uses(observed, link)
    if not spans or spans[-1].last < 1 << 62:
        return
    use = spans[-1]
    given = sum(c >= use.first for c in observed.credits[link])
    wanted = sum(t >= use.first for t in taken) + (DATA_SLOTS - use.credits if use.first else 0)
    if not wanted - most_lost <= given <= wanted:
        text = f"{link}: {given} credits given since cycle {use.first}, must be {wanted}"
        yield Breach(rule, max([use.first, *observed.credits[link]]), text)


def early(rule: str, observed: Observed, link: str, gone: Mapping[int, int]) -> Iterator[Breach]:
    """Credits that were given before their frame had left its slot. `gone`: by cycle of its first flit when a frame
    left the node, for those that had to leave; the others ended when they had arrived."""
    frames = [f for f in observed.arrived[link] if f.channel == "data"]
    if len(uses(observed, link)) != 1 or not all(f.sof and f.eof for f in frames):
        return
    for frame, given in zip(frames, observed.credits[link], strict=False):
        # One that is too long may be ended when its slot is full.
        over = frame.ended if len(frame.data) <= LONGEST else frame.began
        if given < gone.get(frame.began, over):
            text = f"{link}: a credit before the frame that came in cycle {frame.began} had left its slot"
            yield Breach(rule, given, text)
            return
