"""The management port of a card, as `construct` definitions: the one source of truth.

A client sends requests; the card answers each with the reply of its type, or with `refused`, under the same `id`.
Events come unasked, from when they are subscribed to. All numbers are unsigned, most significant byte first. A message
begins

    type 8 | id 16

and may end with one field of any length, which reaches to the end of the message. `id` is the client's to choose, and 0
in an event. Times are cycles of the ring's clock since power-up.

A later minor version only adds types, kinds of events, and fields at the end of the fixed part of `hello_reply`; a
later major version keeps `hello` and the first three bytes of `hello_reply`'s body as they are.
"""

from construct import Const, Enum, FlagsEnum, GreedyBytes, GreedyRange, Int8ub, Int16ub, Int32ub, Int64ub, Struct

from ringhil.protocol.enums import Bits, Coded
from ringhil.protocol.registers import FaultBit
from ringhil.protocol.wire import CensusVerdict, Port, Role

MAJOR, MINOR = 1, 1
KEPT = 64  # requests whose answers a card keeps, in case that they are asked again
COUNTING = 8  # censuses that may be under way for a client
REPLY = 0x80  # in the type of a reply, beside that of its request


class Type(Coded):
    """What a message is."""

    HELLO = "hello", 0x01
    TIME = "time", 0x02
    READ = "read", 0x03
    WRITE = "write", 0x04
    CENSUS = "census", 0x05
    LAST_CENSUS = "last_census", 0x06
    SEND = "send", 0x07
    SUBSCRIBE = "subscribe", 0x08
    INJECT = "inject", 0x09
    LINE = "line", 0x0A
    CLIENT_CONTEXT = "client_context", 0x0B
    FREE_CONTEXT = "free_context", 0x0C
    KEEP_CONTEXTS = "keep_contexts", 0x0D
    FRAME_EVENT = "frame_event", 0x41
    ROLE_EVENT = "role_event", 0x42
    COUNT_EVENT = "count_event", 0x43
    FAULT_EVENT = "fault_event", 0x44
    MISSED_EVENT = "missed_event", 0x45
    HELLO_REPLY = "hello_reply", REPLY | 0x01
    TIME_REPLY = "time_reply", REPLY | 0x02
    READ_REPLY = "read_reply", REPLY | 0x03
    WRITE_REPLY = "write_reply", REPLY | 0x04
    CENSUS_REPLY = "census_reply", REPLY | 0x05
    LAST_CENSUS_REPLY = "last_census_reply", REPLY | 0x06
    SEND_REPLY = "send_reply", REPLY | 0x07
    SUBSCRIBE_REPLY = "subscribe_reply", REPLY | 0x08
    INJECT_REPLY = "inject_reply", REPLY | 0x09
    LINE_REPLY = "line_reply", REPLY | 0x0A
    CLIENT_CONTEXT_REPLY = "client_context_reply", REPLY | 0x0B
    FREE_CONTEXT_REPLY = "free_context_reply", REPLY | 0x0C
    KEEP_CONTEXTS_REPLY = "keep_contexts_reply", REPLY | 0x0D
    REFUSED = "refused", 0xFF


class Capability(Bits):
    """What a card can do beyond reading and writing."""

    CENSUS = 0x0001, "begins a census when asked to"
    SEND = 0x0002, "sends frames into the ring"
    EVENTS = 0x0004, "tells of events"
    FAULTS = 0x0008, "injects faults: an emulated card"
    PACED = 0x0010, "its cycles keep to `clock`; otherwise they pass as fast as they can"
    CONTEXTS = 0x0020, "knows whose contexts are, and destroys those of a client that goes"


class EventKind(Bits):
    """Kinds of events, to be subscribed to."""

    FRAMES = 0x0001, "that firmware and CPU take and send"
    ROLES = 0x0002, "a GPU is elected, or deposed"
    COUNTS = 0x0004, "a census is accepted"
    FAULTS = 0x0008, "a fault is set or cleared"
    ANSWERS = 0x0010, "those of the frames that answer commands to contexts of GPUs"


