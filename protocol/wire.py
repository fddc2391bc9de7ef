"""Every frame on the wire, as `construct` definitions: the one source of truth.

A frame is a sequence of 64-bit flits, most significant byte first. All kinds share the first flit, so
that a switch can route, strip, purge or drop a frame the moment its first flit arrives:

    flit 0   kind 8 | card 8 | flags 16 | ttl 16 | home 16

`home` is the GPU that takes the frame off the ring: its origin for a statistics frame (the message
comes home), its destination for every other kind. The last flit holds the two check sums of `crc.py`.
The fields that a hop may change (`MUTABLE`) are outside the end-to-end CRC; the link CRC covers all.

The high nibble of `kind` is the version of the wire format (1). Definitions use `this` expressions
only, never lambdas, so that other tools' dissectors can be generated from them.
"""

from construct import (
    Array,
    Bytes,
    Const,
    Enum,
    FlagsEnum,
    Int8ub,
    Int16ub,
    Int24ub,
    Int32ub,
    Int64ub,
    Rebuild,
    Struct,
    len_,
    this,
)

from ringhil.protocol.enums import Bits, Coded

FLIT_BYTES = 8
MAX_RING = 1024  # GPUs on one card (R1)
MAX_CARDS = 16  # cards in a server: the registers `crossings` and `exits` have a bit for each
SEGMENT_FLITS = 32  # payload flits of one work frame
SEGMENT_BYTES = SEGMENT_FLITS * FLIT_BYTES
WORK_HEADER_FLITS = 4
DATA_FRAME_FLITS = WORK_HEADER_FLITS + SEGMENT_FLITS + 1  # longest frame of the data channel
DATA_SLOTS = 3  # frames of the data channel that a receiver has room for: the credits of its sender at power-up
MAX_FRAME_FLITS = 4 + 2 * MAX_RING + 1  # a statistics frame with a record of every GPU


class Kind(Coded):
    """What a frame is for. The high nibble is the version of the wire format."""

    STATISTICS = "statistics", 0x11, "goes round, and counts the GPUs that work"
    KEEPALIVE = "keepalive", 0x12, "a GPU of a group is alive, and how it is"
    ELECTION = "election", 0x13, "a lease is claimed, granted, refused or given back"
    WORK = "work", 0x14, "a segment of a work unit, or a command to a context"
    RESULT = "result", 0x15, "what came of a work unit"
    ACKNOWLEDGEMENT = "acknowledgement", 0x16, "a work unit is refused"
    REPORT = "report", 0x17, "the entry GPU tells the CPU what a round has counted"


DATA_KINDS = (Kind.WORK, Kind.RESULT, Kind.ACKNOWLEDGEMENT)  # the kinds that travel on the data channel


class Port(Coded):
    """A port of a GPU's mailbox: the two lanes of the ring, the CPU, another card. `code` is its number in the RTL."""

    CW = "cw", 0, "clockwise round the ring"
    CCW = "ccw", 1, "counter-clockwise round the ring"
    CPU = "cpu", 2, "link to the CPU"
    BOUNDARY = "boundary", 3, "link to another card"


class Link(Coded):
    """A link of a node, as its pins are called; `code` is its place in the RTL. Both ends of a ring link have it by
    another name: port 2 of a GPU is wired to port 1 of the next one."""

    P1 = "p1", 0, "from the GPU before"
    P2 = "p2", 1, "to the GPU behind, clockwise"
    HOST = "host", 2, "to the CPU"
    BOUNDARY = "boundary", 3, "to another card"


LINKS = tuple(Link)
BY_PORT = (Link.P2, Link.P1, Link.HOST, Link.BOUNDARY)  # by `Port.code`: the link by which a port's frames leave


class Flag(Bits):
    """Flags of a frame; those in `MUTABLE_FLAGS` may be set by a hop."""

    CCW = 0x0001, "sent counter-clockwise: leaves port 1, enters port 2"
    WITH_RECORDS = 0x0002, "each working GPU appends its record"
    TO_HOST = 0x0004, "the home GPU hands the frame to the CPU"
    LAST = 0x0008, "last segment of a work unit"
    CIRCULATING = 0x0100, "a monitor has seen it once; at the second time it is purged"
    WRAPPED = 0x0200, "turned round at a dead link"


