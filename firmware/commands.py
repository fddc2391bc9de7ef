"""What firmware can ask for: frames to send, timers to set, registers to write. Whoever runs it carries them out."""

from ringhil.protocol.frames import Election, Keepalive
from ringhil.protocol.values import value
from ringhil.protocol.wire import Port


@value(frozen=True, slots=True)
class Send:
    """Send a frame (wire bytes) by a port of the mailbox."""

    port: Port
    frame: bytes


@value(frozen=True, slots=True)
class Tell:
    """Send a message by a port of the mailbox; whoever carries it out encodes it."""

    port: Port
    message: Keepalive | Election


@value(frozen=True, slots=True)
class SetTimer:
    """Call back with this name after `delay` cycles; a timer of the same name is replaced."""

    name: str
    delay: int


@value(frozen=True, slots=True)
class CancelTimer:
    """Forget the timer of this name."""

    name: str


@value(frozen=True, slots=True)
class Write:
    """Write a register of this GPU's node (`protocol.registers`)."""

    register: str
    value: int


@value(frozen=True, slots=True)
class Remember:
    """Keep this epoch where a crash of the GPU does not reach it, before any later action is carried out."""

    epoch: int


Command = Send | Tell | SetTimer | CancelTimer | Write | Remember
