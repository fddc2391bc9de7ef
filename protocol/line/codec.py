"""Messages to bytes and back, fast: struct formats generated from the construct definitions of `management.py`.

The only error that leaves this module for bad bytes or values is `MessageError`. What `decode` accepts, `encode` builds
again; enumerations and flags are whole numbers here, whatever their value.
"""

import struct
from dataclasses import fields
from operator import attrgetter
from typing import Any

from ringhil.protocol.line.framing import LONGEST
from ringhil.protocol.line.messages import BY_TYPE, Message

_WORD = 8  # bytes


class MessageError(ValueError):
    """These bytes are no message, or these values fit in none; the text says why."""


def _fixed_names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls) if field.name != cls.TAIL)


_NAMES = {cls: _fixed_names(cls) for cls in BY_TYPE.values()}
_VALUES = {cls: attrgetter(*names) if len(names) > 1 else None for cls, names in _NAMES.items()}
_IN_WORDS = frozenset(cls for cls in BY_TYPE.values() if cls.TAIL == "members")


def title(cls: type[Any]) -> str:
    """A message's name in errors."""
    return str(cls.__name__)


def encode(message: Message) -> bytes:
    """The bytes of a message, without framing. Raises MessageError when a value doesn't fit its field."""
    cls: Any = type(message)
    values = _VALUES[cls]
    numbers = (message.id,) if values is None else values(message)
    try:
        fixed = cls.FIXED.pack(cls.TYPE, *numbers)
    except struct.error:
        raise _misfit(cls, numbers) from None
    if not cls.TAIL:
        return bytes(fixed)
    tail = getattr(message, cls.TAIL)
    if cls in _IN_WORDS:
        try:
            tail = struct.pack(f">{len(tail)}Q", *tail)
        except struct.error:
            raise MessageError(f"{title(cls)}: {cls.TAIL} must be words of 64 bits") from None
    if len(fixed) + len(tail) > LONGEST:
        raise MessageError(f"{title(cls)}: {len(fixed) + len(tail)} bytes; allowed are {LONGEST}")
    return bytes(fixed) + bytes(tail)


def decode(data: bytes) -> Message:
    """The message in `data`. Raises MessageError on anything that is none."""
    cls: Any = BY_TYPE.get(data[0]) if data else None
    if cls is None:
        raise MessageError(f"type 0x{data[0]:02X} is not known" if data else "no type")
    size = cls.FIXED.size
    if len(data) < size or (len(data) > size and not cls.TAIL):
        allowed = f"at least {size}" if cls.TAIL else str(size)
        raise MessageError(f"{title(cls)}: {len(data)} bytes; allowed are {allowed}")
    _, *numbers = cls.FIXED.unpack_from(data)
    if not cls.TAIL:
        found: Message = cls(*numbers)
        return found
    tail = data[size:]
    if cls not in _IN_WORDS:
        return cls(*numbers, bytes(tail))  # type: ignore[no-any-return]
    if len(tail) % _WORD:
        raise MessageError(f"{title(cls)}: {len(tail)} bytes of {cls.TAIL}; allowed are whole words of {_WORD}")
    return cls(*numbers, struct.unpack(f">{len(tail) // _WORD}Q", tail))  # type: ignore[no-any-return]


def _misfit(cls: Any, numbers: tuple[object, ...]) -> MessageError:
    for name, code, value in zip(_NAMES[cls], cls.FIXED.format[2:], numbers, strict=True):
        try:
            struct.pack(f">{code}", value)
        except struct.error:
            limit = 256 ** struct.calcsize(f">{code}") - 1
            return MessageError(f"{title(cls)}: {name} = {value!r}; allowed are whole numbers from 0 to {limit}")
    raise AssertionError("every value fits")