MUTABLE_FLAGS = 0xFF00  # flags that a hop may set
CROSSINGS_SHIFT = 12  # the top four flags count how many boundary links a data frame has crossed
MAX_CROSSINGS = 15
OVERFLOW = 0x8000  # in `record_limit`: a GPU counted itself in but found no room for its record


class GpuState(Coded):
    """State of a GPU in its record."""

    DOWN = "down", 0, "it does not work"
    WORKING = "working", 1, "it works"
    DEGRADED = "degraded", 2, "it works, and computes slowly"


class RecordFlag(Bits):
    """Flags of a record."""

    ENTRY_CAPABLE = 0x01, "this GPU has a link to the CPU (R10)"
    BOUNDARY = 0x02, "this GPU speaks to another card (R8)"
    PORT2 = 0x04, "the message arrived on the second port"
    ARRIVED_BAD = 0x08, "it arrived with a wrong link CRC: the link before this GPU is named"
    ARRIVED_MARKED = 0x10, "it arrived with the error mark of an earlier hop"


class Compute(Coded):
    """What a work unit asks of the compute engine: a digest of its bytes, or a command to one of its contexts."""

    DIGEST = "digest", 0, "CRC and sum of the bytes"
    CREATE = "create", 0x10, "make a context"
    DESTROY = "destroy", 0x11, "end a context, and free its memory"
    CONFIGURE = "configure", 0x12, "change its limit, slice, priority and state"
    ALLOCATE = "allocate", 0x13, "pages of memory"
    FREE = "free", 0x14, "pages of memory"
    COPY = "copy", 0x15, "take data in"
    LAUNCH = "launch", 0x16, "compute for some cycles"
    CANCEL = "cancel", 0x17, "end its launch"
    QUERY = "query", 0x18, "ask for something"


class Query(Coded):
    """What a query asks a context for: the digest of its answer."""

    MEMORY = "memory", 0, "pages: held 32 | limit 32"
    RUN_TIME = "run_time", 1, "cycles on the engine"
    COUNTS = "counts", 2, "switches to it 32 | commands refused 32"
    LAUNCH = "launch", 3, "1 while it has a launch 32 | cycles left of that 32"
    GPU = "gpu", 4, "pages: held by all contexts 32 | there in all 32"
    ENERGY = "energy", 5, "units that the GPU has taken, where it has a meter; otherwise as GPU"
    BUSY = "busy", 6, "cycles that its engine has run, where it has a meter; otherwise as GPU"


CONTEXTS = 16  # of a compute engine; 0 is that of plain work units
FIRST_COMMAND = 1 << 31  # units below are work
COMMAND_FLITS = 2  # payload of a command before its data


class AckStatus(Coded):
    """Why a GPU refuses a work unit. The last three: a command that reached no context."""

    BUSY = "busy", 1, "as many units wait as may"
    INCOMPLETE = "incomplete", 2, "segments are missing, or do not add up to `length`"
    UNKNOWN_KIND = "unknown_kind", 3, "no such `compute`"
    NO_CONTEXT = "no_context", 4, "there is no such context"
    FOREIGN = "foreign", 5, "the key is not that of the context"
    EXISTS = "exists", 6, "there is such a context already"


class ResultStatus(Coded):
    """Status of a result. All but the first are a context's."""

    DONE = "done", 0, "it is done"
    OVER_LIMIT = "over_limit", 1, "more memory than the context may hold"
    NO_MEMORY = "no_memory", 2, "more than the GPU has left"
    INVALID = "invalid", 3, "more than is held, or a context that can't do that"
    RUNNING = "running", 4, "the context has a launch already"
    CANCELLED = "cancelled", 5, "a launch is over before it was done"
    STARTED = "started", 6, "a launch waits for its turn or runs: a second result tells of its end"


