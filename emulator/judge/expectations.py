"""Judges the items of a scenario's `expect` against what the CPU knows."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.judge.outcome import Expected
from ringhil.emulator.judge.results import Results
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.scenario import (
    BoundaryIs,
    BreakIs,
    Check,
    CountIs,
    EntryIs,
    EpochIs,
    Expectation,
    GpuRef,
    IsolatedAre,
    MembersAre,
    ReachableIs,
    StrandedAre,
    TruthIs,
    WorkIs,
)


@dataclass
class _Item:
    index: int
    expectation: Expectation
    ok: bool | None = None
    found: str = "nothing yet"
    uncounted: set[str] = field(default_factory=set)  # cards whose first accepted count it waits for


class Expectations:
    """`differs` says what of the CPU's view of a card, by number, isn't true."""

    def __init__(
        self,
        items: tuple[Expectation, ...],
        kernel: Kernel,
        cpu: Cpu,
        results: Results,
        differs: Callable[[int], str | None],
    ) -> None:
        names = tuple(card.name for card in cpu.cards)
        self._items = [_Item(i, e, uncounted=_awaited(e, names)) for i, e in enumerate(items)]
        self._kernel, self._cpu, self._results, self._differs_from_truth = kernel, cpu, results, differs
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
                continue
            if item.expectation.kind == "by":
                ok, found = self._judge(item.expectation)
                if ok:
                    item.ok, item.found = True, found
            elif item.expectation.kind == "always":
                self._watch(item)

    def look(self, item: _Item) -> None:
        """The item's time has come."""
        if item.ok is None:
            if item.expectation.kind == "always":
                self._watch(item)
            else:
                item.ok, item.found = self._judge(item.expectation)

    def end(self) -> tuple[Expected, ...]:
        """The run is over."""
        for item in self._items:
            self.look(item)
            if item.ok is None:
                item.ok, item.found = self._held(item)
        return tuple(
            Expected(i.index, bool(i.ok), i.expectation.line, _text(i.expectation), i.found) for i in self._items
        )

    def _watch(self, item: _Item) -> None:
        """What has to hold at every cycle: if it doesn't at this one, that settles it."""
        now, always = self._kernel.now, item.expectation
        item.uncounted -= {card.name for card in self._cpu.cards if card.count}
        if item.uncounted or now < always.since or (always.until is not None and now > always.until):
            return
        ok, found = self._judge(always)
        if not ok:
            item.ok, item.found = False, f"{found} at cycle {now}"

    def _held(self, item: _Item) -> tuple[bool, str]:
        """Nothing was found against what has to hold always; it counts only when there was something to look at."""
        if item.uncounted:
            return False, f"no accepted count of card {', '.join(sorted(item.uncounted))}"
        if self._kernel.now < item.expectation.since:
            return False, f"the end of the run at cycle {self._kernel.now}"
        return True, "as expected"

    def _judge(self, expectation: Expectation) -> tuple[bool, str]:
        wrong = [found for check in expectation.checks if (found := self._differs(check)) is not None]
        return not wrong, "; ".join(wrong) if wrong else "as expected"

    def _differs(self, check: Check) -> str | None:
        """None when the check holds, otherwise what was found."""
        if isinstance(check, WorkIs):
            work = self._cpu.work
            real = {
                "completed": work.completed,
                "lost": work.units - work.completed,
                "duplicated": work.duplicated,
            }
            wanted = {"completed": check.completed, "lost": check.lost, "duplicated": check.duplicated}
            bad = [f"{name} {real[name]}" for name, n in wanted.items() if n is not None and n != real[name]]
            return ", ".join(bad) or None
        card = next(c for c in self._cpu.cards if c.name == check.card)
        if isinstance(check, TruthIs):
            return self._differs_from_truth(card.number)
        if isinstance(check, CountIs):
            return None if card.count == check.count else f"count {card.count}"
        if isinstance(check, MembersAre):
            return None if card.members == check.members else f"members {list(card.members)}"
        if isinstance(check, ReachableIs):
            return None if card.reachable == check.reachable else f"reachable {card.reachable}"
        if isinstance(check, EntryIs):
            entry = None if card.entry is None else GpuRef(card.name, card.entry)
            return None if entry == check.gpu else f"entry {entry or 'none'}"
        if isinstance(check, BreakIs):
            links = self._results.breaks(card)
            held = str(check.link) in links if check.link else not links
            return None if held else f"break {' or '.join(links) or 'none'}"
        if isinstance(check, EpochIs):
            return None if card.epoch == check.epoch else f"epoch {card.epoch}"
        if isinstance(check, StrandedAre):
            return None if card.stranded == check.gpus else f"stranded {list(card.stranded)}"
        if isinstance(check, IsolatedAre):
            found = self._results.isolated(card)
            return None if found == check.gpus else f"isolated {list(found)}"
        assert isinstance(check, BoundaryIs)
        gpus = self._results.boundaries(card).values()
        held = str(check.gpu) in gpus if check.gpu is not None else not gpus
        return None if held else f"boundary {', '.join(gpus) or 'none'}"


class _Look:
    def __init__(self, expectations: Expectations, item: _Item) -> None:
        self._expectations, self._item = expectations, item

    def __call__(self) -> None:
        self._expectations.look(self._item)


def _cycles(expectation: Expectation) -> list[int]:
    """Cycles at which it must be looked at, whether something changes then or not."""
    cycles = (expectation.cycle, expectation.since or None, expectation.until)
    return [cycle for cycle in cycles if cycle is not None]


def _awaited(expectation: Expectation, cards: tuple[str, ...]) -> set[str]:
    """Cards whose first accepted count begins it: those that it names, or all."""
    if expectation.kind != "always" or expectation.since:
        return set()
    named = {check.card for check in expectation.checks if not isinstance(check, WorkIs)}
    return named or set(cards)


def _text(expectation: Expectation) -> str:
    when = "at the end" if expectation.kind == "end" else f"{expectation.kind} {expectation.cycle}"
    if expectation.kind == "always":
        when = "always"
        when += f" from {expectation.since}" if expectation.since else ""
        when += f" until {expectation.until}" if expectation.until is not None else ""
    return f"{when}: " + "; ".join(map(str, expectation.checks))
