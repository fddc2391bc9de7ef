"""Messages in words, for a line that people read."""

from dataclasses import fields
from typing import Any

from ringhil.emulator.serial.checks.tap import Heard
from ringhil.protocol.line.framing import Damaged
from ringhil.protocol.line.management import Refusal, Type
from ringhil.protocol.line.messages import BY_TYPE, RefusedReply

_BYTES = 16  # of a field of bytes
_MESSAGES = 4
_NAMES = {BY_TYPE[kind.code]: str(kind) for kind in Type}


def shown(message: Heard) -> str:
    """`read_reply(id=5, value=3, now=9)`."""
    if isinstance(message, Damaged):
        return f"{_bytes(message.data)}, which {message.why}"
    values = (f"{field.name}={_value(message, field.name)}" for field in fields(message))
    return f"{_NAMES[type(message)]}({', '.join(values)})"


def all_shown(messages: "list[Heard]") -> str:
    """Several, the first ones; `nothing`."""
    more = f" and {len(messages) - _MESSAGES} more" if len(messages) > _MESSAGES else ""
    return ", ".join(map(shown, messages[:_MESSAGES])) + more or "nothing"


def _value(message: Any, name: str) -> str:
    value = getattr(message, name)
    if isinstance(message, RefusedReply) and name == "why":
        return _reason(value)
    if name in ("text", "name"):
        return repr(value[: 4 * _BYTES].decode(errors="replace"))
    return _bytes(value) if isinstance(value, bytes) else str(value)


def _reason(code: int) -> str:
    try:
        return str(Refusal.of(code))
    except ValueError:
        return str(code)


def _bytes(data: bytes) -> str:
    rest = f".. ({len(data)} bytes)" if len(data) > _BYTES else ""
    return (data[:_BYTES].hex(" ") or "no bytes") + rest
