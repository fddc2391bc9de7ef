"""Why it came to something: the messages and events of a recording that led to a count, a role, a rejection.

Read off the recording alone. A chain is in the order in which things happened, what is asked for last.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from ringhil.emulator.debug.items import RecordedItem
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.scenario.file.faults import LENDINGS
from ringhil.emulator.trace.identity import header
from ringhil.emulator.trace.recording import RecordedEvent, RecordedMessage, Recording
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol.frames import Election, Keepalive, Statistics
from ringhil.protocol.wire import Port, Role

WHAT = {"count": ("Counted",), "role": ("Elected", "Deposed"), "rejected": ("Rejected",)}
_TO, _FROM = WAYS.index("to_firmware"), WAYS.index("from_firmware")
_UPLINK = {Role.ENTRY: Port.CPU.code, Role.BOUNDARY: Port.BOUNDARY.code}
_ROLES = {str(role): role for role in Role}
_MOST = 200  # things in a chain
_Fields = dict[str, Any]


def why(recording: Recording, what: str, number: int) -> list[RecordedItem]:
    """What led to the last one up to this number; nothing, where there is none. Raises DebugError."""
    events = [recording.last_event(kind, number) for kind in WHAT[what]]
    found = max((event for event in events if event is not None), key=lambda event: event.number, default=None)
    if found is None or found.cell is None:
        return []
    chain = {"Elected": _elected, "Deposed": _deposed}.get(found.kind, _round)
    try:
        led = set(chain(recording, found, json.loads(found.fields)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DebugError(f"{recording.path}: is damaged: events that {found.kind} refers to: {error!r}"[:200]) from None
    return [*sorted(led, key=lambda item: item.number)[-_MOST:], found]


def _round(recording: Recording, event: RecordedEvent, fields: _Fields) -> Iterator[RecordedItem]:
    """What was done to the server since the count before, the messages of the round, what became of them."""
    counted = recording.last_event("Counted", event.number - 1)
    while counted is not None and counted.cell != event.cell:
        counted = recording.last_event("Counted", counted.number - 1)
    since = 0 if counted is None else counted.number
    yield from _struck(recording, since, event.number, _card(recording, event))
    for item in recording.events(since + 1, event.number - 1):
        rejected = item.kind == "Rejected" and item.cell == event.cell
        if rejected and json.loads(item.fields)["sequence"] == fields["sequence"]:
            yield item
    assert event.cell is not None
    for message in recording.messages_of(event.cell, since + 1, event.number - 1):
        head = header(message.frame) or {}
        if message.kind == Statistics.KIND and head.get("sequence") == fields["sequence"]:
            yield message


def _elected(recording: Recording, event: RecordedEvent, fields: _Fields) -> Iterator[RecordedItem]:
    """The end of the lease before, whom it missed, its claim, the grant."""
    role = _ROLES[fields["role"]]
    card = _card(recording, event)
    before = _elected_before(
        recording, event.number - 1, role, lambda item: item.cell != event.cell and _card(recording, item) == card
    )
    since = 0 if before is None else before.number
    if before is not None:
        yield before
    yield from _struck(recording, since, event.number, None if role is Role.BOUNDARY else card)
    for item in recording.events(since + 1, event.number - 1):
        said = json.loads(item.fields)
        about = said.get("role") == str(role) and (_card(recording, item) == card or role is Role.BOUNDARY)
        if item.kind in ("Deposed", "Lapsed", "Granted") and about:
            yield item
            if item.kind == "Deposed" and _card(recording, item) == card:
                yield from _deposed(recording, item, said)
        elif item.kind == "PeerDown" and about:
            yield item
    assert event.cell is not None
    for message in recording.messages_of(event.cell, since + 1, event.number):
        head = header(message.frame) or {}
        if message.kind == Election.KIND and head.get("role") == role.code and head.get("epoch") == fields["epoch"]:
            yield message


def _deposed(recording: Recording, event: RecordedEvent, fields: _Fields) -> Iterator[RecordedItem]:
    """What a lease was lost by: the last answer of its grantor, and the keepalives since that had none; or the message
    that spoke of a higher epoch."""
    role, card = _ROLES[fields["role"]], _card(recording, event)
    elected = _elected_before(recording, event.number, role, lambda item: item.cell == event.cell)
    since = 0 if elected is None else elected.number
    assert event.cell is not None
    asked: list[RecordedMessage] = []
    answer: RecordedMessage | None = None
    for message in recording.messages_of(event.cell, since, event.number):
        head = header(message.frame) or {}
        if message.kind not in (Keepalive.KIND, Election.KIND) or head.get("role") != role.code:
            continue
        if message.way == _TO and head["epoch"] > fields["epoch"]:
            yield message
        if message.port != _UPLINK[role] or message.kind != Keepalive.KIND:
            continue
        if message.way == _FROM:
            asked.append(message)
        elif not message.bad:
            answer = message
            asked = [each for each in asked if (header(each.frame) or {})["sequence"] > head["echo"]]
    if answer is not None:
        yield answer
        yield from _struck(recording, answer.number, event.number, None if role is Role.BOUNDARY else card)
    yield from asked


def _card(recording: Recording, event: RecordedEvent) -> int:
    """The number of the card that an event is about."""
    names = list(dict.fromkeys(gpu.split(".")[0] for gpu in recording.gpus))
    if event.cell is None:
        return int(json.loads(event.fields).get("card", -1))
    return names.index(recording.gpus[event.cell].split(".")[0])


def _struck(recording: Recording, first: int, last: int, card: int | None = None) -> Iterator[RecordedItem]:
    """What was done to the server, or to one of its cards."""
    names = list(dict.fromkeys(gpu.split(".")[0] for gpu in recording.gpus))
    struck = recording.last_event("Struck", last)
    while struck is not None and struck.number > first:
        said = json.loads(struck.fields)
        where = next((str(said[key]) for key in ("gpu", "link", "card", *LENDINGS) if key in said), "")
        if card is None or names[card] in (end.split(".")[0] for end in where.split("-")):
            yield struck
        struck = recording.last_event("Struck", struck.number - 1)


def _elected_before(
    recording: Recording, last: int, role: Role, wanted: Callable[[RecordedEvent], bool]
) -> RecordedEvent | None:
    """The last election to a role of a GPU for which `wanted` holds."""
    found = recording.last_event("Elected", last)
    while found is not None and (json.loads(found.fields)["role"] != str(role) or not wanted(found)):
        found = recording.last_event("Elected", found.number - 1)
    return found