class Role(Coded):
    """What is elected: who speaks to the CPU (R10), who to another card (R9)."""

    ENTRY = "entry", 1, "who speaks to the CPU; the CPU grants"
    BOUNDARY = "boundary", 2, "who speaks to another card; the GPU at the far end grants, its warden"


class MemberState(Coded):
    """What a member of an election is."""

    FOLLOWER = "follower", 0, "it asks for nothing"
    CANDIDATE = "candidate", 1, "it is about to claim, or has claimed"
    HOLDER = "holder", 2, "it holds the lease"


class MemberFlag(Bits):
    """What a member says of itself beside its state."""

    UPLINK = 0x10, "the sender hears the other end of its own link"
    RELUCTANT = 0x20, "it is the entry GPU, and a boundary GPU only if nobody else can be (R7)"
    GRANTING = 0x40, "it has granted a lease that is running"


NO_HOLDER = 0xFFFFFFFF  # in a keepalive: its sender knows of no holder of the lease


class Operation(Coded):
    """What an election frame asks or answers."""

    CLAIM = "claim", 1, "a member asks for the lease, under this epoch"
    GRANT = "grant", 2, "the grantor gives it"
    REFUSE = "refuse", 3, "the grantor does not"
    RELEASE = "release", 4, "the member gives the lease back"


NO_CARD = 0xFF  # in a record: its GPU has no link to another card


class CensusVerdict(Coded):
    """How a count came about: see `firmware/census.py`."""

    NONE = "none", 0, "nothing was counted"
    RING = "ring", 1, "both messages came home, and agree"
    SINGLE = "single", 2, "one came home"
    ARMS = "arms", 3, "both were turned round at a cut"


class GpuType(Coded):
    """Type of a GPU in its record."""

    GENERIC = "generic", 0
    T4 = "T4", 1
    V100 = "V100", 2
    A100 = "A100", 3
    H100 = "H100", 4
    H200 = "H200", 5


_EPOCH = {
    Kind.KEEPALIVE: "the highest that its sender knows of; of a holder, that of its lease",
    Kind.ELECTION: "claim, grant, release: of this lease; refuse: the highest that the grantor knows of",
    Kind.WORK: "of the entry GPU that it goes through",
    Kind.RESULT: "as in the work that it answers",
    Kind.ACKNOWLEDGEMENT: "as in the work that it answers",
}


def _header(kind: Kind, home: str) -> tuple[object, ...]:
    return (
        "kind" / Const(kind.code, Int8ub) * "what it is; the high nibble is the version of the wire format",
        "card" / Int8ub * "number of the card on which that GPU is",
        "flags"
        / FlagsEnum(Int16ub, **Flag.codes())
        * "a hop may set 0x0100 and up; bits 12 to 15: boundary links that a data frame has crossed",
        "ttl" / Int16ub * "hops that it may still make; each node that it passes counts one down",
        home / Int16ub * ("sender, to which it comes home" if home == "origin" else "GPU that takes it off the ring"),
        "epoch" / Int32ub * _EPOCH.get(kind, "under which the entry GPU was elected that counts"),
    )


_TRAILER = (
    "e2e_crc" / Int32ub * "over what no hop may change",
    "link_crc" / Int32ub * "over the whole frame; each hop writes it anew",
)

Record = Struct(
    "id" / Int16ub * "number of the GPU",
    "hop" / Int16ub * "the count as this GPU left it",
    "state" / Enum(Int8ub, **GpuState.codes()) * "how it is",
    "flags" / FlagsEnum(Int8ub, **RecordFlag.codes()) * "what it is, and how the message has arrived",
    "gpu_type" / Enum(Int8ub, **GpuType.codes()) * "its model",
    "stamp" / Int8ub * "cycle in which the message reached this GPU, modulo 2^8; of the origin 0",
    "weight" / Int16ub * "share of work that it wants, relative to the other GPUs",
    "errors" / Int8ub * "frames that arrived bad at the port of arrival since power-up, modulo 2^8",
    "peer" / Int8ub * "a boundary GPU's: the card at the other end of its link; otherwise 0xFF",
    "tag" / Int32ub * "CRC over epoch, sequence and this record: no later hop can change it unseen",
)

