"""The contexts of a compute engine: what becomes of each command, and what is answered (docs/reference/contexts.md).

Time is not here: `carry_out` is what one command does, `turn_over` what the end of a turn does to its context. What is
to be said waits until it is taken (`waiting`, `take`): the answer of a context's next command takes the place of one
that hasn't left.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ringhil.protocol import wire
from ringhil.protocol.wire import AckStatus, Compute, Query, ResultStatus

_WORD = 2**32
_BACK = 2**31  # a number that is so far ahead, or further, is behind
_EVERYBODY = 0  # the key of whoever manages the GPU


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asked, and how: what an answer says of that."""

    epoch: int
    unit: int
    home: int
    card: int
    attempt: int
    way: int  # the port that it came in by


@dataclass(frozen=True, slots=True)
class ContextCommand:
    """A whole command; `digest` is that of all its bytes."""

    asker: Asker
    compute: int
    context: int
    key: int
    amount: int
    slice: int
    priority: int
    state: int
    length: int
    digest: int


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a unit: a result, or a refusal (then without digest, length and cycles)."""

    asker: Asker
    status: ResultStatus | AckStatus
    digest: int = 0
    length: int = 0
    cycles: int = 0


@dataclass
class Launch:
    """The last launch of a context. `end`: how it ended, nothing while it waits or runs."""

    asker: Asker
    length: int
    left: int
    ran: int = 0
    end: ResultStatus | None = None
    untold: bool = False  # its end is to be said
    known: bool = True  # no other context has been created in the place of its own

    def answer(self) -> Said:
        """What is said of its end."""
        assert self.end is not None
        return Said(self.asker, self.end, self.left, self.length, self.ran)


@dataclass
class ContextState:
    """`last`: the answer of the last command, kept when the context is gone, as is the last launch."""

    alive: bool = False
    key: int = _EVERYBODY
    limit: int = 0
    held: int = 0
    slice: int = 0
    priority: int = 0
    state: int = 0
    run_time: int = 0
    switches: int = 0
    refused: int = 0
    last: Said | None = None
    unsaid: bool = False  # `last` is to be said
    launch: Launch | None = None

    @property
    def launched(self) -> bool:
        """Whether it has a launch that isn't over."""
        return self.launch is not None and self.launch.end is None


