"""How units of work go out: whole, in order, under the epoch of the entry GPU that they enter by, on the right lane,
and across other cards where they must. In a closed ring what a GPU answers comes back over the other lane.

Commands to contexts go the same way, but never across; what they ask for is judged by isolation.py."""

from collections.abc import Iterator, Sequence

from ringhil.emulator.events.hardware import FromCpu, ToCpu
from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.findings import FindingList, Name, Value, say
from ringhil.emulator.judge.oracle import crosses
from ringhil.emulator.judge.recovery.truth import CardTruth
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol.frames import Acknowledgement, Result, Work
from ringhil.protocol.wire import FIRST_COMMAND, SEGMENT_BYTES, Flag


class Routes:
    """`views`, `truths`: by card; `across`: percent of the units."""

    def __init__(
        self,
        stream: Stream,
        wiring: Wiring,
        views: Sequence[CardView],
        truths: Sequence[CardTruth],
        across: int,
    ) -> None:
        self._wiring, self._views, self._truths, self._across = wiring, views, truths, across
        self._lanes: dict[int, tuple[int, bool, int]] = {}  # by unit on its own card: attempt, lane, cycle
        self._expected: tuple[int, int, int] | None = None  # unit, attempt and segment that must come next
        self.wrong = FindingList()
        stream.listen(FromCpu, self._sent)
        stream.listen(ToCpu, self._answered)

    def _sent(self, o: FromCpu) -> None:
        cell, frame, now = o.cell, o.frame, o.cycle
        if frame[0] != Work.KIND:
            return
        _, card, flags, ttl, gpu, epoch, unit, source, attempt, segment, part, length, compute, via, context = (
            Work.HEAD.unpack_from(frame)
        )
        problems = [*self._piece(unit, attempt, segment, part, length, last=bool(flags & Flag.LAST))]
        if segment == 0:
            self._lanes.pop(unit, None)
            if via == card and gpu != source:
                self._lanes[unit] = attempt, bool(flags & Flag.CCW), now
            enters = (cell, ttl, epoch, source, compute, context)
            problems += self._way(card, gpu, unit, attempt, via, enters, ccw=bool(flags & Flag.CCW))
        for problem in problems:
            self.wrong.tell(now, "unit {} was sent at cycle {}: {}", unit, now, problem)

    def _answered(self, o: ToCpu) -> None:
        frame, now = o.frame, o.cycle
        if o.bad or frame[0] not in (Result.KIND, Acknowledgement.KIND) or len(frame) < Acknowledgement.HEAD.size:
            return
        _, _, flags, _, _, _, unit, _, attempt, _, card, _ = Acknowledgement.HEAD.unpack_from(frame)
        sent = self._lanes.get(unit)
        if sent is None or sent[0] != attempt or card >= len(self._truths):
            return
        _, ccw, at = sent
        if bool(flags & Flag.CCW) == ccw and self._truths[card].closed_since(at):
            lane = f"{'counter-' if ccw else ''}clockwise"
            self.wrong.tell(now, "unit {} was answered {} at cycle {}, as it was sent", unit, lane, now)

    def _piece(self, unit: int, attempt: int, segment: int, part: int, length: int, *, last: bool) -> Iterator[str]:
        """Segments of a unit follow one another, each as long as may be."""
        here = (unit, attempt, segment)
        if segment and here != self._expected:
            yield say("segment {} of attempt {} follows on {}", segment, attempt, self._expected)
        elif not segment and self._expected is not None:
            yield say("segment {} of unit {} is missing", self._expected[2], self._expected[0])
        left = length - SEGMENT_BYTES * segment
        if part != min(left, SEGMENT_BYTES) or last != (left <= SEGMENT_BYTES):
            yield say(
                "segment {} of {} bytes has {}, and is {}the last one", segment, length, part, "" if last else "not "
            )
        self._expected = None if last else (unit, attempt, segment + 1)

    def _way(
        self, card: int, gpu: int, unit: int, attempt: int, via: int, enters: tuple[int, ...], *, ccw: bool
    ) -> Iterator[str]:
        """By whom it enters, and which way round it goes."""
        own, entered = self._views[card], self._views[via]
        entry = entered.entry
        if entry is None:
            yield say("it enters by card {}, which has no entry GPU", Name(entered.name))
            return
        commands = unit >= FIRST_COMMAND
        asks = enters[4:] if commands else (0, 0)
        right = (self._wiring.cell(via, entry), max(own.size, entered.size) + 1, entered.epoch, entry, *asks)
        if enters != right:
            yield say(
                "cell, TTL, epoch, entry GPU, computation and context are {found}, must be {expected}",
                found=enters,
                expected=right,
            )
        able = [other.name for other in self._views if other is not own and self._leads(other, card)]
        across = not commands and attempt == 1 and crosses(unit, self._across) and bool(able)
        if across != (via != card):
            ways = say("{} has a way there", Value(", ".join(able)) or "no card")
            yield say(
                "attempt {} enters by card {}, for card {}; {}", attempt, Name(entered.name), Name(own.name), ways
            )
        elif across:
            if entered.name not in able or ccw:
                way = say("{}clockwise across card {}", "counter-" if ccw else "", Name(entered.name))
                yield say("it goes {}; cards with a way there: {}", way, Value(", ".join(able)))
        elif 2 * (distance := (gpu - entry) % own.size) != own.size:
            shorter = 2 * distance > own.size
            if ccw != (shorter if attempt % 2 else not shorter):
                yield say(
                    "attempt {} goes {}clockwise from GPU {} to GPU {}", attempt, "counter-" if ccw else "", entry, gpu
                )

    def _leads(self, view: CardView, target: int) -> bool:
        """Whether the census of another card shows a boundary GPU on the way to `target`."""
        if not view.reachable or view.entry is None:
            return False
        hop, crossings = self._wiring.next_hop(view.number, target), self._wiring.crossings
        ends = (crossings.get(self._wiring.cell(view.number, gpu)) for gpu in view.boundaries)
        return any(end is not None and end.peer_card == hop for end in ends)