Statistics = Struct(
    *_header(Kind.STATISTICS, "origin"),
    "sequence" / Int32ub * "number of the round; a further attempt is a round of its own",
    "count" / Int16ub * "working GPUs so far, the origin included (R2, R3)",
    "records_count" / Rebuild(Int16ub, len_(this.records)) * "those that follow",
    "expected" / Int16ub * "GPUs wired into the ring",
    "record_limit" / Int16ub * "most records that may be appended; bit 15: a GPU found no room for its own",
    "sent_at" / Int64ub * "cycle in which the round began",
    "records"
    / Array(this.records_count, Record)
    * "of the GPUs that are counted, the origin's first: see [statistics record](#statistics-record)",
    *_TRAILER,
)

Keepalive = Struct(
    *_header(Kind.KEEPALIVE, "destination"),
    "sequence" / Int32ub * "number of the round of keepalives, from 1 at each boot; all of a round have the same",
    "my_discriminator"
    / Int32ub
    * "who says it: bits 31 to 16 its GPU number, bits 15 to 0 its boots, modulo 2^16; of the CPU 0",
    "your_discriminator"
    / Int32ub
    * "my_discriminator of the last that was heard of the receiver, 0: none; an answer: that of who asked",
    "role" / Enum(Int8ub, **Role.codes()) * "which election it is about",
    "priority" / Int8ub * "rank of the sender in its group: 0 is elected first",
    "multiplier" / Int8ub * "intervals of silence after which the sender is to be taken for down",
    "state"
    / Int8ub
    * "bits 0 to 3: [state of a member](#state-of-a-member); bits 4 to 7: [flags of a member](#flags-of-a-member)",
    "interval" / Int32ub * "cycles between two rounds of the sender",
    "members" / Int64ub * "bit i: the member of rank i is up, for the sender; its own bit is set",
    "echo" / Int32ub * "an answer of a grantor: `sequence` of the keepalive that it answers; otherwise 0",
    "holder" / Int32ub * "of a grantor: rank of the member whose lease runs; 0xFFFFFFFF: of none",
    *_TRAILER,
)

Election = Struct(
    *_header(Kind.ELECTION, "destination"),
    "sequence"
    / Int32ub
    * "bits 31 to 16: boots of the claimant, bits 15 to 0: number of its claim; of an answer, as asked",
    "candidate" / Int16ub * "number of the GPU that claims, or holds",
    "operation" / Enum(Int8ub, **Operation.codes()) * "what it asks or answers",
    "role" / Enum(Int8ub, **Role.codes()) * "which election it is about",
    "lease"
    / Int32ub
    * "cycles that a lease lasts; refuse: for so long nothing will be granted, 0: only the epoch is too low",
    "members" / Int64ub * "as in a keepalive of the claimant",
    *_TRAILER,
)

