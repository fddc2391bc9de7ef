"""Messages of a management port to bytes and back, fast, without framing.

What `decode` accepts, `encode` builds again; enumerations and flags are whole numbers here, whatever their value.
"""

from ringhil.protocol.line.messages import BY_TYPE, Message
from ringhil.protocol.line.packing import MessageError, of_bytes, to_bytes

__all__ = ["MessageError", "decode", "encode"]


def encode(message: Message) -> bytes:
    """The bytes of a message. Raises MessageError when a value doesn't fit its field."""
    return to_bytes(message)


def decode(data: bytes) -> Message:
    """The message in `data`. Raises MessageError on anything that is none."""
    found: Message = of_bytes(data, BY_TYPE)
    return found
