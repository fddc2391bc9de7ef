"""The timeline of a file: faults and targets that exist, set and cleared in an order that makes sense."""

from collections.abc import Sequence

from ringhil.emulator.scenario import model
from ringhil.emulator.scenario.choice import exactly_one
from ringhil.emulator.scenario.errors import quoted
from ringhil.emulator.scenario.faults import FAULTS, PLANNED, Fault
from ringhil.emulator.scenario.marks import Loc, Source
from ringhil.emulator.scenario.references import Resolver
from ringhil.emulator.scenario.scenario import TimelineEvent
from ringhil.emulator.scenario.suggest import listing, unknown
from ringhil.emulator.scenario.topology import GpuRef, LinkRef


def check_timeline(source: Source, resolver: Resolver, written: Sequence[model.Event]) -> tuple[TimelineEvent, ...]:
    """In order of time. Raises ScenarioError."""
    events: list[tuple[Loc, TimelineEvent]] = []
    for n, event in enumerate(written):
        loc: Loc = ("timeline", n)
        events.append((loc, _event(source, resolver, loc, event)))
    events.sort(key=lambda placed: placed[1].at)
    _check_order(source, events)
    return tuple(event for _, event in events)


def _event(source: Source, resolver: Resolver, loc: Loc, written: model.Event) -> TimelineEvent:
    action = exactly_one(source, loc, model.ACTIONS)
    kind = written.fault or written.clear or ""
    fault = _fault(source, (*loc, action), kind)
    target = _target(source, resolver, loc, written, action, kind, fault)
    if written.count is not None and action == "clear":
        raise source.error((*loc, "count"), "'clear' takes no count; 'fault' does", key=True)
    if written.count is not None and not fault.counted:
        counted = listing(name for name, f in FAULTS.items() if f.counted) or "none yet"
        raise source.error((*loc, "count"), f"{kind} takes no count; these faults do: {counted}", key=True)
    return TimelineEvent(written.at, action, kind, target, written.count, source.mark(loc).line)


def _fault(source: Source, loc: Loc, kind: str) -> Fault:
    if kind in FAULTS:
        return FAULTS[kind]
    if kind in PLANNED:
        raise source.error(loc, f"fault {quoted(kind)} is not supported yet; supported: {listing(FAULTS)}")
    raise source.error(loc, unknown("fault", kind, FAULTS))


def _target(
    source: Source, resolver: Resolver, loc: Loc, written: model.Event, action: str, kind: str, fault: Fault
) -> GpuRef | LinkRef:
    for wrong in model.TARGETS:
        if wrong != fault.target and getattr(written, wrong) is not None:
            raise source.error((*loc, wrong), f"{kind} takes no {wrong}; it takes a {fault.target}", key=True)
    if fault.target == "link" and written.link is not None:
        return resolver.link((*loc, "link"), written.link)
    if fault.target == "gpu" and written.gpu is not None:
        return resolver.gpu((*loc, "gpu"), written.gpu)
    example = "link: a.5-a.6" if fault.target == "link" else "gpu: a.3"
    raise source.error((*loc, action), f"{kind} without a {fault.target}; say where, e.g. {example}")


def _check_order(source: Source, events: Sequence[tuple[Loc, TimelineEvent]]) -> None:
    active: dict[tuple[str, GpuRef | LinkRef], TimelineEvent] = {}
    for loc, event in events:
        what = (event.kind, event.target)
        since = active.get(what)
        if event.action == "clear":
            if since is None:
                problem = f"{event.kind} is not active at {event.target} at cycle {event.at}; set it first"
                raise source.error((*loc, "clear"), problem)
            del active[what]
        elif since is not None and since.count is None:
            problem = (
                f"{event.kind} is active at {event.target} since cycle {since.at} (line {since.line}); "
                "clear it before setting it again"
            )
            raise source.error((*loc, "fault"), problem)
        else:
            active[what] = event  # a counted fault may have ended by itself, so it may be set again
