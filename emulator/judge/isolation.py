"""The judge's own account of the contexts of all GPUs, read off the commands and answers on the wire.

What a context holds is what its answers say; each must follow from the commands before it, stay below the limit that
was set, and all together below what the GPU has. A refusal for want of memory must be true. A launch ends once, with
all of its cycles worked, unless it was cancelled; it has had as many of the engine as it asked for, on a slow GPU four
times as many, and their sum is the context's run time. Of a GPU that was hit by a fault nothing is known any more,
until a context is created anew.
"""

from dataclasses import dataclass, field

from ringhil.protocol.frames import Result, Work

# As docs/contexts.md has them: the judge shares no tables with what it judges.
_CREATE, _DESTROY, _CONFIGURE, _ALLOCATE, _FREE, _COPY, _LAUNCH, _CANCEL, _QUERY = range(0x10, 0x19)
_RUN_TIME = 1  # what a query asks for
_SLOWER = 4  # times
_DONE, _OVER_LIMIT, _NO_MEMORY, _INVALID, _, _CANCELLED, _STARTED = range(7)
FIRST_COMMAND = 1 << 31  # units below are work
_MANAGER = 0  # the key of whoever manages the GPU
_Gpu = tuple[int, int]  # card and number


@dataclass(slots=True)
class _Command:
    gpu: _Gpu
    context: int
    compute: int
    key: int
    amount: int
    sent: int = 0
    slow: bool = False  # its GPU is, as it is sent
    answered: bool = False
    ended: bool = False


@dataclass(slots=True)
class _Context:
    held: int
    limit: int
    ran: int = 0  # by the launches that are over
    launches: set[int] = field(default_factory=set)  # of which no end has been heard, by unit
    quiet: int = 0  # when the last end was heard