class Refusal(Coded):
    """Why a request is refused."""

    UNKNOWN_TYPE = "unknown_type", 1, "of request"
    BAD_LENGTH = "bad_length", 2, "of the request"
    NO_SUCH_GPU = "no_such_gpu", 3, "in this ring"
    NO_SUCH_REGISTER = "no_such_register", 4, "in the map"
    READ_ONLY = "read_only", 5, "register"
    BAD_VALUE = "bad_value", 6, "of a field"
    NO_ENTRY_GPU = "no_entry_gpu", 7, "nobody could do it, or this GPU is not the one"
    NOT_COUNTED = "not_counted", 8, "no census has been accepted yet, or the one asked for was not"
    CANNOT = "cannot", 9, "the card lacks the capability"
    BUSY = "busy", 10, "too much is under way"


class Way(Coded):
    """Which way a frame went, at a GPU."""

    TO_FIRMWARE = "to_firmware", 0, "its firmware takes it from its mailbox"
    FROM_FIRMWARE = "from_firmware", 1, "its firmware sends it"
    TO_CPU = "to_cpu", 2, "the CPU is brought it"
    FROM_CPU = "from_cpu", 3, "the CPU sends it"


class LineFault(Coded):
    """Faults that a card can inject. Those of links strike the link from the GPU clockwise."""

    DEAD = "dead", 1, FaultBit.DEAD.doc
    HANG = "hang", 2, FaultBit.HANG.doc
    CORRUPT = "corrupt", 3, FaultBit.CORRUPT.doc
    SKIP_COUNT = "skip_count", 4, FaultBit.SKIP_COUNT.doc
    DOUBLE_COUNT = "double_count", 5, FaultBit.DOUBLE_COUNT.doc
    BABBLE = "babble", 6, FaultBit.BABBLE.doc
    DUPLICATE_ID = "duplicate_id", 7, FaultBit.DUPLICATE_ID.doc
    SLOW = "slow", 8, FaultBit.SLOW.doc
    SWITCH_STUCK_THROUGH = "switch_stuck_through", 9, FaultBit.SWITCH_STUCK_THROUGH.doc
    SWITCH_STUCK_BYPASS = "switch_stuck_bypass", 10, FaultBit.SWITCH_STUCK_BYPASS.doc
    KEEPALIVE_LOSS = "keepalive_loss", 11, f"{FaultBit.KEEPALIVE_LOSS.doc}; value: rounds of them, 0: all"
    FLAP = "flap", 12, "it fails and recovers; value: cycles from one to the next"
    HOST_LINK_CUT = "host_link_cut", 13, "its link to the CPU carries nothing"
    LINK_CUT = "link_cut", 32, "it carries nothing"
    LINK_ONE_WAY = "link_one_way", 33, "it carries nothing clockwise"
    LINK_BIT_ERRORS = "link_bit_errors", 34, "bits are flipped; value: flits of 65,536"
    LINK_DELAY = "link_delay", 35, "it is slow; value: cycles that each flit takes longer"


class Belongs(Coded):
    """To whom a context belongs that a client has created."""

    CONNECTED = "connected", 0, "to its client: it is destroyed when that goes"
    KEPT = "kept", 1, "to its client, which is there: it stays when that goes"
    LEFT = "left", 2, "to nobody: its client has gone"
    UNREACHED = "unreached", 3, "its GPU isn't counted: it is gone, or only cut off"


class Injection(Coded):
    """What becomes of a fault."""

    CLEAR = "clear", 0, "it is ended"
    SET = "set", 1, "it begins"


def _message(kind: Type, *fields: object) -> Struct:
    return Struct("type" / Const(kind.code, Int8ub), "id" / Int16ub, *fields)


_GPU = "gpu" / Int16ub * "number in its ring"
_NOW = "now" / Int64ub * "cycle in which it was done"

