"""Judges the items of a scenario's `expect` against what the CPU knows."""

from collections.abc import Callable
from dataclasses import dataclass

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
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
    WorkIs,
)
from ringhil.emulator.server.outcome import Expected


@dataclass
class _Item:
    index: int
    expectation: Expectation
    ok: bool | None = None
    found: str = "nothing yet"


class Expectations:
    """`breaks` names the links of which one is cut, `boundaries` the boundary GPUs by neighbouring card, `isolated`
    the GPUs that their own switches keep out."""

    def __init__(
        self,
        items: tuple[Expectation, ...],
        kernel: Kernel,
        cpu: Cpu,
        breaks: Callable[[CardView], tuple[str, ...]],
        boundaries: Callable[[CardView], dict[str, str]],
        isolated: Callable[[CardView], tuple[int, ...]],
    ) -> None:
        self._items = [_Item(i, e) for i, e in enumerate(items)]
        self._kernel, self._cpu, self._breaks = kernel, cpu, breaks
        self._boundaries, self._isolated = boundaries, isolated
        for item in self._items:
            cycle = item.expectation.cycle
            if cycle is not None:
                kernel.at(cycle, _Look(self, item))

    @property
    def last_cycle(self) -> int:
        """The latest cycle that an item speaks of."""
        return max((i.expectation.cycle or 0 for i in self._items), default=0)

    def news(self) -> None:
        """Something has changed: items that may come true at any time until theirs are looked at."""
        for item in self._items:
            if item.ok is None and item.expectation.kind == "by":
                ok, found = self._judge(item.expectation)
                if ok:
                    item.ok, item.found = True, found

    def look(self, item: _Item) -> None:
        """The item's time has come."""
        if item.ok is None:
            item.ok, item.found = self._judge(item.expectation)

    def end(self) -> tuple[Expected, ...]:
        """The run is over."""
        for item in self._items:
            self.look(item)
        return tuple(
            Expected(i.index, bool(i.ok), i.expectation.line, _text(i.expectation), i.found) for i in self._items
        )

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
            links = self._breaks(card)
            held = str(check.link) in links if check.link else not links
            return None if held else f"break {' or '.join(links) or 'none'}"
        if isinstance(check, EpochIs):
            return None if card.epoch == check.epoch else f"epoch {card.epoch}"
        if isinstance(check, StrandedAre):
            return None if card.stranded == check.gpus else f"stranded {list(card.stranded)}"
        if isinstance(check, IsolatedAre):
            found = self._isolated(card)
            return None if found == check.gpus else f"isolated {list(found)}"
        assert isinstance(check, BoundaryIs)
        gpus = self._boundaries(card).values()
        held = str(check.gpu) in gpus if check.gpu is not None else not gpus
        return None if held else f"boundary {', '.join(gpus) or 'none'}"


class _Look:
    def __init__(self, expectations: Expectations, item: _Item) -> None:
        self._expectations, self._item = expectations, item

    def __call__(self) -> None:
        self._expectations.look(self._item)


def _text(expectation: Expectation) -> str:
    when = "at the end" if expectation.kind == "end" else f"{expectation.kind} {expectation.cycle}"
    return f"{when}: " + "; ".join(map(str, expectation.checks))
