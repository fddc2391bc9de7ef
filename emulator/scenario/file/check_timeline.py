"""The timeline of a file: what is hit exists, and faults are set and cleared in an order that makes sense."""

from collections.abc import Iterator, Sequence

from ringhil.emulator.scenario.file import model
from ringhil.emulator.scenario.file.faults import (
    FAULTS,
    LENDINGS,
    LENT,
    LINE_FAULTS,
    PARAMETERS,
    EventAction,
    Fault,
    FaultTarget,
    LineEvent,
    PartKind,
)
from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.scenario import TimelineEvent
from ringhil.emulator.scenario.file.topology import CrossRef, GpuRef, LinkRef
from ringhil.emulator.scenario.yaml.errors import listing, unknown
from ringhil.emulator.scenario.yaml.marks import Loc, Source, exactly_one

_EXAMPLES = {
    FaultTarget.RING_LINK: "link: a.5-a.6",
    FaultTarget.BOUNDARY_LINK: "link: a.4-b.3",
    FaultTarget.LINK: "link: a.5-a.6",
}
_CUTS = {FaultTarget.RING_LINK: "link_cut", FaultTarget.BOUNDARY_LINK: "boundary_link_cut"}


def check_timeline(source: Source, resolver: Resolver, written: Sequence[model.Event]) -> tuple[TimelineEvent, ...]:
    """The events in order of time, but for those of management lines. Raises ScenarioError."""
    events: list[tuple[Loc, TimelineEvent]] = []
    for n, event in enumerate(written):
        if (event.fault or event.clear) in LINE_FAULTS and not (event.fault and event.clear):
            continue
        loc: Loc = ("timeline", n)
        events += ((loc, found) for found in _events(source, resolver, loc, event))
    events.sort(key=lambda placed: placed[1].at)
    _check_order(source, events)
    return tuple(event for _, event in events)


def _events(source: Source, resolver: Resolver, loc: Loc, written: model.Event) -> Iterator[TimelineEvent]:
    """One for each GPU or link that it names."""
    action = exactly_one(source, loc, model.ACTIONS)
    if action in LENDINGS:
        yield from _lendings(source, resolver, loc, written, action)
        return
    kind = written.fault or written.clear or ""
    if kind not in FAULTS:
        raise source.error((*loc, action), unknown("fault", kind, [*FAULTS, *LINE_FAULTS]))
    if written.card is not None:
        raise source.error((*loc, "card"), f"{kind} takes no card; it takes a {FAULTS[kind].target}", key=True)
    targets = _targets(source, resolver, loc, written, action, kind)
    value = _value(source, loc, written, action, kind)
    for target, against in targets:
        yield TimelineEvent(
            at=written.at,
            action=action,
            kind=kind,
            target=target,
            count=written.count,
            line=source.mark(loc).line,
            value=value,
            reverse=against and kind == "link_one_way",
        )


def _lendings(
    source: Source, resolver: Resolver, loc: Loc, written: model.Event, action: EventAction
) -> Iterator[TimelineEvent]:
    for key in (*model.TARGETS, "card", "count", *PARAMETERS):
        if getattr(written, key) is not None:
            raise source.error((*loc, key), f"'{action}' takes no {key}; it names its GPU itself", key=True)
    found = list[GpuRef]()
    for i, text in enumerate(getattr(written, action)):
        gpu = resolver.gpu((*loc, action, i), text)
        if gpu in found:
            raise source.error((*loc, action, i), f"{text} stands here twice; each may once")
        found.append(gpu)
        yield TimelineEvent(written.at, action, LENT, gpu, None, source.mark(loc).line)


