"""Writes the reference pages of serial lines: `docs/reference/management.md`, `docs/reference/firmware-loop.md`."""

from collections.abc import Mapping
from typing import Any

from construct import Renamed

from ringhil.protocol.enums import Coded
from ringhil.protocol.generate.tables import parts
from ringhil.protocol.generate.words import FIRMWARE_LOOP, MANAGEMENT, field_docs, words_of
from ringhil.protocol.line import firmware_loop, framing, management

_INTRO = f"""# Management port of a card

<!-- Generated from protocol/line/: do not edit; `make generate` rewrites it. -->

A card has a serial line on which programs look at it and try things: read and write registers of any GPU's node, have
the ring counted, send frames, follow what happens. This is version {management.MAJOR}.{management.MINOR} of its
protocol.

## Framing

    00 | COBS(message, CRC) | 00

A message and its CRC-32/AUTOSAR (4 bytes, most significant first) are encoded by
[COBS](https://doi.org/10.1109/90.769765), which leaves no zero byte in them, and stand between two zero bytes. Who
hears nonsense waits for the next zero byte; what is no message is counted and otherwise ignored, so a damaged request
is not answered, and whoever waits for the answer asks again. A message has {framing.LONGEST:,} bytes at most, its CRC
not counted.

## Messages

All numbers are unsigned, most significant byte first. Each message begins with its type and an id:

| byte | field | bits |
|---:|---|---:|
| 0 | type | 8 |
| 1 | id | 16 |

A request is answered by the reply of its type (type + 0x{management.REPLY:02X}) or by `refused`, under the id of the
request. A client may have several requests under way; they are carried out and answered in the order in which they
came, but for `census`, which is answered when the round is over, and `free_context`, when the GPU has said so;
{management.COUNTING} censuses of a client's may be under way, more may be refused with `busy`. Events have id 0.
Times are cycles of the ring's clock since power-up.

Whose answer doesn't come asks again: the same bytes under the same id. A card keeps the answers to the last
{management.KEPT} requests of its client, those that were refused too; one of these that comes again is not done again,
and gets the same answer, a census that is under way its one answer. Other bytes under that id are another request.
`hello` is done each time; it ends what was asked for before it: answers that are kept, subscriptions, events that wait.

A client is told of events of the kinds that it subscribed to last, each once, in the order of their cycles. Frames are
those that the firmware of a GPU takes from its mailbox and puts there, and those that the CPU does; so a census is seen
from its first message to its report, and whatever is sent by `send`. Of these, answers are the results and refusals of
[commands to contexts](contexts.md) that the CPU is brought. An event that finds no room is left out, and
counted by `missed_event` when there is room again, which may be behind the end of a subscription. However much there is
to be told, requests are answered in between.

A context that a client has created with a command ([sent](#send-0x07) to the entry GPU) belongs to it. When the client
goes (its connection ends, or the next one says `hello` on a line that knows no connections) the card destroys it, under
the next number after the client's last, so a launch of a program that was killed ends, and its memory is free; unless
the client has said `keep_contexts`. One whose GPU isn't counted then is destroyed when that is counted again.

A card that injects [faults](scenarios.md#timeline) does what each of them is about until it is ended. Whoever has begun
one, it refuses to begin it again, to end one that isn't set or is for good (hardware that is lost), and values that it
doesn't take. A GPU that is elected is told with the epoch that its censuses have.

Whoever sends commands to contexts is a driver: it numbers them, from 0x80000000 up, and waits for their answers. They
are sent, by port 2, to the GPU that is the entry GPU now; any other is refused with `no_entry_gpu`.

A card refuses what is wrong before it does any of it. It refuses a type that it doesn't know with `unknown_type`, one
that its capabilities leave out with `cannot`. Each GPU of the ring has registers of its own, those of
[the map](protocol.md#register-map-of-a-node); a read shows what they are now.

A later minor version only adds types, kinds of events, and fields at the end of the fixed part of `hello_reply`. A
later major version keeps `hello`, and the first two bytes behind the id of `hello_reply`, as they are here.
"""


