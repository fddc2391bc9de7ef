"""Whether turns on a GPU's engine are as docs/reference/contexts.md says, from what its register `turn` shows (S5).

Nobody goes on past its slice while another surely waits; in a round each has one turn, in order of priority; a switch
takes as long as is said, and the engine stands still for nobody who waits. Where the register and the commands leave it
open what had to be, nothing is said: of plain work nobody knows whether it waits, and two turns of one context without
a pause look like one. After a fault of the GPU nothing is known until its contexts are created anew.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.judge.contexts.commands_seen import SeenCommand
from ringhil.emulator.judge.contexts.turn_orders import SHORTEST, Orders, TurnOrders
from ringhil.emulator.judge.findings import FindingList, say
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


_CONTEXTS = 16
_TAKEN, _SWITCHING, _CONTEXT = 0x100, 0x200, 0xFF
_NEXT = 1  # cycles after a turn in which a unit of plain work may still follow it
_IDLE = 4  # cycles between two turns at most
_PLAIN = 0


class Slices:
    """Of one GPU, `name`. Cycles: `switch` from one context to another; `wake`: what one that slept needs at most."""

    def __init__(self, name: str, switch: int, default_slice: int, wake: int = 0) -> None:
        self._name, self._switch, self._wake = name, switch, wake
        self._woke = 0  # cycles that this turn may have waited for the engine to wake up
        self.orders, self.counts = TurnOrders(default_slice), SwitchCounts(self._tell)
        self.wrong = FindingList()
        self.doubts: list[str] = []
        self._unknown: dict[int, str] = {}  # contexts of which nothing is known any more, and why
        # Who had a turn in this round: for sure, and perhaps. None: nobody knows who had the last turn of all.
        self._surely, self._perhaps = set[int](), set[int]()
        self._last: int | None = _PLAIN
        self._now: int | None = None  # who has the engine
        self._began = self._works = 0
        self._switches = False
        self._ended: int | None = None  # whose turn was over of itself, in cycle
        self._over = 0
        self._known = True

    def struck(self, why: str, *, coming: bool = True) -> None:
        """Nothing is known of its contexts any more, until they are created anew. `coming`: but of those to come."""
        before = [*self.orders.contexts]
        self._forget(coming=coming)
        self.counts.forget(for_good=not coming)
        self._unknown |= {context: why for context in before if context not in self.orders.contexts}

    def gone(self) -> None:
        """It has left the ring, and has lost its contexts."""
        self._unknown.clear()
        self._forget(coming=True)

    def _forget(self, *, coming: bool) -> None:
        self.orders.forget(coming=coming)
        self.counts.forget()
        self._surely, self._perhaps = set(), {*range(_CONTEXTS)}
        self._now = self._last = self._ended = None
        self._known = False

    def sent(self, command: SeenCommand, now: int) -> None:
        """The CPU sends a command."""
        self.orders.sent(command, now)
        self.counts.sent(command, now)

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        self.orders.answered(result, now)
        self.counts.answered(result, now)

    def changed(self, value: int, now: int) -> None:
        """The register reads so from cycle `now` on."""
        context = value & _CONTEXT
        if self._now is not None:
            if self._switches and value & _TAKEN and not value & _SWITCHING and context == self._now:
                self._switches, self._works = False, now
                self._switched(now, over=True)
                return
            self._end(now)
        if value & _TAKEN:
            self._begin(context, bool(value & _SWITCHING), now)

    def finish(self, now: int) -> None:
        """The run is over."""
        if self._now is not None and self._now != _PLAIN:
            self._too_long(self._now, now)
        elif self._now is None:
            self._stood_still(now)

    # --------------------------------------------------------------------------------------------------------- turns

    def _begin(self, context: int, switches: bool, now: int) -> None:
        if context in self._unknown and context not in self.orders.contexts:
            self.doubts.append(say("{}: turns of context {}: {}", self._name, context, self._unknown.pop(context)))
        self.counts.begins(context, now, switches=switches)
        self._stood_still(now)
        self._woke = self._wake if now > self._over else 0
        if now - self._over > _NEXT:
            self._ended = None
        if self._last is not None and switches != (context != self._last):
            done = "switches to itself" if switches else "has the engine without a switch"
            self._tell(say("context {} {}; context {} had it before", context, done, self._last), now)
        self._in_turn(context, now)
        self._now = self._last = context
        self._began = self._works = now
        self._switches, self._known = switches, True

    def _in_turn(self, context: int, now: int) -> None:
        """Whether nobody else was next; and who has had a turn in this round, now."""
        contexts = self.orders.contexts
        mine = contexts.get(context)
        if context in self._surely:  # a round begins with it
            for other, orders in contexts.items():
                since = orders.waits_from() if other != context else None
                if since is None or since >= now:
                    continue
                if other not in self._perhaps:
                    self._tell(
                        say("context {} has a second turn in a round; context {} waits for one", context, other), now
                    )
                elif context == self._ended:
                    self._tell(say("context {} goes on after its slice; context {} waits", context, other), now)
                elif other != self._ended and self._before(other, orders, context, mine, now):
                    self._tell(say("a round begins with context {}; context {} was next", context, other), now)
            self._surely, self._perhaps = {context}, {context}
        elif context in self._perhaps:
            self._surely = {context}
        else:
            for other, orders in contexts.items():
                since = None if other == context or other in self._perhaps else orders.waits_from()
                if since is not None and since < now and self._before(other, orders, context, mine, now):
                    self._tell(say("context {} has a turn; context {} was next", context, other), now)
            self._surely.add(context)
            self._perhaps.add(context)

    @staticmethod
    def _before(other: int, orders: Orders, context: int, mine: Orders | None, now: int) -> bool:
        """Whether the other one surely has precedence."""
        theirs = min(each.priority for each in orders.within(now - 1, now))
        if context == _PLAIN:
            return theirs > 0
        if mine is None:
            return False
        ours = max(each.priority for each in mine.within(now - 1, now))
        return theirs > ours or (theirs == ours and other < context)

    def _orders(self, context: int) -> Orders | None:
        """Of a context that has the engine; None: it was there before anybody asked for it."""
        orders = self.orders.contexts.get(context)
        return None if orders is None or orders.since > self._began else orders

    def _end(self, now: int) -> None:
        context = self._now
        assert context is not None
        self.counts.ends(context, now)
        if self._switches:
            self._switched(now, over=False)
            self._works = now
        self._now, self._over, self._ended = None, now, None
        orders = self._orders(context)
        if orders is None:
            if context != _PLAIN:  # it may have had several turns, and others none
                self._surely, self._perhaps = {context}, {*range(_CONTEXTS)}
            return
        self._too_long(context, now)
        slices = [each.slice for each in orders.within(self._began, now)]
        ran = now - self._works
        most = ran + (self._works == self._began + 1)  # that cycle of a switch may not have been one
        if ran > max(slices) + self._woke:  # it had several turns, alone
            self._surely, self._perhaps = {context}, {context}
        elif most > min(slices):
            self._surely = {context}
            self._perhaps.add(context)
        if orders.launch is not None:
            orders.launch.had += most
            orders.launch.free = now
            self._ended = context

    # ------------------------------------------------------------------------------------------------------- lengths

    def _too_long(self, context: int, now: int) -> None:
        """Past its slice, while another one waited."""
        orders = self._orders(context)
        if orders is None or self._switches:
            return
        allowed = None
        for other, others in self.orders.contexts.items():
            since = others.waits_from() if other != context else None
            if since is None or now - max(since, self._works) <= SHORTEST:
                continue
            if allowed is None:
                allowed = self._woke + max(each.slice for each in orders.within(self._began, now))
            ran = now - max(since, self._works)
            if ran > allowed:
                self._tell(
                    say(
                        "context {} went on for {found} cycles while context {} waited, not {expected}",
                        context,
                        other,
                        found=ran,
                        expected=allowed,
                    ),
                    now,
                )

    def _switched(self, now: int, *, over: bool) -> None:
        """A switch that is over has had its length; one that was withdrawn no more than that."""
        context, took = self._now, now - self._began
        if context == _PLAIN:
            allowed = [max(1, self._switch)]
        else:
            orders = self._orders(context or 0)
            if orders is None:
                return
            allowed = [max(1, self._switch + each.state) for each in orders.within(self._began - 1, self._began + 1)]
        fits = any(0 <= took - each <= self._woke for each in allowed) if over else took <= max(allowed) + self._woke
        if not fits:
            self._tell(
                say(
                    "the switch to context {} took {found} cycles, not {expected}",
                    context,
                    found=took,
                    expected=allowed[-1],
                ),
                now,
            )

    def _stood_still(self, now: int) -> None:
        if not self._known:
            return
        for other, orders in self.orders.contexts.items():
            since = orders.waits_from()
            if since is not None and now - max(since, self._over) > _IDLE:
                idle = now - max(since, self._over)
                self._tell(say("nobody had the engine for {} cycles while context {} waited", idle, other), now)

    def _tell(self, text: str, now: int) -> None:
        self.wrong.tell(now, "{}: {}", self._name, text)
