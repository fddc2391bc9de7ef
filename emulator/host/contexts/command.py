"""What is asked of a context of a GPU, and what comes of it. The fields: docs/reference/contexts.md."""

from dataclasses import dataclass

from ringhil.protocol import wire
from ringhil.protocol.frames import Acknowledgement, Result
from ringhil.protocol.wire import AckStatus, Compute, ResultStatus

_STATUS = {status.code: status for status in ResultStatus}
_REASON = {reason.code: reason for reason in AckStatus}
_HALF = 32
_LOW = (1 << _HALF) - 1


Gpu = tuple[int, int]  # card and number


@dataclass(frozen=True, slots=True)
class ContextRef:
    """A context of a GPU: `card` by its number."""

    card: int
    gpu: int
    context: int

    @property
    def on(self) -> Gpu:
        """The GPU that has it."""
        return self.card, self.gpu


@dataclass(frozen=True, slots=True)
class Command:
    """`amount` is in pages or cycles; `slice` and `state` in cycles; `data`: what a copy brings."""

    compute: Compute
    key: int
    amount: int = 0
    slice: int = 0
    priority: int = 0
    state: int = 0
    data: bytes = b""

    def payload(self) -> bytes:
        """What goes to the GPU."""
        head = wire.Command.build(
            {
                "key": self.key,
                "amount": self.amount,
                "slice": self.slice,
                "priority": self.priority,
                "state": self.state,
            }
        )
        return bytes(head) + self.data


@dataclass(frozen=True, slots=True)
class Reply:
    """`status`: a context's, or why none was reached; None: the GPU is gone, or nobody knows what became of it.
    `cycles`: what a launch had of the engine."""

    status: ResultStatus | AckStatus | None
    digest: int = 0
    cycles: int = 0

    @property
    def done(self) -> bool:
        """It was carried out."""
        return self.status is ResultStatus.DONE

    @property
    def high(self) -> int:
        """The upper half of the digest: pages that the context holds, say."""
        return self.digest >> _HALF

    @property
    def low(self) -> int:
        """The lower half: the context's limit, say."""
        return self.digest & _LOW


LOST = Reply(None)


def answer_of(message: Result | Acknowledgement) -> Reply:
    """What a GPU has answered. Raises KeyError for a status that doesn't exist."""
    if isinstance(message, Result):
        return Reply(_STATUS[message.status], message.digest, message.cycles)
    return Reply(_REASON[message.status])


def unit_of(number: int) -> int:
    """The number on the wire of the command `number`, 0 and up."""
    return wire.FIRST_COMMAND | number


def is_command(unit: int) -> bool:
    """Whether a unit's number is a command's, and not that of plain work."""
    return unit >= wire.FIRST_COMMAND
