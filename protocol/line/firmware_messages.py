"""Typed messages and their struct formats.

Generated from firmware_loop.py: do not edit; `make generate` rewrites it.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """attach: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x01
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    major: int
    minor: int


@dataclass(frozen=True, slots=True)
class AttachReply:
    """attach_reply: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x81
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBBH")
    TAIL: ClassVar[str] = "name"
    IN_WORDS: ClassVar[bool] = False

    id: int
    major: int
    minor: int
    longest: int
    name: bytes = b""


@dataclass(frozen=True, slots=True)
class BootRequest:
    """boot: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x02
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBHHIIIQQIHHBH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    card: int
    gpu: int
    gpus: int
    boots: int
    memory: int
    seed: int
    period: int
    timeout: int
    refresh: int
    attempts: int
    weight: int
    gpu_type: int
    options: int


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """group: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x03
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBHBBHQBQQQQQQ")
    TAIL: ClassVar[str] = "members"
    IN_WORDS: ClassVar[bool] = True

    id: int
    role: int
    rank: int
    uplink: int
    uplink_card: int
    uplink_home: int
    interval: int
    multiplier: int
    jitter: int
    slack: int
    lease: int
    skew: int
    guard: int
    wait_to_restore: int
    members: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CrossingRequest:
    """crossing: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x04
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBHB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    peer: int
    cards: int
    from_above: int


@dataclass(frozen=True, slots=True)
class RoutesRequest:
    """routes: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x05
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BH")
    TAIL: ClassVar[str] = "behind"
    IN_WORDS: ClassVar[bool] = True

    id: int
    behind: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StartRequest:
    """start: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x06
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class TimerRequest:
    """timer: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x07
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQIB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int
    status: int
    timer: int


@dataclass(frozen=True, slots=True)
class FrameRequest:
    """frame: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x08
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQBB")
    TAIL: ClassVar[str] = "frame"
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int
    port: int
    bad: int
    frame: bytes = b""


@dataclass(frozen=True, slots=True)
class CountNowRequest:
    """count_now: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x09
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    id: int
    now: int


@dataclass(frozen=True, slots=True)
class DoneReply:
    """done: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x80
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BH")
    TAIL: ClassVar[str] = "actions"
    IN_WORDS: ClassVar[bool] = False

    id: int
    actions: bytes = b""


@dataclass(frozen=True, slots=True)
class DeclinedReply:
    """declined: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0xFF
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHB")
    TAIL: ClassVar[str] = "text"
    IN_WORDS: ClassVar[bool] = False

    id: int
    why: int
    text: bytes = b""


@dataclass(frozen=True, slots=True)
class SendAction:
    """send: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x41
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BB")
    TAIL: ClassVar[str] = "frame"
    IN_WORDS: ClassVar[bool] = False

    port: int
    frame: bytes = b""


@dataclass(frozen=True, slots=True)
class SetTimerAction:
    """set_timer: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x42
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    timer: int
    delay: int


@dataclass(frozen=True, slots=True)
class CancelTimerAction:
    """cancel_timer: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x43
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    timer: int


@dataclass(frozen=True, slots=True)
class WriteAction:
    """write: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x44
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBI")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    address: int
    value: int


@dataclass(frozen=True, slots=True)
class ElectedAction:
    """elected: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x51
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBI")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    role: int
    epoch: int


@dataclass(frozen=True, slots=True)
class DeposedAction:
    """deposed: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x52
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBIB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    role: int
    epoch: int
    why: int


@dataclass(frozen=True, slots=True)
class GrantedAction:
    """granted: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x53
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBIHQ")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    role: int
    epoch: int
    rank: int
    until: int


@dataclass(frozen=True, slots=True)
class LapsedAction:
    """lapsed: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x54
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBIHB")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    role: int
    epoch: int
    rank: int
    why: int


@dataclass(frozen=True, slots=True)
class PeerUpAction:
    """peer_up: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x55
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    role: int
    gpu: int


@dataclass(frozen=True, slots=True)
class PeerDownAction:
    """peer_down: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x56
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBH")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    role: int
    gpu: int


@dataclass(frozen=True, slots=True)
class CountedAction:
    """counted: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x57
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BHBHHIQIB")
    TAIL: ClassVar[str] = "sets"
    IN_WORDS: ClassVar[bool] = True

    count: int
    verdict: int
    break_after: int
    break_before: int
    sequence: int
    sent_at: int
    weight: int
    known: int
    sets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RejectedAction:
    """rejected: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x58
    FIXED: ClassVar[struct.Struct] = struct.Struct(">BBI")
    TAIL: ClassVar[str] = ""
    IN_WORDS: ClassVar[bool] = False

    reason: int
    sequence: int


@dataclass(frozen=True, slots=True)
class SuspectedAction:
    """suspected: see `firmware_loop.py`."""

    TYPE: ClassVar[int] = 0x59
    FIXED: ClassVar[struct.Struct] = struct.Struct(">B")
    TAIL: ClassVar[str] = "gpus"
    IN_WORDS: ClassVar[bool] = True

    gpus: tuple[int, ...] = ()


Message = (
    AttachRequest
    | AttachReply
    | BootRequest
    | GroupRequest
    | CrossingRequest
    | RoutesRequest
    | StartRequest
    | TimerRequest
    | FrameRequest
    | CountNowRequest
    | DoneReply
    | DeclinedReply
    | SendAction
    | SetTimerAction
    | CancelTimerAction
    | WriteAction
    | ElectedAction
    | DeposedAction
    | GrantedAction
    | LapsedAction
    | PeerUpAction
    | PeerDownAction
    | CountedAction
    | RejectedAction
    | SuspectedAction
)


BY_TYPE: dict[int, type[Message]] = {
    AttachRequest.TYPE: AttachRequest,
    AttachReply.TYPE: AttachReply,
    BootRequest.TYPE: BootRequest,
    GroupRequest.TYPE: GroupRequest,
    CrossingRequest.TYPE: CrossingRequest,
    RoutesRequest.TYPE: RoutesRequest,
    StartRequest.TYPE: StartRequest,
    TimerRequest.TYPE: TimerRequest,
    FrameRequest.TYPE: FrameRequest,
    CountNowRequest.TYPE: CountNowRequest,
    DoneReply.TYPE: DoneReply,
    DeclinedReply.TYPE: DeclinedReply,
    SendAction.TYPE: SendAction,
    SetTimerAction.TYPE: SetTimerAction,
    CancelTimerAction.TYPE: CancelTimerAction,
    WriteAction.TYPE: WriteAction,
    ElectedAction.TYPE: ElectedAction,
    DeposedAction.TYPE: DeposedAction,
    GrantedAction.TYPE: GrantedAction,
    LapsedAction.TYPE: LapsedAction,
    PeerUpAction.TYPE: PeerUpAction,
    PeerDownAction.TYPE: PeerDownAction,
    CountedAction.TYPE: CountedAction,
    RejectedAction.TYPE: RejectedAction,
    SuspectedAction.TYPE: SuspectedAction,
}
