"""The judge's own account of the contexts of all GPUs, read off the commands and answers on the wire.

What a context holds is what its answers say; each must follow from the commands before it, stay below the limit that
was set, and all together below what the GPU has. A refusal for want of memory must be true. A launch ends once, with
all of its cycles worked, unless it was cancelled. Of a GPU that was hit by a fault nothing is known any more, until a
context is created anew.
"""

from dataclasses import dataclass

from ringhil.protocol.frames import Result, Work

# As docs/contexts.md has them: the judge shares no tables with what it judges.
_CREATE, _DESTROY, _CONFIGURE, _ALLOCATE, _FREE, _COPY, _LAUNCH = range(0x10, 0x17)
_DONE, _OVER_LIMIT, _NO_MEMORY, _INVALID, _, _CANCELLED = range(6)
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
    answered: bool = False
    ended: bool = False


@dataclass(slots=True)
class _Context:
    held: int
    limit: int


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

    def sent(self, frame: bytes) -> None:
        """The CPU sends a frame; of a command only the first segment is looked at, and only once."""
        if frame[0] != Work.KIND or frame[20:22] != b"\0\0":
            return
        _, card, _, _, gpu, _, unit, *_, compute, _, context = Work.HEAD.unpack_from(frame)
        if unit < FIRST_COMMAND or (unit, (card, gpu)) in self._commands:
            return
        head = frame[Work.HEAD.size :]
        command = _Command((card, gpu), context, compute, int.from_bytes(head[:4]), int.from_bytes(head[4:8]))
        self._commands[unit, command.gpu] = command
        if compute == _ALLOCATE:
            self._coming[command.gpu] = self._coming.get(command.gpu, 0) + command.amount

    def struck(self, gpu: _Gpu) -> None:
        """A fault of this GPU begins or ends."""
        self._contexts.pop(gpu, None)
        self._unknown.add(gpu)

    def answered(self, result: Result, now: int) -> None:
        """The CPU has taken a result in."""
        command = self._commands.get((result.unit, (result.source_card, result.source)))
        if command is None:
            return
        if command.compute == _LAUNCH and result.status in (_DONE, _CANCELLED):
            self._end(command, result, now)
        elif not command.answered:
            command.answered = True
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
        if result.status == _CANCELLED:
            return
        place = (command.gpu, command.context)
        self.ended[place] = self.ended.get(place, 0) + 1
        what = f"a launch of context {command.context} of GPU {command.gpu[1]}, card {command.gpu[0]}"
        if result.digest or result.cycles < command.amount:
            self.launches.append((f"{what} ended after {result.cycles} of {command.amount} cycles", now))
