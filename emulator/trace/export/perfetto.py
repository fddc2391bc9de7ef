"""Traces as Perfetto reads them (https://perfetto.dev): tracks in each other, slices, counters, and flows between them.

The numbers are those of the fields in its `perfetto_trace.proto`. Names stand in the file once and have numbers from
then on.
"""

from collections.abc import Mapping
from typing import BinaryIO

# Messages of Protocol Buffers, by field numbers: https://protobuf.dev/programming-guides/encoding.
_VARINT, _FIXED64, _BYTES = 0, 1, 2
_WORD = 1 << 64


def varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; a negative number has 64 bits."""
    value %= _WORD
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """A field that is a whole number, a truth value or of an enumeration."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A field of 8 bytes."""
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little")


def nested(field: int, value: bytes) -> bytes:
    """A field that is a message itself."""
    return varint(field << 3 | _BYTES) + varint(len(value)) + value


def text(field: int, value: str) -> bytes:
    """A field that is a text; what no UTF-8 can say, as half a character in a damaged file, is a question mark."""
    return nested(field, value.encode(errors="replace"))


_PACKET = 1
_TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _TRACK = 8, 10, 11, 12, 13, 60
_CLEARED, _NEEDED = 1, 2  # of _FLAGS: no names are known yet; names that were told before are used
_UUID, _NAME, _PARENT, _COUNTER, _CHILDREN, _RANK = 1, 2, 5, 8, 11, 12
_BY_RANK = 3  # of _CHILDREN
_ARGUMENT, _KIND, _NAMED, _AT_TRACK, _VALUE, _FLOW = 4, 9, 10, 11, 30, 47
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  # of _KIND
_ARGUMENT_NAMED, _TRUTH, _UNSIGNED, _SIGNED, _TEXT = 1, 2, 3, 4, 6
_EVENT_NAMES, _ARGUMENT_NAMES = 2, 3  # of _INTERNED
_ONLY = number(_SEQUENCE, 1)


class PerfettoWriter:
    """To a file that is written from its beginning. Times are nanoseconds, in any order. Raises OSError."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._tracks = file, 0
        self._names: dict[int, dict[str, int]] = {_EVENT_NAMES: {}, _ARGUMENT_NAMES: {}}
        self._packet(number(_FLAGS, _CLEARED))

    def track(self, name: str, parent: int = 0, *, counter: bool = False) -> int:
        """Its number, for what happens there and for tracks in it, which stand in the order in which they came."""
        self._tracks += 1
        about = number(_UUID, self._tracks) + text(_NAME, name) + number(_RANK, self._tracks)
        about += number(_PARENT, parent) if parent else b""
        about += nested(_COUNTER, b"") if counter else number(_CHILDREN, _BY_RANK)
        self._packet(nested(_TRACK, about))
        return self._tracks

    def event(
        self, kind: int, track: int, time: int, name: str, arguments: Mapping[str, object], flow: int | None = None
    ) -> None:
        """BEGIN or END of a slice, or an INSTANT; those of one `flow` are joined by arrows in the order of time."""
        new: list[bytes] = []
        said = number(_KIND, kind) + number(_AT_TRACK, track)
        said += number(_NAMED, self._number(_EVENT_NAMES, name, new)) if name else b""
        for key, value in arguments.items():
            about = number(_ARGUMENT_NAMED, self._number(_ARGUMENT_NAMES, key, new)) + _argument(value)
            said += nested(_ARGUMENT, about)
        said += b"" if flow is None else fixed64(_FLOW, flow)
        self._at(time, said, new)

    def count(self, track: int, time: int, value: int) -> None:
        """A counter is so much from now on."""
        self._at(time, number(_KIND, COUNTER) + number(_AT_TRACK, track) + number(_VALUE, value), [])

    def _number(self, table: int, name: str, new: list[bytes]) -> int:
        known = self._names[table]
        if name not in known:
            known[name] = len(known) + 1
            new.append(nested(table, number(1, known[name]) + text(2, name)))
        return known[name]

    def _at(self, time: int, said: bytes, new: list[bytes]) -> None:
        told = nested(_INTERNED, b"".join(new)) if new else b""
        self._packet(number(_TIMESTAMP, time) + number(_FLAGS, _NEEDED) + told + nested(_EVENT, said))

    def _packet(self, body: bytes) -> None:
        self._file.write(nested(_PACKET, _ONLY + body))


def _argument(value: object) -> bytes:
    if isinstance(value, bool):
        return number(_TRUTH, value)
    if isinstance(value, int):
        return number(_UNSIGNED if value >= 0 else _SIGNED, value)
    return text(_TEXT, str(value))
