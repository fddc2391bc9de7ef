"""Events of management lines in a file's timeline: cards that exist, set and cleared in an order that makes sense."""

from collections.abc import Sequence

from ringhil.emulator.scenario.file import model
from ringhil.emulator.scenario.file.faults import PARAMETERS, EventAction
from ringhil.emulator.scenario.file.line_faults import LINE_FAULTS, LineEvent
from ringhil.emulator.scenario.yaml.marks import Source
from ringhil.emulator.scenario.yaml.suggest import listing, unknown


def check_lines(source: Source, cards: Sequence[str], written: Sequence[model.Event]) -> tuple[LineEvent, ...]:
    """The events of lines, in order of time. Raises ScenarioError."""
    found = [(n, _event(source, cards, n, event)) for n, event in enumerate(written) if _kind(event) in LINE_FAULTS]
    found.sort(key=lambda placed: placed[1].at)
    active = set[tuple[str, str]]()
    for n, event in found:
        place = (event.kind, event.card)
        if event.begins == (place in active):
            state = "is active" if event.begins else "is not active"
            problem = f"{event.kind} {state} at card {event.card} at cycle {event.at}"
            raise source.error(("timeline", n, str(event.action)), problem)
        (active.add if event.begins else active.discard)(place)
    return tuple(event for _, event in found)


def _kind(event: model.Event) -> str:
    return event.fault or event.clear or ""


def _event(source: Source, cards: Sequence[str], n: int, written: model.Event) -> LineEvent:
    loc, kind = ("timeline", n), _kind(written)
    action = EventAction.FAULT if written.fault else EventAction.CLEAR
    takes_rate = LINE_FAULTS[kind].rated and action is EventAction.FAULT
    for key in (*model.TARGETS, "count", *PARAMETERS):
        if getattr(written, key) is not None and not (key == "rate" and takes_rate):
            allowed = ["card", *(["rate"] if takes_rate else [])]
            raise source.error((*loc, key), f"{action} {kind} takes no {key}; it takes {listing(allowed)}", key=True)
    if written.card is None:
        raise source.error((*loc, action), f"{kind} without a card; say which, e.g. card: {cards[0]}")
    if written.card not in cards:
        raise source.error((*loc, "card"), unknown("card", written.card, cards))
    rate = (written.rate or PARAMETERS["rate"].default) if takes_rate else None
    return LineEvent(written.at, action, kind, written.card, source.mark(loc).line, rate)
