"""Messages on a stream of bytes that may lose, double or change any of them.

A message is encoded by COBS (Consistent Overhead Byte Stuffing), so that no byte of it is zero, and stands between two
zero bytes. Whatever has gone before, the next zero begins afresh: damage costs the messages that it touches, and no
other. A CRC-32/AUTOSAR over the message is its last 4 bytes, most significant byte first.

    00 | COBS(message, CRC) | 00
"""

from dataclasses import dataclass

from cobs import cobs

from ringhil.protocol import crc, wire

DELIMITER = b"\0"
CRC_BYTES = 4
# Bytes of a message without its CRC: any frame, and what is said of it.
LONGEST = 64 + wire.MAX_FRAME_FLITS * wire.FLIT_BYTES
_LONGEST_ENCODED = int(cobs.max_encoded_length(LONGEST + CRC_BYTES))


@dataclass(frozen=True, slots=True)
class Damaged:
    """What stood between two zero bytes and is no message: `data`, as it came, without what is beyond the longest
    message; `why`, the end of a sentence that begins with it."""

    data: bytes
    why: str


def wrap(message: bytes) -> bytes:
    """The bytes that carry `message`. Raises ValueError when it is longer than `LONGEST`."""
    if len(message) > LONGEST:
        raise ValueError(f"a message of {len(message)} bytes; allowed are {LONGEST}")
    return DELIMITER + bytes(cobs.encode(message + crc.crc32(message).to_bytes(CRC_BYTES, "big"))) + DELIMITER


class Unwrapper:
    """Finds messages in a stream. Holds no more than one of them, however much comes."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._beyond = 0  # bytes of it that were not kept

    def feed(self, data: bytes) -> list[bytes | Damaged]:
        """The messages that end in `data`, and what is none, in the order in which they came."""
        found: list[bytes | Damaged] = []
        *ended, begun = data.split(DELIMITER)
        for part in ended:
            self._keep(part)
            message = self._ended()
            if message is not None:
                found.append(message)
        self._keep(begun)
        return found

    def _keep(self, part: bytes) -> None:
        room = _LONGEST_ENCODED - len(self._begun)
        self._begun += part[:room]
        self._beyond += max(0, len(part) - room)

    def _ended(self) -> bytes | Damaged | None:
        encoded, beyond = bytes(self._begun), self._beyond
        self._begun.clear()
        self._beyond = 0
        if not encoded:
            return None
        if beyond:
            return Damaged(encoded, f"is longer than the longest message by {beyond} bytes")
        try:
            decoded = bytes(cobs.decode(encoded))
        except cobs.DecodeError:
            return Damaged(encoded, "is not COBS")
        message, sum_ = decoded[:-CRC_BYTES], decoded[-CRC_BYTES:]
        if not message:
            return Damaged(encoded, f"has {len(decoded)} bytes, too short for a message")
        if crc.crc32(message).to_bytes(CRC_BYTES, "big") != sum_:
            return Damaged(encoded, "has a wrong CRC")
        if len(message) > LONGEST:
            return Damaged(encoded, "is longer than the longest message")
        return message
