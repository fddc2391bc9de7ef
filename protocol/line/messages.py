"""Typed messages and their struct formats.

Generated from management.py: do not edit; `make generate` rewrites it.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class HelloRequest:
    """hello: see `management.py`."""

    TYPE: ClassVar[int] = 0x01
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBB")
    TAIL: ClassVar[str] = "name"
    IN_WORDS: ClassVar[bool] = False

    id: int
    major: int
    minor: int
    name: bytes = b""


@dataclass(frozen=True, slots=True)
class HelloReply:
    """hello_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x81
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBBBHHHIQQ")
    TAIL: ClassVar[str] = "name"
    IN_WORDS: ClassVar[bool] = False

    id: int
    major: int
    minor: int
    card: int
    gpus: int
    capabilities: int
    longest: int
    clock: int
    serial: int
    now: int
    name: bytes = b""


@dataclass(frozen=True, slots=True)
class TimeRequest:
    """time: see `management.py`."""

    TYPE: ClassVar[int] = 0x02
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int


@dataclass(frozen=True, slots=True)
class TimeReply:
    """time_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x82
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """read: see `management.py`."""

    TYPE: ClassVar[int] = 0x03
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    gpu: int
    address: int


@dataclass(frozen=True, slots=True)
class ReadReply:
    """read_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x83
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHIQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    value: int
    now: int


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """write: see `management.py`."""

    TYPE: ClassVar[int] = 0x04
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHBI")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    gpu: int
    address: int
    value: int


@dataclass(frozen=True, slots=True)
class WriteReply:
    """write_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x84
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class CensusRequest:
    """census: see `management.py`."""

    TYPE: ClassVar[int] = 0x05
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int


@dataclass(frozen=True, slots=True)
class CensusReply:
    """census_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x85
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHIIHHHBHHQQII")
    TAIL: ClassVar[str] = "members"
    IN_WORDS: ClassVar[bool] = True

    id: int
    epoch: int
    sequence: int
    entry: int
    count: int
    size: int
    verdict: int
    break_after: int
    break_before: int
    sent_at: int
    counted_at: int
    accepted: int
    rejected: int
    members: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LastCensusRequest:
    """last_census: see `management.py`."""

    TYPE: ClassVar[int] = 0x06
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int


@dataclass(frozen=True, slots=True)
class LastCensusReply:
    """last_census_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x86
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHIIHHHBHHQQII")
    TAIL: ClassVar[str] = "members"
    IN_WORDS: ClassVar[bool] = True

    id: int
    epoch: int
    sequence: int
    entry: int
    count: int
    size: int
    verdict: int
    break_after: int
    break_before: int
    sent_at: int
    counted_at: int
    accepted: int
    rejected: int
    members: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SendRequest:
    """send: see `management.py`."""

    TYPE: ClassVar[int] = 0x07
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHB")
    TAIL: ClassVar[str] = "frame"
    IN_WORDS: ClassVar[bool] = False

    id: int
    gpu: int
    port: int
    frame: bytes = b""


@dataclass(frozen=True, slots=True)
class SendReply:
    """send_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x87
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class SubscribeRequest:
    """subscribe: see `management.py`."""

    TYPE: ClassVar[int] = 0x08
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    events: int


@dataclass(frozen=True, slots=True)
class SubscribeReply:
    """subscribe_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x88
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    events: int
    now: int


@dataclass(frozen=True, slots=True)
class InjectRequest:
    """inject: see `management.py`."""

    TYPE: ClassVar[int] = 0x09
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBBHI")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    injection: int
    fault: int
    gpu: int
    value: int


@dataclass(frozen=True, slots=True)
class InjectReply:
    """inject_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x89
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class LineRequest:
    """line: see `management.py`."""

    TYPE: ClassVar[int] = 0x0A
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int


@dataclass(frozen=True, slots=True)
class LineReply:
    """line_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x8A
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQQIIIII")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    received: int
    sent: int
    requests: int
    damaged: int
    refused: int
    events: int
    missed: int


@dataclass(frozen=True, slots=True)
class ClientContextRequest:
    """client_context: see `management.py`."""

    TYPE: ClassVar[int] = 0x0B
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    index: int


@dataclass(frozen=True, slots=True)
class ClientContextReply:
    """client_context_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x8B
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHHBBIII")
    TAIL: ClassVar[str] = "name"
    IN_WORDS: ClassVar[bool] = False

    id: int
    number: int
    gpu: int
    context: int
    belongs: int
    client: int
    held: int
    limit: int
    name: bytes = b""


@dataclass(frozen=True, slots=True)
class FreeContextRequest:
    """free_context: see `management.py`."""

    TYPE: ClassVar[int] = 0x0C
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    gpu: int
    context: int


