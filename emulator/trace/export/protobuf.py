"""Messages of Protocol Buffers, written by field numbers: https://protobuf.dev/programming-guides/encoding."""

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
