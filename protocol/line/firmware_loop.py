"""The firmware loop, as `construct` definitions: how an emulator runs the firmware of a GPU that is somewhere else.

The emulator asks, the firmware answers: one request at a time, each answered by `done` with the actions that follow
from it, or by `declined`, under the same `id`. All numbers are unsigned, most significant byte first. A message begins

    type 8 | id 16

and may end with one field of any length, which reaches to the end of the message; an action has a type and no id.
Times are cycles since power-up. A GPU that boots is told who it is by `boot`, which ends whatever it was before, then
of its groups and its ways, then to `start`.

A request that comes again (same id, same bytes) is not done again and gets the same answer. A later minor version only
adds types; a later major one keeps `attach` and the first two bytes of `attach_reply`'s body as they are.
"""

from construct import Const, Enum, FlagsEnum, GreedyBytes, GreedyRange, Int8ub, Int16ub, Int32ub, Int64ub, Struct

from ringhil.protocol.enums import Bits, Coded
from ringhil.protocol.reasons import LeaseEnd, Rejection
from ringhil.protocol.wire import CensusVerdict, GpuType, Port, Role

MAJOR, MINOR = 1, 0
MOST_ACTIONS = 256  # of one answer
NOBODY = 0xFFFF  # no GPU


class LoopType(Coded):
    """What a message or an action is."""

    ATTACH = "attach", 0x01
    BOOT = "boot", 0x02
    GROUP = "group", 0x03
    CROSSING = "crossing", 0x04
    ROUTES = "routes", 0x05
    START = "start", 0x06
    TIMER = "timer", 0x07
    FRAME = "frame", 0x08
    COUNT_NOW = "count_now", 0x09
    SEND = "send", 0x41
    SET_TIMER = "set_timer", 0x42
    CANCEL_TIMER = "cancel_timer", 0x43
    WRITE = "write", 0x44
    ELECTED = "elected", 0x51
    DEPOSED = "deposed", 0x52
    GRANTED = "granted", 0x53
    LAPSED = "lapsed", 0x54
    PEER_UP = "peer_up", 0x55
    PEER_DOWN = "peer_down", 0x56
    COUNTED = "counted", 0x57
    REJECTED = "rejected", 0x58
    SUSPECTED = "suspected", 0x59
    DONE = "done", 0x80
    ATTACH_REPLY = "attach_reply", 0x81
    DECLINED = "declined", 0xFF


class BootOption(Bits):
    """What a GPU's census is like, and what it may be elected for."""

    RECORDS = 0x0001, "censuses carry records"
    BACK_TO_BACK = 0x0002, "the next round begins as soon as one is over"
    ENTRY = 0x0004, "it has a link to the CPU: a `group` of the role entry follows"
    BOUNDARY = 0x0008, "it has a link to another card: a `group` of the role boundary follows, and a `crossing`"
    ASKS = 0x0010, "in that group it asks for the lease; otherwise it grants it"


class Declined(Coded):
    """Why a request is declined."""

    UNKNOWN_TYPE = "unknown_type", 1, "of request"
    BAD_LENGTH = "bad_length", 2, "of the request"
    NO_ROOM = "no_room", 3, "for the answer, or for what was told: more members, say"
    NOT_BOOTED = "not_booted", 4, "no `boot` has come yet"
    CANNOT = "cannot", 5, "this firmware doesn't do that: grant leases, say; the run ends with it"


def _message(kind: LoopType, *fields: object) -> Struct:
    return Struct("type" / Const(kind.code, Int8ub), "id" / Int16ub, *fields)


def _action(kind: LoopType, *fields: object) -> Struct:
    return Struct("type" / Const(kind.code, Int8ub), *fields)


_MAJOR = "major" / Int8ub * "of the protocol's version"
_MINOR = "minor" / Int8ub * "of the protocol's version"
_NOW = "now" / Int64ub * "cycle"
_ROLE = "role" / Enum(Int8ub, **Role.codes()) * "which election it is about"
_EPOCH = "epoch" / Int32ub * "of the lease"
_RANK = "rank" / Int16ub * "place of the member in its group, from 0"
_GPU = "gpu" / Int16ub * "number in its ring"
_PORT = "port" / Enum(Int8ub, **Port.codes()) * "of the mailbox"
_WHY = "why" / Enum(Int8ub, **LeaseEnd.codes()) * "in one word"

