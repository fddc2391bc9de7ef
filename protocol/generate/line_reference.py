"""Writes `docs/management.md`: the reference page of a card's management port."""

from construct import Renamed

from ringhil.protocol.enums import Bits, Coded
from ringhil.protocol.generate.messages import parts
from ringhil.protocol.line import framing, management
from ringhil.protocol.line.management import MESSAGES, Type

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
came, but for `census`, which is answered when the round is over; {management.COUNTING} of a client's may be under way,
more may be refused with `busy`. Events have id 0. Times are cycles of the ring's clock
since power-up.

Whose answer doesn't come asks again: the same bytes under the same id. A card keeps the answers to the last
{management.KEPT} requests of its client, those that were refused too; one of these that comes again is not done again,
and gets the same answer, a census that is under way its one answer. Other bytes under that id are another request.
`hello` is done each time; it ends what was asked for before it: answers that are kept, subscriptions, events that wait.

A client is told of events of the kinds that it subscribed to last, each once, in the order of their cycles. Frames are
those that the firmware of a GPU takes from its mailbox and puts there, and those that the CPU does; so a census is seen
from its first message to its report, and whatever is sent by `send`. An event that finds no room is left out, and
counted by `missed_event` when there is room again, which may be behind the end of a subscription. However much there is
to be told, requests are answered in between.

A card that injects [faults](scenarios.md#timeline) does what each of them is about until it is ended. It refuses to
begin one that is set, to end one that isn't, and values that it doesn't take. A GPU that is elected is told with the
epoch that its censuses have.

A card refuses what is wrong before it does any of it. It refuses a type that it doesn't know with `unknown_type`, one
that its capabilities leave out with `cannot`. Each GPU of the ring has registers of its own, those of
[the map](protocol.md#register-map-of-a-node); a read shows what they are now.

A later minor version only adds types, and fields at the end of the fixed part of `hello_reply`. A later major version
keeps `hello`, and the first two bytes behind the id of `hello_reply`, as they are here.
"""
_TABLES: tuple[tuple[str, type[Coded] | type[Bits]], ...] = (
    ("Capabilities of a card", management.Capability),
    ("Kinds of events", management.EventKind),
    ("Why a request is refused", management.Refusal),
    ("Faults", management.LineFault),
    ("What becomes of a fault", management.Injection),
    ("Ways of a frame", management.Way),
)


def _message(kind: Type, definition: Renamed) -> list[str]:
    out = [f"### {kind} (0x{kind.code:02X})", ""]
    fixed, tail = parts(definition)
    docs = {str(sub.name): sub.docs or "" for sub in definition.subcons}
    rows, offset = list[str](), 3
    for name, size in fixed[1:]:
        rows.append(f"| {offset} | {name} | {8 * size} | {docs[name]} |")
        offset += size
    if tail is not None:
        rows.append(f"| {offset} | {tail[0]} | to the end | {docs[tail[0]]} |")
    if not rows:
        return [*out, "Nothing but type and id.", ""]
    return [*out, "| byte | field | bits | |", "|---:|---|---:|---|", *rows, ""]


def render() -> str:
    """The page's text."""
    out = [_INTRO]
    for kind, definition in MESSAGES.items():
        out += _message(kind, definition)
    for heading, words in _TABLES:
        mask = issubclass(words, Bits)
        out += [f"## {heading}", "", "| name | value |", "|---|---:|"]
        out += [f"| {name} | {f'0x{value:04X}' if mask else value} |" for name, value in words.codes().items()]
        out.append("")
    return "\n".join(out).rstrip() + "\n"
