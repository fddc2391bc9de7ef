"""Parsed file to Scenario: types and ranges by `model`, then what needs a look at other parts of the file."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from pydantic import ValidationError

from ringhil.emulator.scenario.expect import CHECKS
from ringhil.emulator.scenario.expect.check import Expectation, Reader, When
from ringhil.emulator.scenario.file import model
from ringhil.emulator.scenario.file.check_server import check_server
from ringhil.emulator.scenario.file.check_sharing import check_sharing
from ringhil.emulator.scenario.file.check_switching import check_switching
from ringhil.emulator.scenario.file.check_timeline import check_lines, check_timeline
from ringhil.emulator.scenario.file.explain import explain
from ringhil.emulator.scenario.file.faults import PARAMETERS
from ringhil.emulator.scenario.file.model import INVARIANTS
from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.scenario import Scenario
from ringhil.emulator.scenario.file.settings import Settings
from ringhil.emulator.scenario.file.sharing import Sharing
from ringhil.emulator.scenario.file.switching import TaskSwitching
from ringhil.emulator.scenario.file.topology import Server, Workload
from ringhil.emulator.scenario.yaml.errors import listing, quoted
from ringhil.emulator.scenario.yaml.marks import Loc, Source, exactly_one

_LINK_STATES = 8  # cycles that the two ends of a link need to see each other's state


def check(source: Source, *, name: str, folder: Path) -> Scenario:
    """`name` unless the file says one; relative data paths start at `folder`. Raises ScenarioError."""
    try:
        written = model.Scenario.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source) from None
    server = check_server(source, written.server)
    resolver = Resolver(source, {card.name: card for card in server.cards}, server.boundary_links)
    workload = _workload(source, written.workload, server, folder)
    units = workload.units if workload else None
    sharing = check_sharing(source, resolver, server.settings, written.sharing, units)
    switching = check_switching(source, resolver, server.settings, written.switching, folder)
    _check_played(source, written, switching)
    _check_delays(source, written.timeline, server)
    _check_babblers(source, written.timeline, server.settings)
    return Scenario(
        name=written.name or name,
        seed=written.seed,
        server=server,
        workload=workload,
        sharing=sharing,
        switching=switching,
        timeline=check_timeline(source, resolver, written.timeline),
        lines=check_lines(source, [card.name for card in server.cards], written.timeline),
        until=written.until,
        expect=ExpectChecker(source, resolver, workload, sharing, switches=written.switching is not None).all(
            written.expect
        ),
        invariants=frozenset(name for name in INVARIANTS if getattr(written.invariants, name)),
    )


def _check_played(source: Source, written: model.Scenario, switching: TaskSwitching | None) -> None:
    """Nothing that the file speaks of lies beyond the end that it sets: it would never be played or looked at."""
    end = written.until
    if end is None:
        return

    def check(loc: Loc, most: int) -> None:
        found = source.found(loc)
        if isinstance(found, int) and found > most:
            ends = f"the run ends at cycle {end} ('until' in line {source.mark(('until',)).line})"
            raise source.error(loc, f"found {found}; {ends}: allowed is {most} at most")

    for n, _ in enumerate(written.timeline):
        check(("timeline", n, "at"), end - 1)  # what begins in the last cycle changes nothing
    for n, _ in enumerate(written.expect):
        for key in ("at", "by", "from", "until"):
            check(("expect", n, key), end)
    for name in written.sharing.applications if written.sharing else ():
        check(("sharing", "applications", name, "start"), end - 1)
    if switching is not None:
        for n, _ in enumerate(switching.requests):
            check(("switching", "requests", n, "after"), (end - 1) * switching.cycle // 1000)


def longest_delay(server: Server) -> int:
    """Most cycles that `link_delay` may add on this server; below 1 where it can't be used at all."""
    return (server.settings.link_restore - _LINK_STATES) // 2


def _check_delays(source: Source, timeline: Sequence[model.Event], server: Server) -> None:
    """The two ends of a link agree only when it is back for longer than its round trip takes."""
    most = longest_delay(server)
    for n, event in enumerate(timeline):
        if event.fault == "link_delay" and (delay := event.delay or PARAMETERS["delay"].default) > most:
            problem = f"found {delay}; with a link_restore of {server.settings.link_restore} allowed are 1 .. {most}"
            given = event.delay is not None
            raise source.error(("timeline", n, "delay" if given else "fault"), f"link_delay: {problem}")


def _check_babblers(source: Source, timeline: Sequence[model.Event], settings: Settings) -> None:
    """A babbling GPU is muted, unless it stays within what it is allowed."""
    period, most = settings.allowance_period, settings.most_allowance
    for n, event in enumerate(timeline):
        if event.fault == "babble" and settings.allowance > most:
            allowed = f"with an allowance_period of {period} it may be {most} at most"
            problem = f"babble: an allowance of {settings.allowance} frames never mutes anybody; {allowed}"
            raise source.error(("timeline", n, "fault"), problem)


def _workload(source: Source, written: model.Workload | None, server: Server, folder: Path) -> Workload | None:
    if written is None:
        return None
    exactly_one(source, ("workload",), model.WORKLOADS)
    if written.across and not server.boundary_links:
        problem = f"found {written.across}; there are no boundary links to cross, so allowed is 0"
        raise source.error(("workload", "across"), problem)
    if written.across and server.settings.records == "never":
        problem = f"found {written.across}; with `records: never` no boundary GPU is found, so allowed is 0"
        raise source.error(("workload", "across"), problem)
    data = None if written.data is None else folder / written.data
    return Workload(written.units, data, written.size, written.across)


class ExpectChecker:
    """Checks the entries of `expect` against the rest of the file; every method raises ScenarioError."""

    def __init__(
        self,
        source: Source,
        resolver: Resolver,
        workload: Workload | None,
        sharing: Sharing | None = None,
        *,
        switches: bool = False,
    ) -> None:
        self.source = source
        names = [application.name for application in sharing.applications] if sharing else []
        self._reader = Reader(source, resolver, workload, names, switches)

    def all(self, written: Sequence[model.Expectation]) -> tuple[Expectation, ...]:
        return tuple(self._one(("expect", n), entry) for n, entry in enumerate(written))

    def _one(self, loc: Loc, written: model.Expectation) -> Expectation:
        kind, cycle = self._when(loc, written)
        given = ((check, getattr(written, check.attribute())) for check in CHECKS)
        read = (check.read(self._reader, (*loc, check.KEY), value) for check, value in given if value is not None)
        checks = tuple(chain.from_iterable(read))
        if not checks:
            raise self.source.error(loc, f"nothing to check; allowed: {listing(check.KEY for check in CHECKS)}")
        line = self.source.mark(loc).line
        return Expectation(kind, cycle, checks, line, written.from_ or 0, written.until)

    def _when(self, loc: Loc, written: model.Expectation) -> tuple[When, int | None]:
        kind = exactly_one(self.source, loc, model.TIMES)
        for key in ("from", "until"):
            if kind is not When.ALWAYS and (*loc, key) in self.source.keys:
                problem = f"key {quoted(key)} beside {quoted(kind)}; it goes with 'always'"
                raise self.source.error((*loc, key), problem, key=True)
        if written.from_ is not None and written.until is not None and written.until < written.from_:
            problem = f"found {written.until}; allowed is {written.from_} ('from') or later"
            raise self.source.error((*loc, "until"), problem)
        return kind, getattr(written, kind) if kind in (When.AT, When.BY) else None
