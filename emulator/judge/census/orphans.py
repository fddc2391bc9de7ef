"""Statistics messages that are still on a ring although their round is long over.

What is looked at: the last messages that the ring ports have sent, as the engine remembers them. A message that goes
round is on some wire in nearly every cycle, so it has begun on some port within the last few; one that just then waits
in a GPU is seen by a later look.

When: a message may be left over only by something that happened to it. So one bound after each event of the timeline,
for what it met on its way; one bound after the first round that begins on the card after the event; and at the end of
the run, for whatever goes round for ever.
"""

from collections.abc import Sequence

from ringhil.emulator.judge.findings import Finding, Name, say
from ringhil.emulator.judge.recovery.bounds import Bounds
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.scenario import TimelineEvent
from ringhil.firmware.timing import SWITCH_OVER

_LOOK = 16  # cycles: a hop takes two, the four flits four; the rest is for what comes between
_PASSES = 4  # of a message over one link: two rounds, and there and back where it turns
_HELD = 1 << 16  # rounds remembered of each card

_Key = tuple[int, int, int]  # card, origin, epoch and sequence


class Orphans:
    """Feed it every statistics message that firmware sends, and every event. `names` and `bounds`: by card."""

    def __init__(self, kernel: Kernel, names: Sequence[str], bounds: Sequence[Bounds]) -> None:
        self._kernel, self._names, self._bounds = kernel, names, bounds
        self._longest = [b.orphan for b in bounds]  # cycles that a message may be on the ring, by card
        self._sent: list[dict[_Key, int]] = [{} for _ in names]  # by card, in order of time
        self._excused = [0] * len(names)  # by card: what was sent before may have been held until then
        self._curious = [False] * len(names)  # by card: whether its next round is looked after
        self.found: dict[_Key, Finding] = {}

    def sent(self, card: int, frame: bytes) -> None:
        """The entry GPU of a card sends a message now."""
        rounds = self._sent[card]
        rounds.setdefault(_key(*_words(frame[:16])), self._kernel.now)
        if len(rounds) > _HELD:
            del rounds[next(iter(rounds))]
        if self._curious[card]:
            self._curious[card] = False
            self._look_later(card)

    def struck(self, card: int, event: TimelineEvent, *, blocked: bool) -> None:
        """An event happens to a card now, which may leave a message over or hold it up. `blocked`: it strikes a GPU
        that lets nothing through, before or after it."""
        bounds = self._bounds[card]
        if event.kind == "hang":
            self._held(card, bounds.times.settings.watchdog + SWITCH_OVER)
        if blocked:
            self._held(card, bounds.settling("switch_stuck_through"))
        if event.kind == "link_delay":
            self._longest[card] += _PASSES * (event.value or 0)
        self._curious[card] = True
        self._look_later(card)

    def _held(self, card: int, cycles: int) -> None:
        """A message on the card's ring may be held fast until now, and for so long from now on."""
        self._excused[card] = max(self._excused[card], self._kernel.now) + cycles

    def _look_later(self, card: int) -> None:
        self._kernel.remind(self._kernel.now + self._longest[card] + 1, self.look)

    def look(self) -> None:
        """Look at the wires of all cards; what is there and ought not to be is added to `found`."""
        now = self._kernel.now
        for first, second, _, stamp in self._kernel.engine.messages(max(0, now - _LOOK)):
            self._judge(first, second, stamp, now)

    def _judge(self, first: int, second: int, stamp: int, now: int) -> None:
        key = _key(first, second)
        card, origin, _ = key
        at = self._sent[card].get(key) if card < len(self._sent) else None
        # The time that it carries tells it from another one that was damaged on its way.
        if at is None or at != stamp or key in self.found:
            return
        if now <= max(at, self._excused[card]) + self._longest[card]:
            return
        text = say(
            "orphan: statistics message of {}, sent at {}, is still on the ring at {}, more than {} cycles later",
            Name(f"{self._names[card]}.{origin}"),
            at,
            now,
            self._longest[card],
        )
        self.found[key] = Finding(text, now)


def _key(first: int, second: int) -> _Key:
    return first >> 48 & 0xFF, first & 0xFFFF, second


def _words(header: bytes) -> tuple[int, int]:
    return int.from_bytes(header[:8]), int.from_bytes(header[8:])
