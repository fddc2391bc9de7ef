"""What a captured packet begins with: where and when a message was seen, or something said, before the bytes.

Captures have link type 147 (`USER0`); Wireshark reads them by the dissector that `generate/lua.py` writes from these
definitions.
"""

from construct import Bytes, Const, Enum, FlagsEnum, Int8ub, Int16ub, Int64ub, Struct, this

from ringhil.protocol.enums import Bits, Coded

LINK_TYPE = 147
VERSION = 2
NOWHERE = 0xFFFF  # of an event: by the CPU, or of the file's timeline


class SeenAs(Coded):
    """The way of a message; or that it is none, but what firmware, CPU or timeline had to say, as JSON."""

    TO_FIRMWARE = "to_firmware", 0
    FROM_FIRMWARE = "from_firmware", 1
    TO_CPU = "to_cpu", 2
    FROM_CPU = "from_cpu", 3
    EVENT = "event", 4


class CaptureFlag(Bits):
    """What was found out about a packet."""

    BAD = 0x01  # it arrived damaged, or marked by an earlier hop
    WRONG_CRC = 0x02  # its end-to-end CRC is not that of its bytes, or it is no frame
    REJECTED = 0x04  # an event: a census has rejected a message, or a round


Header = Struct(
    "version" / Const(VERSION, Int8ub),
    "way" / Enum(Int8ub, **SeenAs.codes()),
    "port" / Int8ub,  # of the mailbox; to the CPU: the virtual channel (0 control, 1 data)
    "found" / FlagsEnum(Int8ub, **CaptureFlag.codes()),
    "card" / Int16ub,  # its number in the server
    "gpu" / Int16ub,
    "number" / Int64ub,  # of the message or event in the recording
    "cycle" / Int64ub,
    "names_length" / Int16ub,  # bytes
    "names" / Bytes(this.names_length),  # of all cards in the order of their numbers, with commas between them
)
