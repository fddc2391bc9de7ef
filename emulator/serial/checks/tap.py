"""A port of pyserial's with a tap: everything passes, and what has passed is known, byte for byte and decoded."""

from collections import deque
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from ringhil.emulator.serial.client import arrived, clock_of, line_gone
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import MessageError, decode
from ringhil.protocol.line.framing import Damaged, Unwrapper
from ringhil.protocol.line.management import Refusal, Type
from ringhil.protocol.line.messages import BY_TYPE, RefusedReply

_REMEMBERED = 64  # messages sent
_PIECE = 256  # bytes written at a time
_MOST_BYTES = 1 << 22  # kept of what has come, since it was last forgotten

Heard = m.Message | Damaged
_BYTES = 16  # of a field of bytes
_MESSAGES = 4
_NAMES = {BY_TYPE[kind.code]: str(kind) for kind in Type}


class Tap:
    """`came`: messages, and what is none, since `forget`; `raw`: their bytes. `sent`: the last messages to the card,
    the latest last. `said`: bytes to the card since `forget`; `bytes_sent`, `bytes_came`: since it was made."""

    def __init__(self, line: Any) -> None:
        self._line = line
        self._in, self._out = Unwrapper(), Unwrapper()
        self.came: list[Heard] = []
        self.raw = bytearray()
        self.sent: deque[Heard] = deque(maxlen=_REMEMBERED)
        self.timeout: float | None = line.timeout  # seconds for which `read` waits
        self._unread = b""
        self.said = self.bytes_sent = self.bytes_came = 0
        self.monotonic = clock_of(line)
        self.idle: Callable[[float], None] | None = getattr(line, "idle", None)

    def forget(self) -> None:
        """Forgets what has come so far."""
        self.came.clear()
        self.raw.clear()
        self.said = 0

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        return len(self._unread) or int(self._line.in_waiting)

    def read(self, size: int = 1) -> bytes:
        """Does as pyserial."""
        if not self._unread:
            self._unread = self._arrived(self.timeout or 0.0)
        data, self._unread = self._unread[:size], self._unread[size:]
        return data

    def _arrived(self, seconds: float) -> bytes:
        data = arrived(self._line, seconds)
        self.bytes_came += len(data)
        if len(self.raw) + len(data) > _MOST_BYTES:
            self.came.clear()
            self.raw.clear()
        self.raw += data
        self.came += [_decoded(each) for each in self._in.feed(data)]
        return data

    def write(self, data: bytes) -> int:
        """Does as pyserial."""
        self.said += len(data)
        self.bytes_sent += len(data)
        self.sent += [_decoded(each) for each in self._out.feed(data)]
        for at in range(0, len(data), _PIECE):  # a port's timeout for writing is one for each
            self._line.write(data[at : at + _PIECE])
        return len(data)

    def hear(self, seconds: float) -> bool:
        """Read what comes within that time, past any client; whether anything has. Raises CardError when the line is
        gone."""
        self._unread = b""
        return bool(self._arrived(seconds))

    def say(self, data: bytes) -> None:
        """Writes all of `data`. Raises CardError when the line is gone."""
        with line_gone():
            self.write(data)


def _decoded(found: bytes | Damaged) -> Heard:
    if isinstance(found, Damaged):
        return found
    try:
        return decode(found)
    except MessageError as error:
        return Damaged(found, f"is no message: {error}")


def shown(message: Heard) -> str:
    """Returns a message as `read_reply(id=5, value=3, now=9)`."""
    if isinstance(message, Damaged):
        return f"{_bytes(message.data)}, which {message.why}"
    values = (f"{field.name}={_value(message, field.name)}" for field in fields(message))
    return f"{_NAMES[type(message)]}({', '.join(values)})"


def all_shown(messages: "list[Heard]") -> str:
    """Returns the first of several messages, or `nothing`."""
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