def _value(source: Source, loc: Loc, written: model.Event, action: EventAction, kind: str) -> int | None:
    """The parameter of the fault; nothing is given that it doesn't take."""
    parameter = FAULTS[kind].parameter
    for key in ("count", *PARAMETERS):
        if getattr(written, key) is None:
            continue
        if action is EventAction.CLEAR:
            raise source.error((*loc, key), f"'clear' takes no {key}; 'fault' does", key=True)
        takers = [name for name, fault in FAULTS.items() if key in fault.takes]
        if kind not in takers:
            problem = f"{kind} takes no {key}; these faults do: {listing(takers)}"
            raise source.error((*loc, key), problem, key=True)
    if parameter is None or action is EventAction.CLEAR:
        return None
    given: int | None = getattr(written, parameter)
    return PARAMETERS[parameter].default if given is None else given


def _targets(
    source: Source, resolver: Resolver, loc: Loc, written: model.Event, action: EventAction, kind: str
) -> list[tuple[GpuRef | LinkRef | CrossRef, bool]]:
    """What is hit, and whether a link is written against its own direction."""
    fault = FAULTS[kind]
    for wrong in model.TARGETS:
        if wrong != fault.target and getattr(written, wrong) is not None:
            raise source.error((*loc, wrong), f"{kind} takes no {wrong}; it takes a {fault.target}", key=True)
    place = (*loc, fault.target)
    given = written.link if fault.target is PartKind.LINK else written.gpu
    if given is None:
        example = _EXAMPLES.get(fault.hits, "gpu: a.3")
        raise source.error((*loc, action), f"{kind} without a {fault.target}; say where, e.g. {example}")
    found: list[tuple[GpuRef | LinkRef | CrossRef, bool]] = []
    for i, text in enumerate(given):
        at = (*place, i)
        if fault.target is PartKind.LINK:
            one: tuple[GpuRef | LinkRef | CrossRef, bool] = _link(source, resolver, at, text, kind)
        else:
            one = _gpu(resolver, at, text, fault), False
        # The two directions of a link are one place, except to what strikes one of them only.
        if any(one[0] == other[0] and (kind != "link_one_way" or one[1] == other[1]) for other in found):
            raise source.error(at, f"{text} stands here twice; each may once")
        found.append(one)
    return found


def _gpu(resolver: Resolver, loc: Loc, text: str, fault: Fault) -> GpuRef:
    gpu = resolver.gpu(loc, text)
    match fault.hits:
        case FaultTarget.HOST_LINKED:
            return resolver.host_linked(loc, gpu)
        case FaultTarget.KEEPING_ALIVE:
            return resolver.with_keepalives(loc, gpu)
    return gpu


def _link(source: Source, resolver: Resolver, loc: Loc, text: str, kind: str) -> tuple[LinkRef | CrossRef, bool]:
    hits = FAULTS[kind].hits
    link, against = resolver.link(loc, text, hits)
    found = FaultTarget.RING_LINK if isinstance(link, LinkRef) else FaultTarget.BOUNDARY_LINK
    if hits not in (found, FaultTarget.LINK):
        raise source.error(loc, f"{kind} takes a {hits}, and {text} is a {found}; use {_CUTS[found]} there")
    return link, against


def _check_order(source: Source, events: Sequence[tuple[Loc, TimelineEvent]]) -> None:
    active: dict[tuple[str, GpuRef | LinkRef | CrossRef, bool], TimelineEvent] = {}
    for loc, event in events:
        what = (event.kind, event.target, event.reverse)
        since = active.get(what)
        if not event.begins:
            if since is None:
                problem = f"{event.kind} is not active at {event.where} at cycle {event.at}; set it first"
                if event.lends:
                    problem = f"{event.where} is not lent at cycle {event.at}; lend it first"
                raise source.error((*loc, str(event.action)), problem)
            del active[what]
        elif since is not None and (since.count is None or since.at == event.at):
            problem = (
                f"{event.kind} is active at {event.where} since cycle {since.at} (line {since.line}); "
                "clear it before setting it again"
            )
            if event.lends:
                problem = f"{event.where} is lent since cycle {since.at} (line {since.line}); take it back first"
            raise source.error((*loc, str(event.action)), problem)
        else:
            active[what] = event  # a counted fault may have ended by itself, so it may be set again


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
