"""One case, played to its end on a server that stands just before it; and whether its faults were located."""

from collections.abc import Iterable
from dataclasses import dataclass

from ringhil.emulator.host.card import CardView
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import GpuRef, LinkRef, Scenario, TimelineEvent, Trait, having
from ringhil.emulator.scenario.file.faults import LENT
from ringhil.emulator.server.times import times_of

_FAILED, _LIARS, _CUTS = having(Trait.STOPS), having(Trait.LIES), having(Trait.BREAKS)


def located(server: Run, fault: TimelineEvent, faults: list[TimelineEvent]) -> bool | None:
    """Whether `fault`, one of `faults`, is named now; None: nothing has to be."""
    if not isinstance(fault.target, GpuRef | LinkRef) or server.scenario.server.settings.records == "never":
        return None
    view = next(card for card in server.cpu.cards if card.name == fault.target.card)
    if view.entry is None:
        return None
    if isinstance(fault.target, LinkRef):
        return _link(view, fault.kind, fault.target.index)
    return _gpu(server, view, fault.kind, fault.target.index, _kinds(fault, faults))


def _kinds(fault: TimelineEvent, faults: list[TimelineEvent]) -> set[str]:
    """All that strikes the same GPU."""
    return {other.kind for other in faults if other.target == fault.target}


def _gpu(server: Run, view: CardView, kind: str, gpu: int, kinds: set[str]) -> bool | None:
    if gpu == view.entry:
        return None
    if kind == LENT:
        return gpu in server.lent(view) or None  # it may have been no time for it
    if kind in _FAILED or kind == "babble":
        return gpu not in view.members
    if kind == "switch_stuck_bypass":
        return gpu not in view.members and (bool(kinds & _FAILED) or gpu in server.isolated(view))
    if kind == "switch_stuck_through":
        return gpu in view.stranded if kinds & _FAILED else None
    if kind == "duplicate_id" and (gpu - 1) % view.size == view.entry:
        return None  # its number is the entry GPU's, whose messages are then lost: that names nobody
    if kind in _LIARS:
        near = {gpu, (gpu - 1) % view.size, (gpu + 1) % view.size}
        return bool(near & set(view.suspects))
    if kind == "slow":
        return gpu in view.degraded
    return None


def _link(view: CardView, kind: str, link: int) -> bool | None:
    if kind in _CUTS:
        return link in view.gap
    if kind == "link_delay":
        return view.slow_link == link
    if kind == "link_bit_errors":
        return view.noisy_link == link
    return None


_EXTENSIONS = 4  # a role may be lost again while the end of another event is waited for


@dataclass(frozen=True)
class Played:
    """`located`: for each fault in order of time, whether its place was named while it was there; None: nothing has to
    be named. `until`: of the scenario that gives the same outcome."""

    outcome: Outcome
    located: tuple[bool | None, ...]
    until: int | None


def play(server: Run, events: Iterable[TimelineEvent], *, rounds: int | None = 1) -> Played:
    """Strike, play on and judge.

    It is over once every event and every election between cards has had all its time, then `rounds` census rounds more,
    and no work is left; `rounds` None: when the server itself ends the run.
    """
    timeline = tuple(sorted(events, key=lambda event: event.at))
    server.strike(timeline)
    faults = [event for event in timeline if event.begins]
    named: dict[int, bool | None] = {}
    for event in timeline:
        if not event.begins:
            # Just before it is cleared, for afterwards nobody names it any more.
            server.run_to(event.at)
            number = _fault_of(event, faults)
            found = located(server, faults[number], faults)
            named[number] = found or (found if _had_time(server, faults[number]) else None)
    if rounds is not None:
        _end_early(server, timeline, rounds)
    outcome = server.finish()
    named |= {n: located(server, fault, faults) for n, fault in enumerate(faults) if n not in named}
    return Played(outcome, tuple(named[n] for n in range(len(faults))), server.scenario.until)


def _fault_of(clear: TimelineEvent, faults: list[TimelineEvent]) -> int:
    """The fault that is cleared: the last one of its kind at its place."""
    same = [n for n, fault in enumerate(faults) if (fault.kind, fault.where) == (clear.kind, clear.where)]
    return max(n for n in same if faults[n].at <= clear.at)


def _had_time(server: Run, fault: TimelineEvent) -> bool:
    """Whether it has been there for as long as it may take to be dealt with."""
    now = server.kernel.now
    same = [r for r in server.watch.recoveries(now) if (r.fault, r.where, r.at) == (fault.kind, fault.where, fault.at)]
    return any(now - r.at >= r.bound for r in same)


def _end_early(server: Run, timeline: tuple[TimelineEvent, ...], rounds: int) -> None:
    scenario = server.scenario
    if scenario.until is not None or not timeline:
        return
    server.run_to(timeline[-1].at + 1)
    for _ in range(_EXTENSIONS):
        server.run_to(server.watch.settled_by(server.kernel.now) + 1)
    server.run_to(server.kernel.now + rounds * _round(scenario))
    if scenario.workload is None or server.cpu.finished:
        server.end_at(server.kernel.now)


def _round(scenario: Scenario) -> int:
    """Cycles in which a whole census round lies, wherever they begin."""
    settings = scenario.server.settings
    longest = max(times.timeout for times in times_of(scenario.server))
    return settings.census_period + 2 * longest