_CENSUS = (
    "epoch" / Int32ub * "of the entry GPU that counted",
    "sequence" / Int32ub * "number of the round",
    "entry" / Int16ub * "number of the GPU that counted",
    "count" / Int16ub * "GPUs that work",
    "size" / Int16ub * "GPUs wired into the ring",
    "verdict" / Enum(Int8ub, **CensusVerdict.codes()) * "how the count came about",
    "break_after" / Int16ub * "verdict arms: last GPU of the clockwise arm; 0xFFFF: otherwise, or not known",
    "break_before" / Int16ub * "verdict arms: last GPU of the counter-clockwise arm; 0xFFFF: otherwise, or not known",
    "sent_at" / Int64ub * "cycle in which its first message left",
    "counted_at" / Int64ub * "cycle in which it was accepted",
    "accepted" / Int32ub * "censuses since power-up, this one included",
    "rejected" / Int32ub * "messages and rounds that this entry GPU has rejected since it was elected",
    "members" / GreedyRange(Int64ub) * "words; bit i%64 of word i//64: GPU i is counted. Nothing: not known",
)

_FAULT = (
    "injection" / Enum(Int8ub, **Injection.codes()) * "begin or end",
    "fault" / Enum(Int8ub, **LineFault.codes()) * "which",
    "gpu" / Int16ub * "number in its ring; of a link: of the GPU from which it leads clockwise",
    "value" / Int32ub * "of its parameter: see [faults](#faults); 0: its default, or it has none, and to end it",
)

