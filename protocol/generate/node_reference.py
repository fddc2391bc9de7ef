"""Writes `docs/reference/node-loop.md`: the reference page of the line to a GPU's hardware outside."""

from ringhil.protocol.generate.line_reference import messages_of
from ringhil.protocol.generate.words import NODE_LOOP, words_of
from ringhil.protocol.line import node_loop

_INTRO = f"""# Node loop

<!-- Generated from protocol/line/: do not edit; `make generate` rewrites it. -->

How an emulator clocks the hardware of a GPU that is somewhere else: in an FPGA at the end of a serial line
([how to](../howto/hil.md#a-gpus-hardware-outside)). This is version {node_loop.MAJOR}.{node_loop.MINOR} of its
protocol. Messages are framed as those of a [management port](management.md#framing).

The emulator asks, the bridge in front of the node answers, one request at a time: by the reply of its type (type +
0x{node_loop.REPLY:02X}) or by `refused`, under the sequence of the request. All numbers are unsigned, most significant
byte first. A request has {node_loop.LONGEST_REQUEST} bytes at most, its CRC counted.

| byte | field | bits |
|---:|---|---:|
| 0 | type | 8 |
| 1 | sequence, which `damaged` doesn't have | 8 |

| when | is asked |
|---|---|
| the line is opened, or it isn't known what was asked last | `hello` |
| the GPU is powered up | `reset` |
| a cycle in which the GPU may do something | `step` |
| a register is read | `look` |

`hello` may have any sequence, and the count goes on from there: each request has one more than the one before it,
round from 255 to 0. A bridge carries a request out once: the one that it has just answered, asked again under its
sequence, gets the same bytes again. It refuses any other that isn't the next (`out_of_order`), what is no request
(`unknown_type`), and `step` and `look` before the first `reset` since it was powered up (`not_reset`). None of these is
done, and none counts as a request. One of wrong length, or that names a group which isn't there (`bad_length`), may be
done by half: it counts, and a `reset` has to follow.

Nothing comes unasked but `damaged`: between two zero bytes stood what is no message, or one that is too long. It has no
sequence, as nobody knows whose it would be; one may stand for several that came while it was on its way. Who hears it,
or no answer, asks again.

## Rows

Both ends keep the node's inputs as a row of bytes, and its outputs as another: of each port the least significant byte
first. Of a row travels what differs from the last time, in groups of {node_loop.GROUP} bytes:

| field | bits | |
|---|---:|---|
| groups | 16 | bit i: something differs in group i; of the groups named, lowest first, follow |
| bytes | 8 | bit j: byte j of the group differs; of the bytes named, lowest first, follow |
| byte | 8 | as it is now |

`reset` begins with rows of zeros. A `step` adds one to `now`, at both ends, before its changes are put in, so `now`
travels only when time has leapt. Places for nothing, behind the last port, stay zero.

Ports are those of `rtl/ring_cell.sv`: [what they mean](hardware.md#ports-of-a-node), and the bits of
[the fault port](protocol.md#bits-of-a-nodes-fault-port) and of
[the links'](protocol.md#bits-of-the-link-channels-fault-port).
"""


def _row(title: str, row: tuple[node_loop.NodePort, ...]) -> list[str]:
    out = [f"### {title}", "", "| byte | group, bit | bytes | here | of the node |", "|---:|---|---:|---|---|"]
    places = node_loop.places(row)
    for port in row:
        group, byte = divmod(places[port.name], node_loop.GROUP)
        out.append(f"| {places[port.name]} | {group}, {byte} | {port.size} | {port.name} | {port.doc} |")
    return [*out, ""]


def render() -> str:
    """The page's text."""
    out = [_INTRO, *_row("Inputs", node_loop.INPUTS), *_row("Outputs", node_loop.OUTPUTS)]
    out += ["## Messages", "", *messages_of(node_loop.MESSAGES, "node-loop.md", "sequence")]
    out += words_of(NODE_LOOP)
    return "\n".join(out).rstrip() + "\n"
