"""Data frames that left, one by one against those that had to; where a frame came from decides what it may do."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.reference.control import AHEAD, Leaving
from ringhil.emulator.testbench.reference.data import LONGEST
from ringhil.emulator.testbench.scoreboard import difference
from ringhil.emulator.trace.naming import described


@dataclass(frozen=True, slots=True)
class AwaitedFrame:
    """A frame that must leave, and its place among those of its way in."""

    leaving: Leaving
    place: int


class DataBoard:
    """`saw` each frame that left; what has left is in `gone`, by stream and place, with the cycle of its last flit."""

    def __init__(self, leaving: Iterable[Leaving], longest: int) -> None:
        self._longest = longest  # TTL, hops
        self._waiting: dict[tuple[str, str], list[AwaitedFrame]] = {}
        self.streams: dict[str, list[Leaving]] = {}
        self.gone: dict[tuple[str, int], int] = {}
        for one in leaving:
            places = self.streams.setdefault(one.stream, [])
            self._waiting.setdefault((one.link, one.stream), []).append(AwaitedFrame(one, len(places)))
            places.append(one)

    def saw(self, link: str, frame: RingFrame) -> tuple[str, str | None]:
        """A frame has left by `link`: the stream that it belongs to ("" without one), and what is wrong with it."""
        queues = {stream: waiting for (by, stream), waiting in self._waiting.items() if by == link}
        for fits in (self._exact, self._remains, self._alike):
            for stream, waiting in queues.items():
                for index, expected in enumerate(waiting):
                    if fits(expected.leaving, frame):
                        return stream, self._take(link, stream, index, frame)
        return "", f"{link}: a {frame.kind} frame left that nothing asked for ({frame.title})"

    def awaits(self, link: str, frame: RingFrame) -> bool:
        """A frame like this one must leave by `link`."""
        return any(
            self._alike(expected.leaving, frame)
            for (by, _), waiting in self._waiting.items()
            if by == link
            for expected in waiting
        )

    def missing(self, stream: str) -> list[Leaving]:
        """Frames of a stream that haven't left and had to, in order."""
        every = enumerate(self.streams.get(stream, []))
        return [one for i, one in every if (stream, i) not in self.gone and not one.optional]

    def _take(self, link: str, stream: str, index: int, frame: RingFrame) -> str | None:
        waiting = self._waiting[link, stream]
        taken, skipped = waiting[index], [e for e in waiting[:index] if not e.leaving.optional]
        del waiting[: index + 1]
        self.gone[stream, taken.place] = frame.ended
        if skipped:
            lost = described(skipped[0].leaving.data)
            return f"{link}: a {frame.kind} frame that came by {stream} overtook another, or that was lost ({lost})"
        if taken.leaving.cut:
            if self._remains(taken.leaving, frame):
                return None
            how = "as a good one" if frame.good else "changed"
            return (
                f"{link}: a {frame.kind} frame that came by {stream} had lost its end or was too long, and left {how}"
            )
        why = difference(self._same_ttl(taken.leaving, frame), frame)
        return (
            None
            if why is None
            else f"{link}: a {frame.kind} frame that came by {stream} left wrong: {why} ({frame.title})"
        )

    def _exact(self, expected: Leaving, frame: RingFrame) -> bool:
        return not expected.cut and difference(self._same_ttl(expected, frame), frame) is None

    def _remains(self, expected: Leaving, frame: RingFrame) -> bool:
        """What is left of a frame that has lost its end: its beginning, and a last flit that says so."""
        if not expected.cut or frame.good or len(frame.data) > LONGEST:
            return False
        kept = len(frame.data) - 8
        return kept >= 8 and frame.data[:kept] == self._same_ttl(expected, frame).data[:kept]

    def _alike(self, expected: Leaving, frame: RingFrame) -> bool:
        """What no hop may change in the first two flits."""
        return expected.data[:2] + expected.data[6:16] == frame.data[:2] + frame.data[6:16]

    def _same_ttl(self, expected: Leaving, frame: RingFrame) -> Leaving:
        """The TTL no longer matters out of the ring, as long as it isn't too large."""
        if expected.link in AHEAD or len(frame.data) < 8 or frame.ttl > self._longest:
            return expected
        return replace(expected, data=expected.data[:4] + frame.data[4:6] + expected.data[6:])