@dataclass(frozen=True, slots=True)
class FreeContextReply:
    """free_context_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x8C
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class KeepContextsRequest:
    """keep_contexts: see `management.py`."""

    TYPE: ClassVar[int] = 0x0D
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    keep: int


@dataclass(frozen=True, slots=True)
class KeepContextsReply:
    """keep_contexts_reply: see `management.py`."""

    TYPE: ClassVar[int] = 0x8D
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class FrameEvent:
    """frame_event: see `management.py`."""

    TYPE: ClassVar[int] = 0x41
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHBBBQ")
    TAIL: ClassVar[str] = "frame"
    IN_WORDS: ClassVar[bool] = False

    id: int
    gpu: int
    port: int
    way: int
    bad: int
    cycle: int
    frame: bytes = b""


@dataclass(frozen=True, slots=True)
class RoleEvent:
    """role_event: see `management.py`."""

    TYPE: ClassVar[int] = 0x42
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHHBBIQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    gpu: int
    role: int
    holds: int
    epoch: int
    cycle: int


@dataclass(frozen=True, slots=True)
class CountEvent:
    """count_event: see `management.py`."""

    TYPE: ClassVar[int] = 0x43
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHIIHHHBHHQQII")
    TAIL: ClassVar[str] = "members"
    IN_WORDS: ClassVar[bool] = True

    id: int
    epoch: int
    sequence: int
    entry: int
    count: int
    size: int
    verdict: int
    break_after: int
    break_before: int
    sent_at: int
    counted_at: int
    accepted: int
    rejected: int
    members: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """fault_event: see `management.py`."""

    TYPE: ClassVar[int] = 0x44
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBBHIQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    injection: int
    fault: int
    gpu: int
    value: int
    cycle: int


@dataclass(frozen=True, slots=True)
class MissedEvent:
    """missed_event: see `management.py`."""

    TYPE: ClassVar[int] = 0x45
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHI")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    events: int


@dataclass(frozen=True, slots=True)
class RefusedReply:
    """refused: see `management.py`."""

    TYPE: ClassVar[int] = 0xFF
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHB")
    TAIL: ClassVar[str] = "text"
    IN_WORDS: ClassVar[bool] = False

    id: int
    why: int
    text: bytes = b""


Message = (
    HelloRequest
    | HelloReply
    | TimeRequest
    | TimeReply
    | ReadRequest
    | ReadReply
    | WriteRequest
    | WriteReply
    | CensusRequest
    | CensusReply
    | LastCensusRequest
    | LastCensusReply
    | SendRequest
    | SendReply
    | SubscribeRequest
    | SubscribeReply
    | InjectRequest
    | InjectReply
    | LineRequest
    | LineReply
    | ClientContextRequest
    | ClientContextReply
    | FreeContextRequest
    | FreeContextReply
    | KeepContextsRequest
    | KeepContextsReply
    | FrameEvent
    | RoleEvent
    | CountEvent
    | FaultEvent
    | MissedEvent
    | RefusedReply
)


BY_TYPE: dict[int, type[Message]] = {
    HelloRequest.TYPE: HelloRequest,
    HelloReply.TYPE: HelloReply,
    TimeRequest.TYPE: TimeRequest,
    TimeReply.TYPE: TimeReply,
    ReadRequest.TYPE: ReadRequest,
    ReadReply.TYPE: ReadReply,
    WriteRequest.TYPE: WriteRequest,
    WriteReply.TYPE: WriteReply,
    CensusRequest.TYPE: CensusRequest,
    CensusReply.TYPE: CensusReply,
    LastCensusRequest.TYPE: LastCensusRequest,
    LastCensusReply.TYPE: LastCensusReply,
    SendRequest.TYPE: SendRequest,
    SendReply.TYPE: SendReply,
    SubscribeRequest.TYPE: SubscribeRequest,
    SubscribeReply.TYPE: SubscribeReply,
    InjectRequest.TYPE: InjectRequest,
    InjectReply.TYPE: InjectReply,
    LineRequest.TYPE: LineRequest,
    LineReply.TYPE: LineReply,
    ClientContextRequest.TYPE: ClientContextRequest,
    ClientContextReply.TYPE: ClientContextReply,
    FreeContextRequest.TYPE: FreeContextRequest,
    FreeContextReply.TYPE: FreeContextReply,
    KeepContextsRequest.TYPE: KeepContextsRequest,
    KeepContextsReply.TYPE: KeepContextsReply,
    FrameEvent.TYPE: FrameEvent,
    RoleEvent.TYPE: RoleEvent,
    CountEvent.TYPE: CountEvent,
    FaultEvent.TYPE: FaultEvent,
    MissedEvent.TYPE: MissedEvent,
    RefusedReply.TYPE: RefusedReply,
}