Work = Struct(
    *_header(Kind.WORK, "destination"),
    "unit" / Int32ub * "number of the work; from 0x80000000 on it is a command to a context",
    "source" / Int16ub * "the entry GPU that it came through: results go back to it",
    "attempt" / Int16ub * "one more each time that it is sent again",
    "segment" / Int16ub * "0, 1, 2 ... of this unit",
    "segment_bytes" / Int16ub * "bytes of payload that count, 256 at most",
    "length" / Int32ub * "bytes of the whole unit",
    "compute" / Enum(Int8ub, **Compute.codes()) * "what is asked of the compute engine",
    "source_card" / Int8ub * "the card of `source`",
    "context" / Int16ub * "a command's: which of the engine's contexts it is for",
    "payload" / Bytes((this.segment_bytes + 7) // 8 * 8) * "padded with zeros to whole flits",
    *_TRAILER,
)

# The first two flits of a command's payload; only a copy has more, its data. Sizes of memory are in pages.
Command = Struct(
    "key" / Int32ub * "of the context: told when it is created, 0 is the key of whoever manages the GPU",
    "amount" / Int32ub * "pages (create, configure: the limit), cycles of a launch, or what a query asks for",
    "slice" / Int32ub * "create, configure: cycles in a row while others wait; 0: the GPU's default",
    "priority" / Int8ub * "create, configure: the highest is served first in each round",
    "state" / Int24ub * "create, configure: cycles that saving and restoring it adds to a switch",
)

Result = Struct(
    *_header(Kind.RESULT, "destination"),
    "unit" / Int32ub * "as in the work",
    "source" / Int16ub * "number of the GPU that answers",
    "attempt" / Int16ub * "as in the work",
    "status" / Enum(Int16ub, **ResultStatus.codes()) * "how it has ended",
    "source_card" / Int8ub * "its card",
    "queued" / Int8ub * "units still waiting in this GPU",
    "digest" / Int64ub * "CRC 32 | sum 32 over the padded bytes that arrived",
    "length" / Int32ub * "bytes that arrived",
    "cycles" / Int32ub * "cycles that the compute engine took",
    *_TRAILER,
)

Acknowledgement = Struct(
    *_header(Kind.ACKNOWLEDGEMENT, "destination"),
    "unit" / Int32ub * "as in the work",
    "source" / Int16ub * "number of the GPU that refuses",
    "attempt" / Int16ub * "as in the work",
    "status" / Enum(Int16ub, **AckStatus.codes()) * "why",
    "source_card" / Int8ub * "its card",
    "queued" / Int8ub * "units still waiting in this GPU",
    *_TRAILER,
)

Report = Struct(
    *_header(Kind.REPORT, "destination"),
    "sequence" / Int32ub * "number of the round",
    "source" / Int16ub * "number of the entry GPU",
    "count" / Int16ub * "GPUs that work",
    "size" / Int16ub * "GPUs wired into the ring",
    "verdict" / Enum(Int16ub, **CensusVerdict.codes()) * "how the count came about",
    "break_after" / Int16ub * "verdict arms: last GPU of the clockwise arm; 0xFFFF: otherwise, or not known",
    "break_before" / Int16ub * "verdict arms: last GPU of the counter-clockwise arm; 0xFFFF: otherwise, or not known",
    "rejected" / Int32ub * "messages and rounds rejected since this entry GPU was elected",
    "sent_at" / Int64ub * "cycle in which the round began",
    "suspects" / Int16ub * "GPUs that may have spoiled the rejected messages",
    "first_suspect" / Int16ub * "the lowest of them; 0xFFFF: none",
    "slow_link" / Int16ub * "the link from this GPU clockwise takes longer than it should; 0xFFFF: none does",
    "noisy_link" / Int16ub * "messages arrive damaged over the link from this GPU clockwise; 0xFFFF: over none",
    "weight" / Int32ub * "of all members together, in quarters: of a degraded one a quarter of its weight counts",
    "reserved" / Int32ub * "0",
    "sets"
    / Array((this.size + 63) // 64 * 3, Int64ub)
    * "three sets: members (verdict none: suspects), degraded, boundary GPUs; bit i%64 of word i//64 of each: GPU i",
    *_TRAILER,
)

FRAMES = {
    "statistics": Statistics,
    "keepalive": Keepalive,
    "election": Election,
    "work": Work,
    "result": Result,
    "acknowledgement": Acknowledgement,
    "report": Report,
}

# Outside the end-to-end CRC: what a hop may change. Per kind: field name -> bits that count as zero.
MUTABLE = {
    "*": {"flags": MUTABLE_FLAGS, "ttl": 0xFFFF},
    "statistics": {"count": 0xFFFF, "records_count": 0xFFFF, "record_limit": OVERFLOW},
}


class LinkBit(Bits):
    """Control bits of a link, beside its 64 data bits: what a flit is, and the state of the link behind it."""

    VALID = 1 << 0, "there is a flit"
    DATA = 1 << 1, "virtual channel: data, otherwise control"
    SOF = 1 << 2, "the first flit of a frame"
    EOF = 1 << 3, "the last one"
    ERR = 1 << 4, "with eof: an earlier hop found the frame bad"
    CREDIT = 1 << 5, "one more frame of the data channel may be sent the other way"
    UP = 1 << 6, "carrier"
    FAULT = 1 << 7, "remote fault: this end does not use the link"
