"""Whether a context's count of switches is that of its turns after another one's (docs/reference/contexts.md, S4).

Seen by the register `turn` of its GPU, since it was created, and compared when its count is asked for while it waits
for nothing. Of a GPU that stands still nothing is known until a context is created anew; of one that has answered by
another one's number, nothing any more.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.judge.commands_seen import SeenCommand
from ringhil.emulator.judge.findings import say
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import Compute, Query, ResultStatus

_HIGH = 32  # bits below the switches


@dataclass(slots=True)
class _Asked:
    command: SeenCommand
    at: int
    seen: int  # switches to that context since the beginning


class SwitchCounts:
    """Of one GPU. `tell`: what is wrong, and when."""

    def __init__(self, tell: Callable[[str, int], None]) -> None:
        self._tell = tell
        self._seen: dict[int, int] = {}  # switches, by context
        self._last: dict[int, int] = {}  # when it has begun a turn or ended one
        self._before: dict[int, int] = {}  # switches before a context was created; without: nothing is known of it
        self._asked: dict[int, _Asked] = {}  # by unit: what isn't answered
        self._known = True

    def begins(self, context: int, now: int, *, switches: bool) -> None:
        """It has a turn."""
        self._seen[context] = self._seen.get(context, 0) + switches
        self._last[context] = now

    def ends(self, context: int, now: int) -> None:
        """Its turn is over."""
        self._last[context] = now

    def forget(self, *, for_good: bool = False) -> None:
        """Nothing is known of any context any more. `for_good`: nor of those to come, for which another may answer."""
        self._known &= not for_good
        self._before.clear()
        self._asked.clear()

    def sent(self, command: SeenCommand, now: int) -> None:
        """A command goes out; one that goes out again was there before."""
        counts = command.compute is Compute.QUERY and command.amount == Query.COUNTS.code
        if (counts or command.compute is Compute.CREATE) and command.unit not in self._asked:
            self._asked[command.unit] = _Asked(command, now, self._seen.get(command.context, 0))

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        asked = self._asked.pop(result.unit, None)
        if asked is None or result.status != ResultStatus.DONE.code:
            return
        context = asked.command.context
        if asked.command.compute is Compute.CREATE:
            self._before[context] = asked.seen
        elif self._known and context in self._before and self._last.get(context, 0) < asked.at:
            said, seen = result.digest >> _HIGH, self._seen.get(context, 0) - self._before[context]
            if said != seen:
                what = say("context {} says that it had {} turns after another one's", context, said)
                self._tell(say("{}; it was {expected}", what, expected=seen), now)