class Isolation:
    """`memory`: pages that each GPU has."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._commands: dict[tuple[int, _Gpu], _Command] = {}  # each GPU has numbers of its own
        self._contexts: dict[_Gpu, dict[int, _Context]] = {}
        self._unknown: set[_Gpu] = set()  # there may be contexts that nobody has an account of
        self._coming: dict[_Gpu, int] = {}  # pages asked for, of which nothing has been heard
        self.memory: list[tuple[str, int]] = []
        self.launches: list[tuple[str, int]] = []
        self.ended: dict[tuple[_Gpu, int], int] = {}  # launches that were done, by GPU and context
        self.ran: dict[tuple[_Gpu, int], int] = {}  # cycles that launches had, by GPU and context
        self._slow: set[_Gpu] = set()
        self._struck: dict[_Gpu, int] = {}  # when a fault of it has begun or ended last

    def sent(self, frame: bytes, now: int = 0) -> None:
        """The CPU sends a frame; of a command only the first segment is looked at, and only once."""
        if frame[0] != Work.KIND or frame[20:22] != b"\0\0":
            return
        _, card, _, _, gpu, _, unit, *_, compute, _, context = Work.HEAD.unpack_from(frame)
        if unit < FIRST_COMMAND or (unit, (card, gpu)) in self._commands:
            return
        head = frame[Work.HEAD.size :]
        key, amount = int.from_bytes(head[:4]), int.from_bytes(head[4:8])
        command = _Command((card, gpu), context, compute, key, amount, now, (card, gpu) in self._slow)
        self._commands[unit, command.gpu] = command
        if compute == _ALLOCATE:
            self._coming[command.gpu] = self._coming.get(command.gpu, 0) + command.amount
        elif compute == _LAUNCH and context in (contexts := self._contexts.get(command.gpu, {})):
            contexts[context].launches.add(unit)

    def struck(self, gpu: _Gpu, now: int = 0, *, slow: bool | None = None) -> None:
        """A fault of this GPU begins or ends. `slow`: from now on it is, or isn't."""
        self._contexts.pop(gpu, None)
        self._unknown.add(gpu)
        self._struck[gpu] = now
        if slow is not None:
            (self._slow.add if slow else self._slow.discard)(gpu)

    def known(self, gpu: _Gpu) -> bool:
        """No fault has ever hit this GPU."""
        return gpu not in self._unknown

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        command = self._commands.get((result.unit, (result.source_card, result.source)))
        if command is None:
            return
        if command.compute == _LAUNCH and result.status in (_DONE, _CANCELLED):
            self._end(command, result, now)
        elif not command.answered:
            command.answered = True
            if command.compute == _LAUNCH and result.status != _STARTED:
                self._over(command, result, now)
            if command.compute == _ALLOCATE:
                self._coming[command.gpu] -= command.amount
            self._account(command, result, now)

    # ------------------------------------------------------------------------------------------------------- memory

    def _account(self, command: _Command, result: Result, now: int) -> None:
        contexts = self._contexts.setdefault(command.gpu, {})
        mine = contexts.get(command.context)
        if command.compute == _CREATE:
            if result.status == _DONE:
                contexts[command.context] = _Context(0, command.amount)
            return
        if mine is None:
            return
        others = sum(each.held for number, each in contexts.items() if number != command.context)
        what = f"context {command.context} of GPU {command.gpu[1]}, card {command.gpu[0]}"
        if result.status == _OVER_LIMIT and mine.held + command.amount <= mine.limit:
            self.memory.append((f"{what} was refused {command.amount} pages that its limit allows", now))
        elif result.status == _NO_MEMORY:
            most = others + mine.held + self._coming.get(command.gpu, 0) + command.amount
            if most <= self._memory and command.gpu not in self._unknown:
                self.memory.append((f"{what} was refused {command.amount} pages that the GPU has", now))
        elif result.status == _INVALID and command.compute == _FREE and command.amount <= mine.held:
            self.memory.append((f"{what} couldn't free {command.amount} pages that it holds", now))
        elif command.compute == _QUERY:
            if command.amount == _RUN_TIME and result.status == _DONE:
                self._asked_run_time(command, mine, result, what, now)
        elif result.status == _DONE:
            self._done(command, mine, result, what, now)
            if others + mine.held > self._memory:
                self.memory.append((f"{what} and the others hold more than there is", now))
            if command.compute == _DESTROY:
                del contexts[command.context]

    def _done(self, command: _Command, mine: _Context, result: Result, what: str, now: int) -> None:
        if command.compute == _COPY and command.amount >= mine.held:
            self.memory.append((f"{what} has data in page {command.amount}, and holds {mine.held}", now))
        if command.compute not in (_CONFIGURE, _ALLOCATE, _FREE, _DESTROY):
            return
        if command.compute == _CONFIGURE:
            if command.key != _MANAGER:
                self.memory.append((f"{what} was given {command.amount} pages by who doesn't manage the GPU", now))
            mine.limit = command.amount
        elif command.compute == _ALLOCATE:
            mine.held += command.amount
            if mine.held > mine.limit:
                self.memory.append((f"{what} holds {mine.held} pages, and may hold {mine.limit}", now))
        else:
            mine.held -= command.amount if command.compute == _FREE else mine.held
        if result.digest != mine.held << 32 | mine.limit:
            said = f"{result.digest >> 32} of {result.digest & 0xFFFFFFFF}"
            self.memory.append((f"{what} says that it holds {said} pages; it is {mine.held} of {mine.limit}", now))

    # ----------------------------------------------------------------------------------------------------- launches

    def _end(self, command: _Command, result: Result, now: int) -> None:
        if command.ended:
            return  # told again
        command.ended = True
        self._over(command, result, now)
        place = (command.gpu, command.context)
        self.ran[place] = self.ran.get(place, 0) + result.cycles
        if result.status == _CANCELLED:
            return
        self.ended[place] = self.ended.get(place, 0) + 1
        what = f"a launch of context {command.context} of GPU {command.gpu[1]}, card {command.gpu[0]}"
        least, most = command.amount, _SLOWER * command.amount
        if self._struck.get(command.gpu, -1) < command.sent:  # it was as fast from its beginning to its end
            least = most = most if command.slow else least
        if result.digest or result.cycles < least:
            self.launches.append((f"{what} ended after {result.cycles} of {least} cycles", now))
        elif result.cycles > most:
            self.launches.append((f"{what} had {result.cycles} cycles of the engine; it asked for {most}", now))

    def _over(self, command: _Command, result: Result, now: int) -> None:
        context = self._contexts.get(command.gpu, {}).get(command.context)
        if context is None:
            return
        context.launches.discard(result.unit)
        if result.status in (_DONE, _CANCELLED):
            context.ran += result.cycles
            context.quiet = now

    def _asked_run_time(self, command: _Command, mine: _Context, result: Result, what: str, now: int) -> None:
        """What launches have had, when all of them were known to be over before it was asked."""
        if not mine.launches and mine.quiet <= command.sent and result.digest != mine.ran:
            self.launches.append((f"{what} says that it ran for {result.digest} cycles; it was {mine.ran}", now))
