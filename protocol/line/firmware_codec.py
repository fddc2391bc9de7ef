"""Messages of the firmware loop to bytes and back, without framing; and the actions that an answer holds."""

from collections.abc import Iterable

from ringhil.protocol.line.firmware_loop import ACTIONS
from ringhil.protocol.line.firmware_messages import BY_TYPE, Message
from ringhil.protocol.line.packing import MessageError, of_bytes, to_bytes

_LENGTH = 2  # bytes of an action's length
_ACTIONS = {kind.code for kind in ACTIONS}
_OF_ACTIONS = {code: cls for code, cls in BY_TYPE.items() if code in _ACTIONS}
_OF_MESSAGES = {code: cls for code, cls in BY_TYPE.items() if code not in _ACTIONS}
_AT_A_CYCLE = {code for code, cls in _OF_MESSAGES.items() if hasattr(cls, "now")}
_NOW = slice(3, 11)  # bytes of those


def encode(message: Message) -> bytes:
    """The bytes of a message. Raises MessageError when a value doesn't fit its field."""
    return to_bytes(message)


def decode(data: bytes) -> Message:
    """The message in `data`. Raises MessageError on anything that is none; an action by itself is none."""
    found: Message = of_bytes(data, _OF_MESSAGES)
    return found


def cycle_of(request: bytes) -> int | None:
    """The cycle in which the GPU is asked that. None: it is told who it is, and no time has begun."""
    return int.from_bytes(request[_NOW], "big") if request[0] in _AT_A_CYCLE else None


def joined(actions: Iterable[Message]) -> bytes:
    """The field `actions` of an answer. Raises MessageError."""
    each = [to_bytes(action) for action in actions]
    return b"".join(len(data).to_bytes(_LENGTH, "big") + data for data in each)


def taken_apart(actions: bytes) -> list[Message]:
    """The actions of an answer. Raises MessageError."""
    found, at = list[Message](), 0
    while at < len(actions):
        length = int.from_bytes(actions[at : at + _LENGTH], "big")
        at += _LENGTH
        if len(actions) < at + length:
            raise MessageError(f"action {len(found) + 1}: {max(0, len(actions) - at)} bytes of {length}")
        found.append(of_bytes(actions[at : at + length], _OF_ACTIONS))
        at += length
    return found
