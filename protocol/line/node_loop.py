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

    UNKNOWN_TYPE = "unknown_type", 1, "it is no request"
    OUT_OF_ORDER = "out_of_order", 2, "neither the last request again nor the next one"
    NOT_RESET = "not_reset", 3, "since the bridge was powered up, or since a request of wrong length"
    BAD_LENGTH = "bad_length", 4, "or a group that isn't there"


@dataclass(frozen=True)
class NodePort:
    """A port of the node, or several small ones beside each other. `size`: bytes in its row; `doc`: what it is of
    `ring_cell`, with the bits from bit 0 where there are several ports."""

    name: str
    size: int
    doc: str


_LINK_BITS = "control bits"
_PARTS = "valid, sof, eof"  # of a flit in a mailbox, from bit 0

INPUTS = (
    NodePort("now", 8, "`now_i`: cycles since power-up"),
    NodePort("p1_data", 8, "`p1_rx_data_i`"),
    NodePort("p2_data", 8, "`p2_rx_data_i`"),
    NodePort("host_data", 8, "`host_rx_data_i`"),
    NodePort("boundary_data", 8, "`boundary_rx_data_i`"),
    NodePort("mtx_data", 8, "`mtx_data_i`: a flit from the firmware"),
    NodePort("p1_ctl", 1, f"`p1_rx_ctl_i`: {_LINK_BITS}"),
    NodePort("p2_ctl", 1, f"`p2_rx_ctl_i`: {_LINK_BITS}"),
    NodePort("host_ctl", 1, f"`host_rx_ctl_i`: {_LINK_BITS}"),
    NodePort("boundary_ctl", 1, f"`boundary_rx_ctl_i`: {_LINK_BITS}"),
    NodePort("mtx_ctl", 1, f"`mtx_*_i`: {_PARTS}, then 2 bits of port"),
    NodePort("reg_we", 1, "`reg_we_i` in bit 0"),
    NodePort("reg_addr", 1, "`reg_addr_i`"),
    NodePort("link_fault", 1, "`link_fault_i`"),
    NodePort("reg_wdata", 4, "`reg_wdata_i`"),
    NodePort("link_delay", 4, "`link_delay_i`: a byte each for port 1, port 2, CPU, other card"),
    NodePort("ber_port1", 2, "`ber_port1_i`"),
    NodePort("ber_port2", 2, "`ber_port2_i`"),
    NodePort("ber_host", 2, "`ber_host_i`"),
    NodePort("ber_boundary", 2, "`ber_boundary_i`"),
    NodePort("fault", 2, "`fault_i`"),
    NodePort("ring_size", 2, "`ring_size_i`"),
    NodePort("node_id", 2, "`node_id_i`"),
    NodePort("card_id", 1, "`card_id_i`"),
)
OUTPUTS = (
    NodePort("p1_data", 8, "`p1_tx_data_o`"),
    NodePort("p2_data", 8, "`p2_tx_data_o`"),
    NodePort("host_data", 8, "`host_tx_data_o`"),
    NodePort("boundary_data", 8, "`boundary_tx_data_o`"),
    NodePort("mrx0_data", 8, "`mrx0_data_o`: a flit to the firmware, from port 1"),
    NodePort("mrx1_data", 8, "`mrx1_data_o`: from port 2"),
    NodePort("mrx2_data", 8, "`mrx2_data_o`: from the CPU"),
    NodePort("mrx3_data", 8, "`mrx3_data_o`: from the other card"),
    NodePort("wake_at", 8, "`wake_at_o`"),
    NodePort("p1_ctl", 1, f"`p1_tx_ctl_o`: {_LINK_BITS}"),
    NodePort("p2_ctl", 1, f"`p2_tx_ctl_o`: {_LINK_BITS}"),
    NodePort("host_ctl", 1, f"`host_tx_ctl_o`: {_LINK_BITS}"),
    NodePort("boundary_ctl", 1, f"`boundary_tx_ctl_o`: {_LINK_BITS}"),
    NodePort("mrx_ctl", 2, f"`mrx*_ctl_o`, 4 bits each, that of port 1 lowest: {_PARTS}, bad"),
    NodePort("mtx_ready", 1, "`mtx_ready_o` in bit 0"),
    NodePort("quiescent", 1, "`quiescent_o` in bit 0"),
    NodePort("reg_rdata", 4, "`reg_rdata_o`: of the register at `reg_addr_i`"),
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


def _inputs(then: str) -> object:
    return "inputs" / GreedyBytes * f"what differs in their row; then the GPU is {then}"


_OUTPUTS = "outputs" / GreedyBytes * "what differs in their row"

MESSAGES = {
    NodeMessage.HELLO: _message(NodeMessage.HELLO),
    NodeMessage.HELLO_REPLY: _message(
        NodeMessage.HELLO_REPLY,
        "major" / Int8ub * "of the protocol's version",
        "minor" / Int8ub * "of the protocol's version",
        "layout" / Int32ub * f"0x{LAYOUT:08X}: a number for names, sizes and order of both rows",
        "slots" / Int8ub * "frames that the buffer of a data channel holds: credits at its other end",
        "longest" / Int16ub * "flits of the longest control frame",
    ),
    NodeMessage.RESET: _message(NodeMessage.RESET, _inputs("clocked twice in reset")),
    NodeMessage.RESET_REPLY: _message(NodeMessage.RESET_REPLY, _OUTPUTS),
    NodeMessage.STEP: _message(NodeMessage.STEP, _inputs("clocked once")),
    NodeMessage.STEP_REPLY: _message(NodeMessage.STEP_REPLY, _OUTPUTS),
    NodeMessage.LOOK: _message(NodeMessage.LOOK, _inputs("not clocked: a register is read")),
    NodeMessage.LOOK_REPLY: _message(NodeMessage.LOOK_REPLY, _OUTPUTS),
    NodeMessage.DAMAGED: Struct("type" / Const(NodeMessage.DAMAGED.code, Int8ub)),
    NodeMessage.REFUSED: _message(NodeMessage.REFUSED, "why" / Enum(Int8ub, **Why.codes()) * "in one word"),
}

DAMAGED_FRAME = framing.wrap(bytes([NodeMessage.DAMAGED.code]))
SLOTS, LONGEST_FRAME = wire.DATA_SLOTS, wire.MAX_FRAME_FLITS
