"""The judge's own account of the contexts of all GPUs, read off the commands and answers on the wire.

What a context holds is what its answers say; each must follow from the commands before it, stay below the limit that
was set, and all together below what the GPU has. A refusal for want of memory must be true. A launch ends once, with
all of its cycles worked, unless it was cancelled; it has had as many of the engine as it asked for, on a slow GPU four
times as many, and their sum is the context's run time. Of a GPU that has left the ring, or answers by another one's
number, nothing is known any more, until a context is created anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ringhil.emulator.events.stream import Stream
from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.contexts.command import Gpu
from ringhil.emulator.judge.contexts.commands_seen import MANAGER, REACHED_NOBODY, TWINS, Place, SeenCommand
from ringhil.emulator.judge.contexts.context_events import CommandSent, ContextsGone, GpuStruck, MixedUp
from ringhil.emulator.judge.contexts.turn_orders import SLOWER
from ringhil.emulator.judge.findings import FindingList, numbered, say
from ringhil.emulator.judge.work.cpu_events import AnswerTaken, ReportTaken
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, Query, ResultStatus

_OF_MEMORY = (Compute.CONFIGURE, Compute.ALLOCATE, Compute.FREE, Compute.DESTROY)  # their answers say what is held
_CHANGES = (Compute.ALLOCATE, Compute.FREE, Compute.DESTROY)  # what is held
_OVER = (ResultStatus.DONE.code, ResultStatus.CANCELLED.code)


@dataclass(slots=True)
class _Sent:
    command: SeenCommand
    at: int
    slow: bool  # its GPU is, as it is sent
    answered: bool = False
    ended: bool = False


@dataclass(slots=True)
class _Context:
    held: int
    limit: int
    ran: int = 0  # by the launches that are over
    launches: set[int] = field(default_factory=set)  # of which no end has been heard, by unit
    quiet: int = 0  # when the last end was heard
    lost: bool = False  # what it was asked last may have been carried out, and wasn't heard


class Isolation:
    """`memory`: pages that each GPU has. `views`: what the CPU knows of its cards. `doubts`: what can't be told."""

    def __init__(self, stream: Stream, memory: int, views: Sequence[CardView]) -> None:
        self._memory = memory
        self._commands: dict[tuple[int, Gpu], _Sent] = {}  # each GPU has numbers of its own
        self._contexts: dict[Gpu, dict[int, _Context]] = {}
        self._unknown: set[Gpu] = set()  # there may be contexts that nobody has an account of
        # Pages asked for, of which nothing has been heard, and the context, by unit.
        self._coming: dict[Gpu, dict[int, tuple[int, int]]] = {}
        # Contexts that were asked to hold more or less, and haven't said yet whether they do, by unit; and when one has
        # said so last.
        self._changing: dict[Gpu, dict[int, int]] = {}
        self._stirred: dict[Gpu, int] = {}
        self._gone: dict[Gpu, int] = {}  # when all contexts were
        self.memory = FindingList()
        self.launches = FindingList()
        self.ended: dict[tuple[Gpu, int], int] = {}  # launches that were done, by GPU and context
        self.ran: dict[tuple[Gpu, int], int] = {}  # cycles that launches had, by GPU and context
        self._slow: set[Gpu] = set()
        self._changed: dict[Gpu, int] = {}  # when that has begun or ended last
        self._doubtful: set[Gpu] = set()  # where that has ever been so
        self._dropped: set[Place] = set()  # contexts that there may be
        self.doubts: list[str] = []
        stream.listen(CommandSent, lambda o: self.sent(o.command, o.cycle))
        stream.listen(AnswerTaken, self._heard)
        stream.listen(ReportTaken, lambda o: self.counted(views[o.card]))
        stream.listen(GpuStruck, self._struck)
        stream.listen(MixedUp, lambda o: self.doubt(o.gpu))
        stream.listen(ContextsGone, lambda o: self.gone(o.gpu, o.cycle, known=o.known))

    def _heard(self, o: AnswerTaken) -> None:
        if isinstance(o.message, Result):
            self.answered(o.message, o.cycle)
        else:
            self.refused(o.message)

    def _struck(self, o: GpuStruck) -> None:
        if o.kind == "slow":
            self.slowed(o.gpu, o.cycle, slow=o.begins)

    def sent(self, command: SeenCommand, now: int = 0) -> None:
        """The CPU sends a command; it is looked at only once."""
        unit, gpu, context = command.unit, command.gpu, command.context
        if (unit, gpu) in self._commands:
            return
        self._commands[unit, gpu] = _Sent(command, now, gpu in self._slow)
        if command.compute in _CHANGES:
            self._changing.setdefault(gpu, {})[unit] = context
        if command.compute is Compute.ALLOCATE:
            self._coming.setdefault(gpu, {})[unit] = (command.amount, context)
        elif command.compute is Compute.LAUNCH and context in (contexts := self._contexts.get(gpu, {})):
            contexts[context].launches.add(unit)

    def slowed(self, gpu: Gpu, now: int, *, slow: bool) -> None:
        """From now on this GPU is slow, or isn't any more."""
        (self._slow.add if slow else self._slow.discard)(gpu)
        self._changed[gpu] = now

    def gone(self, gpu: Gpu, now: int, *, known: bool = True) -> None:
        """It has lost its contexts. `known`: and nobody else answers by its number."""
        self._contexts.pop(gpu, None)
        self._coming.pop(gpu, None)
        self._changing.pop(gpu, None)
        self._gone[gpu] = now
        if known:
            self._unknown.discard(gpu)

    def doubt(self, gpu: Gpu) -> None:
        """It isn't known any more what contexts it has."""
        dropped = self._contexts.pop(gpu, {})
        self._dropped |= {(*gpu, context) for context in dropped}
        self._unknown.add(gpu)
        self._doubtful.add(gpu)

    def counted(self, card: CardView) -> None:
        """The CPU has taken in a report of this card, and knows who is there."""
        for gpu, contexts in self._contexts.items() if card.members else ():
            if gpu[0] == card.number and gpu[1] not in card.members:
                for context in contexts.values():
                    context.lost = True

    def known(self, gpu: Gpu) -> bool:
        """Nobody else has ever answered by this GPU's number, nor it by another one's."""
        return gpu not in self._doubtful

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        sent = self._commands.get((result.unit, (result.source_card, result.source)))
        if sent is None:
            return
        command = sent.command
        if command.compute is Compute.LAUNCH and result.status in _OVER:
            self._end(sent, result, now)
        elif not sent.answered:
            sent.answered = True
            if command.compute is Compute.LAUNCH and result.status != ResultStatus.STARTED.code:
                self._over(command, result, now)
            self._coming.get(command.gpu, {}).pop(result.unit, None)
            if self._changing.get(command.gpu, {}).pop(result.unit, None) is not None:
                self._stirred[command.gpu] = now
            self._account(sent, result, now)

    def refused(self, message: Acknowledgement) -> None:
        """The CPU has taken in that a command has reached no context."""
        gpu = (message.source_card, message.source)
        sent = self._commands.get((message.unit, gpu))
        if message.status not in REACHED_NOBODY:
            self._coming.get(gpu, {}).pop(message.unit, None)
            self._changing.get(gpu, {}).pop(message.unit, None)
        if message.status == AckStatus.NO_CONTEXT.code and sent is not None:
            self._come_no_more(gpu, sent.command.context)

    def _come_no_more(self, gpu: Gpu, context: int) -> None:
        """This context is gone, and what it was still to have with it."""
        coming = self._coming.get(gpu, {})
        self._coming[gpu] = {unit: each for unit, each in coming.items() if each[1] != context}
        changing = self._changing.get(gpu, {})
        self._changing[gpu] = {unit: each for unit, each in changing.items() if each != context}

    # ------------------------------------------------------------------------------------------------------- memory

    def _account(self, sent: _Sent, result: Result, now: int) -> None:
        command, status = sent.command, result.status
        contexts = self._contexts.setdefault(command.gpu, {})
        mine = contexts.get(command.context)
        if command.compute is Compute.CREATE:
            if status == ResultStatus.DONE.code:
                contexts[command.context] = _Context(0, command.amount)
            return
        what = say("context {} of {}", command.context, numbered(command.gpu))
        if command.compute is Compute.DESTROY and status == ResultStatus.DONE.code:
            self._come_no_more(command.gpu, command.context)
        if mine is None:
            late = command.compute is Compute.DESTROY or sent.at <= self._gone.get(command.gpu, sent.at)
            if not late and command.gpu not in self._unknown:
                self.memory.tell(now, "{} goes on, though its GPU has left the ring since it was created", what)
            if command.place in self._dropped:
                self._dropped.discard(command.place)
                self.doubts.append(say("what {} says: {}", what, TWINS))
            return
        others = sum(each.held for number, each in contexts.items() if number != command.context)
        if status == ResultStatus.OVER_LIMIT.code and mine.held + command.amount <= mine.limit:
            self.memory.tell(now, "{} was refused {} pages that its limit allows", what, command.amount)
        elif status == ResultStatus.NO_MEMORY.code:
            most = (
                others
                + mine.held
                + sum(pages for pages, _ in self._coming.get(command.gpu, {}).values())
                + command.amount
            )
            if most <= self._memory:
                refused = say("{} was refused {} pages that the GPU has", what, command.amount)
                if command.gpu in self._unknown:
                    self.doubts.append(say("{}: {}", refused, TWINS))
                else:
                    self.memory.tell(now, refused)
        elif status == ResultStatus.INVALID.code and command.compute is Compute.FREE and command.amount <= mine.held:
            self.memory.tell(now, "{} couldn't free {} pages that it holds", what, command.amount)
        elif status == ResultStatus.INVALID.code and command.compute is Compute.COPY and command.amount < mine.held:
            self.memory.tell(now, "{} couldn't have data in page {}, and holds {}", what, command.amount, mine.held)
        elif command.compute is Compute.QUERY:
            if status == ResultStatus.DONE.code:
                self._asked(sent, mine, result, what, now)
        elif status == ResultStatus.DONE.code:
            self._done(command, mine, result, what, now)
            if others + mine.held > self._memory:
                self.memory.tell(now, "{} and the others hold more than there is", what)
            if command.compute is Compute.DESTROY:
                del contexts[command.context]

    def _done(self, command: SeenCommand, mine: _Context, result: Result, what: str, now: int) -> None:
        if command.compute is Compute.COPY and command.amount >= mine.held:
            self.memory.tell(now, "{} has data in page {}, and holds {}", what, command.amount, mine.held)
        if command.compute not in _OF_MEMORY:
            return
        if command.compute is Compute.CONFIGURE:
            if command.key != MANAGER:
                self.memory.tell(now, "{} was given {} pages by who doesn't manage the GPU", what, command.amount)
            mine.limit = command.amount
        elif command.compute is Compute.ALLOCATE:
            mine.held += command.amount
            if mine.held > mine.limit:
                self.memory.tell(now, "{} holds {} pages, and may hold {}", what, mine.held, mine.limit)
        else:
            mine.held -= command.amount if command.compute is Compute.FREE else mine.held
        self._says(mine, result, what, now)

    def _says(self, mine: _Context, result: Result, what: str, now: int) -> None:
        if not mine.lost and result.digest != mine.held << 32 | mine.limit:
            said = say("{} of {}", result.digest >> 32, result.digest & 0xFFFFFFFF)
            self.memory.tell(
                now,
                "{} says that it holds {found} pages; it is {expected} of {}",
                what,
                mine.limit,
                found=said,
                expected=mine.held,
            )

    # ------------------------------------------------------------------------------------------------------ questions

    def _asked(self, sent: _Sent, mine: _Context, result: Result, what: str, now: int) -> None:
        """What it holds and may hold, how long it has run, and what there is in the GPU."""
        asked = sent.command.amount
        if asked == Query.MEMORY.code:
            self._says(mine, result, what, now)
        elif asked == Query.RUN_TIME.code:
            self._asked_run_time(sent, mine, result, what, now)
        elif asked == Query.GPU.code:
            self._asked_gpu(sent, result, now)

    def _asked_gpu(self, sent: _Sent, result: Result, now: int) -> None:
        """What it holds in all is known when nothing was under way meanwhile that changes it."""
        gpu = sent.command.gpu
        held, there = divmod(result.digest, 1 << 32)
        contexts = self._contexts[gpu].values()
        mine = sum(each.held for each in contexts)
        quiet = not self._changing.get(gpu) and self._stirred.get(gpu, 0) <= sent.at
        known = quiet and gpu not in self._unknown and not any(each.lost for each in contexts)
        if there != self._memory or (known and held != mine):
            text = say("{} says that it holds {} of {} pages", numbered(gpu), held, there)
            self.memory.tell(now, "{found}; it is {expected} of {}", self._memory, found=text, expected=mine)

    # ----------------------------------------------------------------------------------------------------- launches

    def _end(self, sent: _Sent, result: Result, now: int) -> None:
        if sent.ended:
            return  # told again
        sent.ended = True
        command = sent.command
        self._over(command, result, now)
        place = (command.gpu, command.context)
        self.ran[place] = self.ran.get(place, 0) + result.cycles
        if result.status == ResultStatus.CANCELLED.code:
            return
        self.ended[place] = self.ended.get(place, 0) + 1
        what = say("a launch of context {} of {}", command.context, numbered(command.gpu))
        least, most = command.amount, SLOWER * command.amount
        if self._changed.get(command.gpu, -1) < sent.at:  # it was as fast from its beginning to its end
            least = most = most if sent.slow else least
        if result.digest or result.cycles < least:
            self._tell_launch(command.gpu, say("{} ended after {} of {} cycles", what, result.cycles, least), now)
        elif result.cycles > most:
            text = say("{} had {} cycles of the engine; it asked for {}", what, result.cycles, most)
            self._tell_launch(command.gpu, text, now)

    def _tell_launch(self, gpu: Gpu, what: str, now: int) -> None:
        """Another one may have worked, and been slow, or not."""
        if gpu in self._unknown:
            self.doubts.append(say("{}: {}", what, TWINS))
        else:
            self.launches.tell(now, what)

    def _over(self, command: SeenCommand, result: Result, now: int) -> None:
        context = self._contexts.get(command.gpu, {}).get(command.context)
        if context is None:
            return
        context.launches.discard(result.unit)
        if result.status in _OVER:
            context.ran += result.cycles
            context.quiet = now

    def _asked_run_time(self, sent: _Sent, mine: _Context, result: Result, what: str, now: int) -> None:
        """What launches have had, when all of them were known to be over before it was asked."""
        if not mine.launches and mine.quiet <= sent.at and result.digest != mine.ran:
            self.launches.tell(
                now,
                "{} says that it ran for {found} cycles; it was {expected}",
                what,
                found=result.digest,
                expected=mine.ran,
            )