@dataclass
class Contexts:
    """All of one GPU, so `many`; `device_memory` in pages, as it is now."""

    device_memory: int
    many: int = wire.CONTEXTS
    all: list[ContextState] = field(init=False)
    energy: int = 0  # of the GPU, by now, and cycles that it has run
    busy: int = 0
    served: int = field(init=False)  # whose answer was taken last
    leaving: Launch | None = None  # its end is taken in this cycle

    def __post_init__(self) -> None:
        self.all = [ContextState(alive=number == 0) for number in range(self.many)]
        self.served = self.many - 1

    @property
    def held(self) -> int:
        """Pages that all of them hold."""
        return sum(c.held for c in self.all)

    # ------------------------------------------------------------------------------------------------- commands

    def carry_out(self, command: ContextCommand) -> AckStatus | None:
        """A refusal, where no context is concerned. Everything else is remembered in its context."""
        if command.context >= self.many:
            return AckStatus.NO_CONTEXT
        context = self.all[command.context]
        fits = command.key in (_EVERYBODY, context.key)
        if fits and self._again(context, command.asker):
            return None
        create = command.compute == Compute.CREATE.code
        if (fits or (create and not context.alive)) and _behind(command, context.last):
            return None
        if not create and not context.alive:
            return AckStatus.NO_CONTEXT
        if create and context.alive:
            return AckStatus.EXISTS
        if not create and not fits:
            return AckStatus.FOREIGN
        status, digest = self._done(context, command)
        context.refused += status not in (ResultStatus.DONE, ResultStatus.STARTED)
        context.last, context.unsaid = Said(command.asker, status, digest, command.length), True
        return None

    def _again(self, context: ContextState, asker: Asker) -> bool:
        """Whether it is the last command or the last launch once more; then what was said is said to whoever asks."""
        found = False
        if context.launch and context.launch.known and context.launch.asker.unit == asker.unit:
            context.launch.asker = asker
            context.launch.untold |= context.launch.end is not None
            found = True
        if context.last and context.last.asker.unit == asker.unit:
            context.last, context.unsaid = replace(context.last, asker=asker), True
            found = True
        return found

    def _done(self, context: ContextState, command: ContextCommand) -> tuple[ResultStatus, int]:
        """Status and digest of a command that reaches its context."""
        if command.compute == Compute.QUERY.code:
            return ResultStatus.DONE, self._told(context, command.amount)
        status = ResultStatus.INVALID
        if context is not self.all[0]:
            status = _DOING[command.compute](self, context, command)
        if command.compute == Compute.COPY.code:
            return status, command.digest
        return status, _pair(context.held, context.limit)

    def _told(self, context: ContextState, asked: int) -> int:
        """The digest of a query's answer."""
        launch = context.launch
        match asked:
            case Query.MEMORY.code:
                return _pair(context.held, context.limit)
            case Query.RUN_TIME.code:
                return context.run_time
            case Query.COUNTS.code:
                return _pair(context.switches, context.refused)
            case Query.LAUNCH.code:
                return _pair(context.launched, launch.left if launch and launch.known else 0)
            case Query.ENERGY.code:
                return self.energy
            case Query.BUSY.code:
                return self.busy
        return _pair(self.held, self.device_memory)

    def create(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """It is there, and holds nothing; what was said of the one before is still to be said."""
        context.alive, context.key, context.held = True, command.key, 0
        context.run_time = context.switches = context.refused = 0
        if context.launch:
            context.launch.known = False
        return self._given(context, command)

    def configure(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """Whoever manages the GPU says what a context may have, and nobody else."""
        return self._given(context, command) if command.key == _EVERYBODY else ResultStatus.INVALID

    def _given(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """Limit, slice, priority, state."""
        context.limit, context.slice = command.amount, command.slice
        context.priority, context.state = command.priority, command.state
        return ResultStatus.DONE

    def destroy(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """Memory is free, a launch is over, it is gone."""
        context.held, context.alive = 0, False
        return self.cancel(context, command)

    def allocate(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """All of them or none."""
        if context.held + command.amount > context.limit:
            return ResultStatus.OVER_LIMIT
        if command.amount > max(self.device_memory - self.held, 0):
            return ResultStatus.NO_MEMORY
        context.held += command.amount
        return ResultStatus.DONE

    def free(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """All of them or none."""
        if command.amount > context.held:
            return ResultStatus.INVALID
        context.held -= command.amount
        return ResultStatus.DONE

    def copy(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """To a page that it holds."""
        return ResultStatus.DONE if command.amount < context.held else ResultStatus.INVALID

    def do_launch(self, context: ContextState, command: ContextCommand) -> ResultStatus:
        """One at a time."""
        if context.launched or (context.launch and (context.launch.untold or context.launch is self.leaving)):
            return ResultStatus.RUNNING
        context.launch = Launch(command.asker, command.length, command.amount)
        return ResultStatus.STARTED

    def cancel(self, context: ContextState, _: ContextCommand) -> ResultStatus:
        """A launch that runs or waits is over."""
        if context.launched:
            over(context, ResultStatus.CANCELLED)
        return ResultStatus.DONE

    # -------------------------------------------------------------------------------------------------- answers

    def waiting(self) -> bool:
        """Whether there is anything to say."""
        return any(c.unsaid or (c.launch and c.launch.untold) for c in self.all)

    def take(self) -> Said:
        """The next answer: contexts say one each in turn, of its last command before of its launch."""
        for step in range(1, self.many + 1):
            number = (self.served + step) % self.many
            context = self.all[number]
            if context.unsaid and context.last:
                self.served, context.unsaid = number, False
                return context.last
            if context.launch and context.launch.untold:
                self.served, context.launch.untold, self.leaving = number, False, context.launch
                return context.launch.answer()
        raise LookupError("nothing is to be said")


_DOING: dict[int, Callable[[Contexts, ContextState, ContextCommand], ResultStatus]] = {
    Compute.CREATE.code: Contexts.create,
    Compute.DESTROY.code: Contexts.destroy,
    Compute.CONFIGURE.code: Contexts.configure,
    Compute.ALLOCATE.code: Contexts.allocate,
    Compute.FREE.code: Contexts.free,
    Compute.COPY.code: Contexts.copy,
    Compute.LAUNCH.code: Contexts.do_launch,
    Compute.CANCEL.code: Contexts.cancel,
}


def over(context: ContextState, end: ResultStatus) -> None:
    """Its launch is over."""
    assert context.launch is not None
    context.launch.end, context.launch.untold = end, True


def _behind(command: ContextCommand, last: Said | None) -> bool:
    """Whether a command is older than the last one, or has its number and another key."""
    return last is not None and (
        command.asker.unit == last.asker.unit or (command.asker.unit - last.asker.unit) % _WORD >= _BACK
    )


def _pair(upper: int, lower: int) -> int:
    return (upper % _WORD) << 32 | lower % _WORD