MESSAGES = {
    Type.HELLO: _message(
        Type.HELLO,
        "major" / Int8ub * "of the protocol's version",
        "minor" / Int8ub * "of the protocol's version",
        "name" / GreedyBytes * "of the client, UTF-8, at most 64 bytes",
    ),
    Type.HELLO_REPLY: _message(
        Type.HELLO_REPLY,
        "major" / Int8ub * "of the protocol's version",
        "minor" / Int8ub * "of the protocol's version",
        "card" / Int8ub * "number in its server",
        "gpus" / Int16ub * "in its ring",
        "capabilities" / FlagsEnum(Int16ub, **Capability.codes()) * "what it can do",
        "longest" / Int16ub * "bytes of the longest message that it takes",
        "clock" / Int32ub * "of the ring, Hz; 0: not known",
        "serial" / Int64ub * "serial number; 0: none",
        _NOW,
        "name" / GreedyBytes * "of the card, UTF-8: what stands before the dot in `a.3`",
    ),
    Type.TIME: _message(Type.TIME),
    Type.TIME_REPLY: _message(Type.TIME_REPLY, _NOW),
    Type.READ: _message(Type.READ, _GPU, "address" / Int8ub * "of a register"),
    Type.READ_REPLY: _message(Type.READ_REPLY, "value" / Int32ub * "of the register", _NOW),
    Type.WRITE: _message(Type.WRITE, _GPU, "address" / Int8ub * "of a register", "value" / Int32ub * "for it"),
    Type.WRITE_REPLY: _message(Type.WRITE_REPLY, "now" / Int64ub * "cycle from which on it holds: a read shows it"),
    Type.CENSUS: _message(Type.CENSUS),
    Type.CENSUS_REPLY: _message(Type.CENSUS_REPLY, *_CENSUS),
    Type.LAST_CENSUS: _message(Type.LAST_CENSUS),
    Type.LAST_CENSUS_REPLY: _message(Type.LAST_CENSUS_REPLY, *_CENSUS),
    Type.SEND: _message(
        Type.SEND,
        _GPU,
        "port" / Enum(Int8ub, **Port.codes()) * "of its mailbox",
        "frame"
        / GreedyBytes
        * "whole; its link CRC is written anew. It goes out as if the GPU's firmware sent it, a command as the CPU's",
    ),
    Type.SEND_REPLY: _message(Type.SEND_REPLY, _NOW),
    Type.SUBSCRIBE: _message(
        Type.SUBSCRIBE, "events" / FlagsEnum(Int16ub, **EventKind.codes()) * "the kinds, from now on"
    ),
    Type.SUBSCRIBE_REPLY: _message(
        Type.SUBSCRIBE_REPLY, "events" / FlagsEnum(Int16ub, **EventKind.codes()) * "as asked", _NOW
    ),
    Type.INJECT: _message(Type.INJECT, *_FAULT),
    Type.INJECT_REPLY: _message(Type.INJECT_REPLY, _NOW),
    Type.LINE: _message(Type.LINE),
    Type.LINE_REPLY: _message(
        Type.LINE_REPLY,
        "received" / Int64ub * "bytes of this client, as the card sees it; so are all of these",
        "sent" / Int64ub * "bytes to this client",
        "requests" / Int32ub * "that came whole",
        "damaged" / Int32ub * "what came and was no message",
        "refused" / Int32ub * "of these",
        "events" / Int32ub * "that were sent",
        "missed" / Int32ub * "events that were not sent, as the client didn't read",
    ),
    Type.CLIENT_CONTEXT: _message(
        Type.CLIENT_CONTEXT, "index" / Int16ub * "from 0, of the contexts that clients have created, by GPU and number"
    ),
    Type.CLIENT_CONTEXT_REPLY: _message(
        Type.CLIENT_CONTEXT_REPLY,
        "number" / Int16ub * "of such contexts; where `index` isn't below it, all further fields are 0",
        _GPU,
        "context" / Int8ub * "number in its GPU",
        "belongs" / Enum(Int8ub, **Belongs.codes()) * "to whom",
        "client" / Int32ub * "that created it: of the server, those that create contexts are numbered from 1",
        "held" / Int32ub * "pages that it holds",
        "limit" / Int32ub * "pages that it may hold",
        "name" / GreedyBytes * "of the client, as it said hello",
    ),
    Type.FREE_CONTEXT: _message(
        Type.FREE_CONTEXT, _GPU, "context" / Int8ub * "number in its GPU, of one that a client has created"
    ),
    Type.FREE_CONTEXT_REPLY: _message(Type.FREE_CONTEXT_REPLY, "now" / Int64ub * "cycle in which it was gone"),
    Type.KEEP_CONTEXTS: _message(
        Type.KEEP_CONTEXTS,
        "keep" / Int8ub * "1: contexts of this client, those to come as well, stay when it goes; 0: they don't",
    ),
    Type.KEEP_CONTEXTS_REPLY: _message(Type.KEEP_CONTEXTS_REPLY, _NOW),
    Type.FRAME_EVENT: _message(
        Type.FRAME_EVENT,
        _GPU,
        "port" / Int8ub * "of the mailbox; to the CPU the virtual channel, from the CPU 0",
        "way" / Enum(Int8ub, **Way.codes()) * "who has it, or sends it",
        "bad" / Int8ub * "1: it arrived damaged",
        "cycle" / Int64ub * "in which",
        "frame"
        / GreedyBytes
        * "whole; of what firmware takes the link CRC is that from before its TTL was counted down",
    ),
    Type.ROLE_EVENT: _message(
        Type.ROLE_EVENT,
        _GPU,
        "role" / Enum(Int8ub, **Role.codes()) * "which one",
        "holds" / Int8ub * "1: elected, 0: deposed",
        "epoch" / Int32ub * "of its lease",
        "cycle" / Int64ub * "in which",
    ),
    Type.COUNT_EVENT: _message(Type.COUNT_EVENT, *_CENSUS),
    Type.FAULT_EVENT: _message(Type.FAULT_EVENT, *_FAULT, "cycle" / Int64ub * "in which"),
    Type.MISSED_EVENT: _message(Type.MISSED_EVENT, "events" / Int32ub * "that were left out"),
    Type.REFUSED: _message(
        Type.REFUSED,
        "why" / Enum(Int8ub, **Refusal.codes()) * "in one word",
        "text" / GreedyBytes * "a sentence for people, UTF-8",
    ),
}

REQUESTS = tuple(kind for kind in Type if kind.code < 0x40)
