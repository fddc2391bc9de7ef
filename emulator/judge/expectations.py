"""Judges the items of a scenario's `expect` against what the CPU knows."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.judge.findings import Finding, FindingKind, say, sort_of
from ringhil.emulator.judge.outcome import Expected
from ringhil.emulator.judge.results import Results
from ringhil.emulator.judge.switching.outcome import SwitchingOutcome
from ringhil.emulator.judge.work.ledger import Ledger
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.scenario import Check, Expectation, GpuRef, LinkRef, When
from ringhil.emulator.scenario.expect import SwitchingIs

EXPECT = "expectation"  # the promise of what a scenario expects


@dataclass
class _Item:
    index: int
    expectation: Expectation
    ok: bool | None = None
    found: str = "nothing yet"
    uncounted: set[str] = field(default_factory=set)  # cards whose first accepted count it waits for
    at: int = 0  # cycle at which it came true
    failed: int | None = None  # cycle at which what has to hold always did not
    too_early: int | None = None  # the same, before an event struck that it must outlive
    later: int | None = None  # cycle at which it came true after it had failed


class _Findings:
    """What the CPU knows, for checks; cards by their names."""

    def __init__(
        self,
        cpu: Cpu,
        results: Results,
        differs: Callable[[int], str | None],
        ledger: Ledger,
        switching: Callable[[], SwitchingOutcome | None],
    ) -> None:
        self.work, self._ledger, self.switching = cpu.work, ledger, switching
        self._cards, self._results, self._differs = {card.name: card for card in cpu.cards}, results, differs

    def card(self, name: str) -> CardView:
        return self._cards[name]

    def breaks(self, card: str) -> tuple[LinkRef, ...]:
        return self._results.breaks(self._cards[card])

    def boundaries(self, card: str) -> dict[str, str]:
        return self._results.boundaries(self._cards[card])

    def isolated(self, card: str) -> tuple[int, ...]:
        return self._results.isolated(self._cards[card])

    def lent(self, card: str) -> tuple[int, ...]:
        return self._results.lent(self._cards[card])

    def untrue(self, card: str) -> str | None:
        return self._differs(self._cards[card].number)

    def share(self, card: str) -> int:
        return self._ledger.share(self._cards[card].number)

    def sent(self, gpu: GpuRef) -> int:
        return self._ledger.sent(self._cards[gpu.card].number, gpu.index)

    def application(self, name: str) -> TaskReport:
        return self._results.applications.reports[name]


class Expectations:
    """`differs` says what of the CPU's view of a card, by number, isn't true; `switching` how tasks have fared."""

    def __init__(
        self,
        items: tuple[Expectation, ...],
        kernel: Kernel,
        cpu: Cpu,
        results: Results,
        differs: Callable[[int], str | None],
        ledger: Ledger,
        switching: Callable[[], SwitchingOutcome | None],
    ) -> None:
        names = tuple(card.name for card in cpu.cards)
        self._items = [_Item(i, e, uncounted=_awaited(e, names)) for i, e in enumerate(items)]
        self._kernel, self._cpu = kernel, cpu
        self._findings = _Findings(cpu, results, differs, ledger, switching)
        for item in self._items:
            for cycle in _cycles(item.expectation):
                kernel.remind(cycle, _Look(self, item))

    @property
    def last_cycle(self) -> int:
        """The latest cycle that an item speaks of."""
        return max((cycle for item in self._items for cycle in _cycles(item.expectation)), default=0)

    def news(self) -> None:
        """Something has changed: items that may come true at any time until theirs, or have to hold now."""
        for item in self._items:
            if item.ok is not None:
                self._look_again(item)
            elif item.expectation.kind == When.BY:
                ok, found = self._judge(item.expectation)
                if ok:
                    item.ok, item.found, item.at = True, found, self._kernel.now
            elif item.expectation.kind == When.ALWAYS:
                self._watch(item)

    def struck(self) -> None:
        """An event has struck: what had come true by then must come true, or still be so, after it."""
        now = self._kernel.now
        for item in self._items:
            until = item.expectation.cycle
            if item.ok and item.expectation.kind == When.BY and until is not None and now < until:
                item.ok, item.found, item.too_early = None, "nothing yet", item.at

    def look(self, item: _Item) -> None:
        """The item's time has come."""
        if item.ok is None:
            if item.expectation.kind == When.ALWAYS:
                self._watch(item)
            else:
                item.ok, item.found = self._judge(item.expectation)
                if not item.ok and item.too_early is not None:
                    item.found += f" (it was so at cycle {item.too_early}, before the last event: that is too early)"

    def end(self) -> tuple[Expected, ...]:
        """The run is over."""
        now = self._kernel.now
        for item in self._items:
            cycle = item.expectation.cycle
            if item.ok is None and item.expectation.kind == When.AT and cycle is not None and cycle > now:
                item.ok, item.found = False, f"the end of the run at cycle {now}"
            self.look(item)
            if item.ok is None:
                item.ok, item.found = self._held(item)
        return tuple(
            self._expected(item, told)
            for item in self._items
            if (told := [check for check in item.expectation.checks if not check.untold(self._findings)])
        )

    def _expected(self, item: _Item, told: Sequence[Check]) -> Expected:
        self._look_again(item)
        what = item.expectation
        lasts = None if item.ok else item.later is None and not self._judge(what)[0]
        at = item.failed
        if not item.ok and at is None:
            at = self._kernel.now if what.cycle is None else min(what.cycle, self._kernel.now)
        return Expected(
            item.index,
            bool(item.ok),
            what.line,
            _text(what, told),
            item.found,
            at,
            sort_of(f"{EXPECT}: {what.kind}: {', '.join(sorted({check.KEY for check in told}))}", lasts),
            item.later,
            lasts,
        )

    def _look_again(self, item: _Item) -> None:
        """Whether what has failed has come true since; tasks that follow one another are costly to sum up."""
        costly = any(isinstance(check, SwitchingIs) for check in item.expectation.checks)
        if item.ok is False and item.later is None and not costly and self._judge(item.expectation)[0]:
            item.later = self._kernel.now

    def untold(self) -> Iterator[Finding]:
        """What this run can't tell, and why."""
        for item in self._items:
            for check in item.expectation.checks:
                if why := check.untold(self._findings):
                    text = say("expected {}: {}", _text(item.expectation, [check]), why)
                    yield Finding(text, promise=EXPECT, kind=FindingKind.NOT_JUDGED)

    def _watch(self, item: _Item) -> None:
        """What has to hold at every cycle: if it doesn't at this one, that settles it."""
        now, always = self._kernel.now, item.expectation
        if always.until is not None and now > always.until:
            return  # a count that is accepted only now begins nothing any more
        item.uncounted -= {card.name for card in self._cpu.cards if card.count}
        if item.uncounted or now < always.since:
            return
        ok, found = self._judge(always)
        if not ok:
            item.ok, item.found, item.failed = False, f"{found} at cycle {now}", now

    def _held(self, item: _Item) -> tuple[bool, str]:
        """Nothing was found against what has to hold always; it counts only when there was something to look at."""
        if item.uncounted:
            return False, f"no accepted count of card {', '.join(sorted(item.uncounted))}"
        if self._kernel.now < item.expectation.since:
            return False, f"the end of the run at cycle {self._kernel.now}"
        return True, "as expected"

    def _judge(self, expectation: Expectation) -> tuple[bool, str]:
        wrong = [
            _of_card(check, found)
            for check in expectation.checks
            if (found := check.differs(self._findings)) is not None
        ]
        return not wrong, "; ".join(wrong) if wrong else "as expected"


