"""Generated messages to bytes and back, of whichever table: struct formats, and a tail of any length.

The only error that leaves this module for bad bytes or values is `MessageError`. Enumerations and flags are whole
numbers here, whatever their value.
"""

import struct
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from ringhil.protocol.line.framing import LONGEST

_WORD = 8  # bytes


class MessageError(ValueError):
    """These bytes are no message, or these values fit in none; the text says why."""


@cache
def _names(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls) if field.name != cls.TAIL)


@cache
def _values(cls: Any) -> Any:
    names = _names(cls)
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda message: (getattr(message, names[0]),)) if names else lambda message: ()


def to_bytes(message: object) -> bytes:
    """The bytes of a message, without framing. Raises MessageError when a value doesn't fit its field."""
    cls: Any = type(message)
    numbers = _values(cls)(message)
    try:
        fixed = bytes(cls.FIXED.pack(cls.TYPE, *numbers))
    except struct.error:
        raise _misfit(cls, numbers) from None
    if not cls.TAIL:
        return fixed
    tail = getattr(message, cls.TAIL)
    if cls.IN_WORDS:
        try:
            tail = struct.pack(f">{len(tail)}Q", *tail)
        except struct.error:
            raise MessageError(f"{cls.__name__}: {cls.TAIL} must be words of 64 bits") from None
    if len(fixed) + len(tail) > LONGEST:
        raise MessageError(f"{cls.__name__}: {len(fixed) + len(tail)} bytes; allowed are {LONGEST}")
    return fixed + bytes(tail)


def of_bytes(data: bytes, by_type: Mapping[int, Any]) -> Any:
    """The message in `data`, of a class of `by_type`. Raises MessageError on anything that is none."""
    cls = by_type.get(data[0]) if data else None
    if cls is None:
        raise MessageError(f"type 0x{data[0]:02X} is not known" if data else "no type")
    size = cls.FIXED.size
    if len(data) < size or (len(data) > size and not cls.TAIL):
        allowed = f"at least {size}" if cls.TAIL else str(size)
        raise MessageError(f"{cls.__name__}: {len(data)} bytes; allowed are {allowed}")
    _, *numbers = cls.FIXED.unpack_from(data)
    if not cls.TAIL:
        return cls(*numbers)
    tail = data[size:]
    if not cls.IN_WORDS:
        return cls(*numbers, bytes(tail))
    if len(tail) % _WORD:
        raise MessageError(f"{cls.__name__}: {len(tail)} bytes of {cls.TAIL}; allowed are whole words of {_WORD}")
    return cls(*numbers, struct.unpack(f">{len(tail) // _WORD}Q", tail))


def _misfit(cls: Any, numbers: tuple[object, ...]) -> MessageError:
    for name, code, value in zip(_names(cls), cls.FIXED.format[2:], numbers, strict=True):
        try:
            struct.pack(f">{code}", value)
        except struct.error:
            limit = 256 ** struct.calcsize(f">{code}") - 1
            return MessageError(f"{cls.__name__}: {name} = {value!r}; allowed are whole numbers from 0 to {limit}")
    raise AssertionError("every value fits")