_LOOP_PAGE = "firmware-loop.md"
_LOOP = f"""# Firmware loop

<!-- Generated from protocol/line/: do not edit; `make generate` rewrites it. -->

How an emulator runs the firmware of a GPU that is somewhere else: in a library, or on a board at the end of a
serial line ([how to](../howto/firmware.md#your-own-in-a-whole-server)). This is version
{firmware_loop.MAJOR}.{firmware_loop.MINOR} of its protocol. On a line messages are framed as those of a
[management port](management.md#framing); a library takes and gives them as they are.

The emulator asks, the firmware answers, one request at a time: with `done` and the actions that follow from it, or
with `declined`, under the id of the request. `attach` is answered by `attach_reply`. All numbers are unsigned, most
significant byte first. A message has {framing.LONGEST:,} bytes at most, an answer {firmware_loop.MOST_ACTIONS} actions.
The firmware may set a lower bound (`longest` of `attach_reply`): it is not asked anything longer, and may not answer
anything longer; where it would have to be, that is an answer that none may give.

| byte | field | bits |
|---:|---|---:|
| 0 | type | 8 |
| 1 | id, which actions don't have | 16 |

| when | is asked |
|---|---|
| the line is opened, and at each boot | `attach` |
| the GPU boots: who it is, whatever it was before | `boot` |
| behind it: its groups, its link to another card, its ways | `group` once or twice, `crossing`, `routes` |
| it begins | `start` |
| a timer that it has set has run out | `timer` |
| a frame is in its mailbox | `frame` |
| somebody at a management port wants a count | `count_now` |

Times are cycles since power-up; no time passes between a request and its answer. Actions are carried out in their
order. A request that comes again, the same bytes under the same id, is not done again and gets the same answer: it was
lost on the way. Whoever doesn't answer at all is a GPU that hangs.

A later minor version only adds types; a later major one keeps `attach`, and the first two bytes behind the id of
`attach_reply`.
"""


def _message(kind: Coded, definition: Renamed, page: str, number: str) -> list[str]:
    out = [f"### {kind} (0x{kind.code:02X})", ""]
    fixed, tail = parts(definition)
    docs = field_docs(definition, page)
    rows, offset, head = list[str](), 1, "type"
    for name, size in fixed:
        if name == number and offset == 1:
            head += f" and {name}"
        else:
            rows.append(f"| {offset} | {name} | {8 * size} | {docs[name]} |")
        offset += size
    if tail is not None:
        bits = "64 each, to the end" if tail[1] is int else "to the end"
        rows.append(f"| {offset} | {tail[0]} | {bits} | {docs[tail[0]]} |")
    if not rows:
        return [*out, f"Nothing but {head}.", ""]
    return [*out, "| byte | field | bits | |", "|---:|---|---:|---|", *rows, ""]


def messages_of(definitions: Mapping[Any, Renamed], page: str, number: str = "id") -> list[str]:
    """A section of `page` for each message: its fields, but for type and `number`, with which all begin."""
    return [line for kind, definition in definitions.items() for line in _message(kind, definition, page, number)]


def render() -> str:
    """The text of the page about management ports."""
    return (
        "\n".join([_INTRO, *messages_of(management.MESSAGES, "management.md"), *words_of(MANAGEMENT)]).rstrip() + "\n"
    )


def render_loop() -> str:
    """The text of the page about the firmware loop."""
    out = [_LOOP, "## Requests and answers", "", *messages_of(firmware_loop.MESSAGES, _LOOP_PAGE)]
    out += ["## Actions", "", *messages_of(firmware_loop.ACTIONS, _LOOP_PAGE), *words_of(FIRMWARE_LOOP)]
    return "\n".join(out).rstrip() + "\n"