MESSAGES = {
    LoopType.ATTACH: _message(LoopType.ATTACH, _MAJOR, _MINOR),
    LoopType.ATTACH_REPLY: _message(
        LoopType.ATTACH_REPLY,
        _MAJOR,
        _MINOR,
        "longest" / Int16ub * "bytes of the longest message that it takes and gives",
        "name" / GreedyBytes * "of the firmware, UTF-8, at most 64 bytes",
    ),
    LoopType.BOOT: _message(
        LoopType.BOOT,
        "card" / Int8ub * "number in its server",
        "gpu" / Int16ub * "number in its ring",
        "gpus" / Int16ub * "wired into the ring",
        "boots" / Int32ub * "which boot this is, from 1",
        "memory" / Int32ub * "the node's register of that name, which outlives a failure",
        "seed" / Int32ub * "of whatever is drawn at random",
        "period" / Int64ub * "from one census to the next, cycles",
        "timeout" / Int64ub * "of a round of it, cycles",
        "refresh" / Int32ub * "rounds; one of so many carries records",
        "attempts" / Int16ub * "rounds, until it gives up for this period",
        "weight" / Int16ub * "in its record",
        "gpu_type" / Enum(Int8ub, **GpuType.codes()) * "in its record",
        "options" / FlagsEnum(Int16ub, **BootOption.codes()) * "what it does and has",
    ),
    LoopType.GROUP: _message(
        LoopType.GROUP,
        _ROLE,
        _RANK,
        "uplink" / Enum(Int8ub, **Port.codes()) * "by which the grantor is reached, or the one who asks",
        "uplink_card" / Int8ub * "card of the GPU at the other end",
        "uplink_home" / Int16ub * "that GPU",
        "interval" / Int64ub * "between keepalives; this and all below in cycles, but for the multiplier",
        "multiplier" / Int8ub * "intervals",
        "jitter" / Int64ub * "by which an interval may be shorter",
        "slack" / Int64ub * "silent for `multiplier` intervals and this long, a GPU is down",
        "lease" / Int64ub * "for which a lease lasts",
        "skew" / Int64ub * "for which a member waits for each that goes first",
        "guard" / Int64ub * "from the end of a lease until another member may have one",
        "wait_to_restore" / Int64ub * "heard again for this long, a GPU is up",
        "members" / GreedyRange(Int64ub) * "numbers of the GPUs, by rank; 64 at most",
    ),
    LoopType.CROSSING: _message(
        LoopType.CROSSING,
        "peer" / Int8ub * "card at the other end of this GPU's link",
        "cards" / Int16ub * "bit i: card i is reached through it",
        "from_above" / Int8ub * "1: that card is nearer to the root of the tree of cards",
    ),
    LoopType.ROUTES: _message(
        LoopType.ROUTES,
        "behind" / GreedyRange(Int64ub) * "word i, bit j: card j is reached through card i, a neighbour, or is that",
    ),
    LoopType.START: _message(LoopType.START, _NOW),
    LoopType.TIMER: _message(
        LoopType.TIMER, _NOW, "status" / Int32ub * "the node's register of that name", "timer" / Int8ub * "its number"
    ),
    LoopType.FRAME: _message(
        LoopType.FRAME,
        _NOW,
        _PORT,
        "bad" / Int8ub * "1: it arrived damaged",
        "frame" / GreedyBytes * "whole; its link CRC is that from before its TTL was counted down",
    ),
    LoopType.COUNT_NOW: _message(LoopType.COUNT_NOW, _NOW),
    LoopType.DONE: _message(
        LoopType.DONE, "actions" / GreedyBytes * "one after the other, each behind its length in bytes, 16 bits"
    ),
    LoopType.DECLINED: _message(
        LoopType.DECLINED,
        "why" / Enum(Int8ub, **Declined.codes()) * "in one word",
        "text" / GreedyBytes * "a sentence for people, UTF-8",
    ),
}

ACTIONS = {
    LoopType.SEND: _action(LoopType.SEND, _PORT, "frame" / GreedyBytes * "whole; its link CRC is written anew"),
    LoopType.SET_TIMER: _action(
        LoopType.SET_TIMER,
        "timer" / Int8ub * "its number; one that runs is replaced",
        "delay" / Int64ub * "cycles, 1 to 2^40",
    ),
    LoopType.CANCEL_TIMER: _action(LoopType.CANCEL_TIMER, "timer" / Int8ub * "its number"),
    LoopType.WRITE: _action(
        LoopType.WRITE, "address" / Int8ub * "of a register of its node", "value" / Int32ub * "for it"
    ),
    LoopType.ELECTED: _action(LoopType.ELECTED, _ROLE, _EPOCH),
    LoopType.DEPOSED: _action(LoopType.DEPOSED, _ROLE, _EPOCH, _WHY),
    LoopType.GRANTED: _action(LoopType.GRANTED, _ROLE, _EPOCH, _RANK, "until" / Int64ub * "cycle"),
    LoopType.LAPSED: _action(LoopType.LAPSED, _ROLE, _EPOCH, _RANK, _WHY),
    LoopType.PEER_UP: _action(LoopType.PEER_UP, _ROLE, _GPU),
    LoopType.PEER_DOWN: _action(LoopType.PEER_DOWN, _ROLE, _GPU),
    LoopType.COUNTED: _action(
        LoopType.COUNTED,
        "count" / Int16ub * "GPUs that work",
        "verdict" / Enum(Int8ub, **CensusVerdict.codes()) * "how the count came about",
        "break_after" / Int16ub * f"GPU before a cut; 0x{NOBODY:X}: there is none, or it isn't known",
        "break_before" / Int16ub * "GPU behind it, in the same way",
        "sequence" / Int32ub * "number of the round",
        "sent_at" / Int64ub * "cycle in which the round began",
        "weight" / Int32ub * "of all members, in quarters; 0: never any records",
        "known" / Int8ub * "1: the members are known",
        "sets"
        / GreedyRange(Int64ub)
        * "a word for each 64 GPUs of the ring: the members; as many: the degraded ones; then a word for each boundary"
        " GPU, its number times 256 and the card that it speaks to",
    ),
    LoopType.REJECTED: _action(
        LoopType.REJECTED,
        "reason" / Enum(Int8ub, **Rejection.codes()) * "in one word",
        "sequence" / Int32ub * "number of the newest round, also of a message of another one",
    ),
    LoopType.SUSPECTED: _action(LoopType.SUSPECTED, "gpus" / GreedyRange(Int64ub) * "their numbers"),
}

REQUESTS = tuple(kind for kind in LoopType if kind.code < 0x40)
