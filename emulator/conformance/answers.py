"""Results and refusals of a node's compute engine against what its work asks for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.testbench.frame import RingFrame
from ringhil.emulator.testbench.reference.compute import QUEUE, Answer
from ringhil.emulator.trace.naming import differing
from ringhil.protocol import crc, wire

REACH = 200  # cycles from the end of a segment on the link until the engine has it, where nothing holds it up
_QUEUED = 23  # byte of a result or refusal
_REASONS = {reason.code: reason for reason in wire.AckStatus}
_DIGEST = slice(24, 32)


@dataclass
class Given:
    """An answer and the frame that gave it."""

    answer: Answer
    frame: RingFrame | None = None

    @property
    def refused(self) -> bool:
        """The answer was given, and is a refusal."""
        return self.frame is not None and self.frame.kind == "acknowledgement"

    @property
    def computed(self) -> bool:
        """The answer was given, and is a result."""
        return self.frame is not None and self.frame.kind == "result"


@dataclass
class Answers:
    """All answers that the work asks for, in the order in which it arrived; `saw` what the node gave.

    `corrupt`: a bit of each digest is wrong.
    """

    expected: Sequence[Answer]
    corrupt: bool = False
    given: list[Given] = field(init=False)

    def __post_init__(self) -> None:
        self.given = [Given(answer) for answer in self.expected]

    def saw(self, link: str, frame: RingFrame) -> str | None:
        """The node has sent an answer by `link`; what is wrong with it."""
        which = f"the {frame.kind} of unit 0x{int.from_bytes(frame.data[12:16], 'big'):X}"
        open_ones = [g for g in self.given if g.frame is None and _asks(g.answer, frame)]
        if not open_ones:
            return f"{link}: {which} left, and no segment asked for it"
        given = next((g for g in open_ones if self._content(g.answer, frame) is None), open_ones[0])
        given.frame = frame
        if link != given.answer.link:
            return f"{link}: {which} left here, must leave by {given.answer.link}"
        if not frame.good:
            return f"{link}: {which} left damaged"
        why = self._content(given.answer, frame)
        if why is not None:
            return f"{link}: {which}: {why}"
        return None

    def _content(self, answer: Answer, frame: RingFrame) -> str | None:
        data = frame.data
        if data[_QUEUED] > QUEUE:
            return f"{data[_QUEUED]} units are queued, there is room for {QUEUE}"
        if int.from_bytes(data[-8:-4], "big") != crc.e2e_crc(data):
            return "its end-to-end CRC is wrong"
        if frame.kind == "result":
            if answer.result is None:
                return f"it must be refused ({', '.join(sorted(answer.reasons))})"
            wanted = answer.result
            if self.corrupt:
                flipped = _number(data[_DIGEST]) ^ _number(wanted[_DIGEST])
                if flipped.bit_count() != 1:
                    return f"{flipped.bit_count()} bits of the digest are wrong, must be one: the GPU is corrupt"
                wanted = wanted[:24] + data[_DIGEST] + wanted[32:]
        else:
            reason = _REASONS.get(_number(data[20:22]))
            if reason is None or reason not in answer.reasons | {wire.AckStatus.BUSY}:
                why = " or ".join(sorted(answer.reasons)) or "nothing, but that the engine is busy"
                return f"status {_number(data[20:22])} ({reason or 'unknown'}), it may be refused for {why}"
            wanted = answer.refusal(reason)
        # How many units are queued is looked at above; the check sums follow from the rest.
        wanted = wanted[:_QUEUED] + data[_QUEUED : _QUEUED + 1] + wanted[_QUEUED + 1 : -8] + data[-8:]
        return None if data == wanted else differing(data, wanted)

    # -------------------------------------------------------------------------------------------------- the queue

    def queue_complaints(self, reach: int) -> Iterable[tuple[int, str]]:
        """(cycle, what is wrong): units refused as busy though there was room, and taken though there was no room.

        A segment reaches the engine at most `reach` cycles after its end.
        """
        free = self._free_at()
        for j, given in enumerate(self.given):
            since = given.answer.since
            if given.frame is None or given.answer.optional:
                continue
            others = [(i, g) for i, g in enumerate(self.given) if i != j and not g.refused and g.answer.result]
            if given.refused and _REASONS.get(_number(given.frame.data[20:22])) == "busy":
                held = sum(
                    g.answer.since < given.frame.began and (g.frame is None or g.frame.began > since) for _, g in others
                )
                if held < QUEUE:
                    text = f"unit 0x{given.answer.head.unit:X} was refused as busy with {held} units in the queue"
                    yield given.frame.ended, text
            elif given.computed:
                sure = sum(
                    free[i] > since + reach
                    and g.computed
                    and (g.answer.since + reach < since or (i < j and g.answer.way == given.answer.way))
                    for i, g in others
                )
                if sure >= QUEUE:
                    text = f"unit 0x{given.answer.head.unit:X} was taken with {sure} units in a queue of {QUEUE}"
                    yield given.frame.ended, text

    def _free_at(self) -> list[int]:
        """A cycle, for each computed unit, before which its place can't become free."""
        free, last = [], [0, 0, 0, 0]
        for given in self.given:
            way = given.answer.way
            done = max(given.answer.since, last[way]) + given.answer.cost
            if given.computed:
                last[way] = done
            free.append(done)
        return free

    def missing(self) -> list[Answer]:
        """Answers that never came. A refusal may be lost behind an earlier one that still waits for its turn."""
        return [
            g.answer
            for i, g in enumerate(self.given)
            if g.frame is None and not g.answer.optional and not self._may_be_lost(i)
        ]

    def _may_be_lost(self, place: int) -> bool:
        lost = self.given[place].answer
        for given in self.given:
            if not given.refused or given.frame is None or given.frame.began <= lost.since:
                continue
            if given.answer.since <= lost.since + (REACH if given.answer.way != lost.way else 0):
                return True
        return False

    def order_complaints(self) -> Iterable[tuple[int, str]]:
        """(cycle, what is wrong): results that left before those of units that came before theirs, the same way."""
        last: dict[tuple[int, str], Given] = {}
        for given in self.given:
            if not given.computed or given.frame is None:
                continue
            before = last.get((given.answer.way, given.answer.link))
            if before is not None and before.frame is not None and before.frame.began > given.frame.began:
                text = f"the result of unit 0x{given.answer.head.unit:X} left before"
                yield given.frame.ended, f"{text} that of 0x{before.answer.head.unit:X}, which came first"
            last[given.answer.way, given.answer.link] = given

    @property
    def refusals(self) -> tuple[int, int]:
        """Fewest and most refusals that the node must have counted."""
        return sum(g.refused for g in self.given), sum(g.refused or g.frame is None for g in self.given)

    @property
    def results(self) -> tuple[int, int]:
        """Fewest and most results that it must have counted."""
        return sum(g.computed for g in self.given), sum(g.computed or g.frame is None for g in self.given)


def _asks(answer: Answer, frame: RingFrame) -> bool:
    work, data = answer.head, frame.data
    identity = (work.source_card, work.source, work.epoch, work.unit, work.attempt)
    return identity == (data[1], *(_number(data[i:j]) for i, j in ((6, 8), (8, 12), (12, 16), (18, 20))))


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
