"""The expectations of a file: about cards that exist, and such that they can come true."""

from collections.abc import Sequence
from itertools import chain

from ringhil.emulator.scenario.expect import CHECKS
from ringhil.emulator.scenario.expect.expectation import Expectation, When
from ringhil.emulator.scenario.expect.reader import Reader
from ringhil.emulator.scenario.file import model
from ringhil.emulator.scenario.file.references import Resolver
from ringhil.emulator.scenario.file.sharing import Sharing
from ringhil.emulator.scenario.file.workload import Workload
from ringhil.emulator.scenario.yaml.choice import exactly_one
from ringhil.emulator.scenario.yaml.errors import quoted
from ringhil.emulator.scenario.yaml.marks import Loc, Source
from ringhil.emulator.scenario.yaml.suggest import listing


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