class _Look:
    def __init__(self, expectations: Expectations, item: _Item) -> None:
        self._expectations, self._item = expectations, item

    def __call__(self) -> None:
        self._expectations.look(self._item)


def _of_card(check: Check, found: str) -> str:
    """What was found, with the card that it was found of where that doesn't say so itself."""
    card = check.about
    named = card is None or re.search(rf"(^|[ -])({re.escape(card)}\.[0-9]|card {re.escape(card)}\b)", found)
    return found if named else f"card {card}: {found}"


def _cycles(expectation: Expectation) -> list[int]:
    """Cycles at which it must be looked at, whether something changes then or not."""
    cycles = (expectation.cycle, expectation.since or None, expectation.until)
    return [cycle for cycle in cycles if cycle is not None]


def _awaited(expectation: Expectation, cards: tuple[str, ...]) -> set[str]:
    """Cards whose first accepted count begins it: those that it names, or all."""
    if expectation.kind != When.ALWAYS or expectation.since:
        return set()
    named = {check.about for check in expectation.checks if check.about is not None}
    return named or set(cards)


def _text(expectation: Expectation, checks: Sequence[Check]) -> str:
    when = "at the end" if expectation.kind == When.END else f"{expectation.kind} {expectation.cycle}"
    if expectation.kind == When.ALWAYS:
        when = "always"
        when += f" from {expectation.since}" if expectation.since else ""
        when += f" until {expectation.until}" if expectation.until is not None else ""
    return f"{when}: " + "; ".join(map(str, checks))
