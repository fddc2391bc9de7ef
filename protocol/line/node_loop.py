"""The line to a GPU's hardware outside the emulator, as `construct` definitions: the one source of truth.

The emulator asks, the bridge in front of the node answers; nothing comes unasked but `damaged`. Framing is that of the
management port (`framing.py`). All numbers are unsigned, most significant byte first. A message begins

    type 8 | sequence 8

`sequence` of a request is one more than that of the request before it, round from 255 to 0; `hello` may have any, and
the count goes on from there. A bridge carries a request out once: it answers the one that it has just answered with the
same bytes again, and any other that isn't the next with `refused`. Who hears no answer, or `damaged`, asks again.

Both ends keep the node's inputs as a row of bytes, and its outputs as another (`INPUTS`, `OUTPUTS`: in order, the least
significant byte of each signal first). Of a row travels what differs from the last time, in groups of 8 bytes:

    groups 16 | for each group that is named, lowest first: bytes 8 | those bytes, lowest first

Bit i of `groups` names group i, bit j of `bytes` byte j of the group. `reset` begins with rows of zeros. Before the
changes of a step are put in, both ends add one to `now`: it travels only when time has leapt.
"""

from dataclasses import dataclass

from construct import Const, Enum, GreedyBytes, Int8ub, Int16ub, Int32ub, Struct

from ringhil.protocol import crc, wire
from ringhil.protocol.enums import Coded
from ringhil.protocol.line import framing

MAJOR, MINOR = 1, 0
REPLY = 0x80  # in the type of a reply, beside that of its request
GROUP = 8  # bytes
LONGEST_REQUEST = 128  # bytes with CRC: room of a bridge


class NodeMessage(Coded):
    """What a message is."""

    HELLO = "hello", 0x01
    RESET = "reset", 0x02
    STEP = "step", 0x03
    LOOK = "look", 0x04
    HELLO_REPLY = "hello_reply", REPLY | 0x01
    RESET_REPLY = "reset_reply", REPLY | 0x02
    STEP_REPLY = "step_reply", REPLY | 0x03
    LOOK_REPLY = "look_reply", REPLY | 0x04
    DAMAGED = "damaged", 0xC0
    REFUSED = "refused", 0xFF


class Why(Coded):
    """Why a request is refused."""

    UNKNOWN_TYPE = "unknown_type", 1
    OUT_OF_ORDER = "out_of_order", 2  # neither the last request again nor the next one
    NOT_RESET = "not_reset", 3  # since the bridge was powered up, or since a request of wrong length
    BAD_LENGTH = "bad_length", 4  # or a group that isn't there


@dataclass(frozen=True)
class NodePort:
    """A port of the node, or several small ones beside each other. `size`: bytes in its row."""

    name: str
    size: int


INPUTS = (
    NodePort("now", 8),
    NodePort("p1_data", 8),
    NodePort("p2_data", 8),
    NodePort("host_data", 8),
    NodePort("boundary_data", 8),
    NodePort("mtx_data", 8),
    NodePort("p1_ctl", 1),
    NodePort("p2_ctl", 1),
    NodePort("host_ctl", 1),
    NodePort("boundary_ctl", 1),
    NodePort("mtx_ctl", 1),  # valid, sof, eof, then 2 bits of port
    NodePort("reg_we", 1),
    NodePort("reg_addr", 1),
    NodePort("link_fault", 1),
    NodePort("reg_wdata", 4),
    NodePort("link_delay", 4),
    NodePort("ber_port1", 2),
    NodePort("ber_port2", 2),
    NodePort("ber_host", 2),
    NodePort("ber_boundary", 2),
    NodePort("fault", 2),
    NodePort("ring_size", 2),
    NodePort("node_id", 2),
    NodePort("card_id", 1),
)
OUTPUTS = (
    NodePort("p1_data", 8),
    NodePort("p2_data", 8),
    NodePort("host_data", 8),
    NodePort("boundary_data", 8),
    NodePort("mrx0_data", 8),
    NodePort("mrx1_data", 8),
    NodePort("mrx2_data", 8),
    NodePort("mrx3_data", 8),
    NodePort("wake_at", 8),
    NodePort("p1_ctl", 1),
    NodePort("p2_ctl", 1),
    NodePort("host_ctl", 1),
    NodePort("boundary_ctl", 1),
    NodePort("mrx_ctl", 2),  # 4 bits each, mailbox 0 lowest
    NodePort("mtx_ready", 1),
    NodePort("quiescent", 1),
    NodePort("reg_rdata", 4),
)
ROWS = {"in": INPUTS, "out": OUTPUTS}


def places(row: tuple[NodePort, ...]) -> dict[str, int]:
    """Where each signal begins, in bytes."""
    found, at = dict[str, int](), 0
    for signal in row:
        found[signal.name] = at
        at += signal.size
    return found


def groups(row: tuple[NodePort, ...]) -> int:
    """Groups of 8 bytes in a row; the last one may have places for nothing, which stay zero."""
    return -(-sum(signal.size for signal in row) // GROUP)


# A number for names, sizes and order: two ends that disagree about it don't understand each other's rows.
LAYOUT = crc.crc32(
    "; ".join(f"{title} " + ", ".join(f"{s.name} {s.size}" for s in row) for title, row in ROWS.items()).encode()
)


def _message(kind: NodeMessage, *fields: object) -> Struct:
    return Struct("type" / Const(kind.code, Int8ub), "sequence" / Int8ub, *fields)


_INPUTS = "inputs" / GreedyBytes * "what differs: `groups` and so on"
_OUTPUTS = "outputs" / GreedyBytes * "what differs: `groups` and so on"

MESSAGES = {
    NodeMessage.HELLO: _message(NodeMessage.HELLO),
    NodeMessage.HELLO_REPLY: _message(
        NodeMessage.HELLO_REPLY,
        "major" / Int8ub,
        "minor" / Int8ub,
        "layout" / Int32ub * "`LAYOUT`",
        "slots" / Int8ub * "frames that the buffer of a data channel holds: credits at its other end",
        "longest" / Int16ub * "flits of the longest control frame",
    ),
    NodeMessage.RESET: _message(NodeMessage.RESET, _INPUTS),  # clocked twice in reset, with these inputs
    NodeMessage.RESET_REPLY: _message(NodeMessage.RESET_REPLY, _OUTPUTS),
    NodeMessage.STEP: _message(NodeMessage.STEP, _INPUTS),  # clocked once
    NodeMessage.STEP_REPLY: _message(NodeMessage.STEP_REPLY, _OUTPUTS),
    NodeMessage.LOOK: _message(NodeMessage.LOOK, _INPUTS),  # not clocked: a register is read
    NodeMessage.LOOK_REPLY: _message(NodeMessage.LOOK_REPLY, _OUTPUTS),
    NodeMessage.DAMAGED: Struct("type" / Const(NodeMessage.DAMAGED.code, Int8ub)),
    NodeMessage.REFUSED: _message(NodeMessage.REFUSED, "why" / Enum(Int8ub, **Why.codes())),
}

DAMAGED_FRAME = framing.wrap(bytes([NodeMessage.DAMAGED.code]))
SLOTS, LONGEST_FRAME = wire.DATA_SLOTS, wire.MAX_FRAME_FLITS
