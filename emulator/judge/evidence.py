"""What invariants are judged by when a run is over."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ringhil.emulator.host.contexts.command import ContextRef, Gpu
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.tasks.applications import Applications
from ringhil.emulator.host.tasks.training import TaskReport
from ringhil.emulator.judge.census.names import Names
from ringhil.emulator.judge.census.orphans import Orphans
from ringhil.emulator.judge.conduct import Conduct
from ringhil.emulator.judge.contexts.commands_seen import TWINS
from ringhil.emulator.judge.contexts.tasks_conduct import TasksConduct
from ringhil.emulator.judge.findings import Finding, Name, Statement, Value, say
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.emulator.judge.work.acceptance import Acceptance
from ringhil.emulator.server.wiring import Wiring


@dataclass(frozen=True)
class RunEvidence:
    """`now`: the cycle at which it ended. `switching`: what the policy forbids by which tasks follow one another."""

    now: int
    wiring: Wiring
    cpu: Cpu
    watch: Watch
    orphans: Orphans
    acceptance: Acceptance
    names: Names
    conduct: Conduct
    applications: Applications
    switching: tuple[str, ...] = ()

    @property
    def tasks(self) -> TasksConduct:
        """How tasks, contexts and their GPUs went about it."""
        return self.conduct.tasks

    def wrong_accounts(self) -> Iterator[Statement]:
        """What applications say of themselves that isn't so, and those that have failed without a reason."""
        for name, (place, report) in self.applications.by_context().items():
            excused = self.tasks.excused((place.card, place.gpu, place.context), report)
            if report.failed is not None and not excused and not self.watch.uncountable(place.card):
                yield say("{} has failed ({}), and no GPU has given it a reason", Value(name), report.failed)
        for name, place, report in self._undisturbed():
            happened = self.tasks.isolation.ended.get(((place.card, place.gpu), place.context), 0)
            # One whose GPU was lost may have missed the last of them.
            if not 0 <= happened - report.steps <= (report.failed is not None):
                text = "{} says that it has done {} steps; {} of its launches were done"
                yield say(text, Value(name), report.steps, happened)
        for gpu, text in self._accounts():
            if self.tasks.isolation.known(gpu):
                yield text

    def doubts(self) -> Iterator[Statement]:
        """Accounts that might be wrong, and why nobody knows."""
        for gpu, text in self._accounts():
            if not self.tasks.isolation.known(gpu):
                yield say("{}: {}", text, TWINS)

    def _accounts(self) -> Iterator[tuple[Gpu, Statement]]:
        """Applications whose own account of their time on the GPU isn't what their launches had. Of one whose GPU was
        lost as it asked, or that has failed, it isn't known."""
        isolation = self.tasks.isolation
        for name, place, report in self._undisturbed():
            happened, said = isolation.ran.get(((place.card, place.gpu), place.context), 0), report.run or 0
            lost = report.run is None and self.tasks.excused(
                (place.card, place.gpu, place.context), report, by=self.now
            )
            asked = self.applications.finished and report.failed is None and not lost
            if asked and said != happened:
                text = "{} says that it had the GPU for {} cycles; its launches had {}"
                yield (place.card, place.gpu), say(text, Value(name), said, happened)

    def unknown(self) -> Iterator[Statement]:
        """Applications that have failed on a card that can't be counted."""
        for name, (place, report) in self.applications.by_context().items():
            if report.failed is not None and self.watch.uncountable(place.card):
                card = Name(self.wiring.cards[place.card].name)
                yield say("application {}: card {} can't be counted", Value(name), card)

    def lasts(self, found: Finding) -> bool:
        """Whether what was found is still so: it was found at the end, or a card that it names (any, if it names none)
        is still not as it must be."""
        if found.at is None:
            return True
        names = [card.name for card in self.wiring.cards]
        named = {
            number
            for place in found.places
            for number, name in enumerate(names)
            if place.numbers is None and re.search(rf"(^|-){re.escape(name)}($|\.)", place)
        } | {place.numbers[0] for place in found.places if place.numbers is not None}
        return bool(self._still_wrong & named) if named else bool(self._still_wrong)

    @cached_property
    def _still_wrong(self) -> frozenset[int]:
        """Cards that are not as they must be when the run ends, also where there was no time to mend it."""
        watch, differs = self.watch, self.watch.differences
        found = {
            card
            for card, each in enumerate(watch.cards)
            if not each.truth.disturbed and (differs.of_card(card) or differs.of_weight(card) or differs.of_entry(card))
        }
        for group, link in enumerate(self.wiring.links):
            if group in watch.settled_links(self.now) and self.wrong_link(group) is not None:
                found |= set(self.wiring.ends(link))
        return frozenset(found)

    def wrong_link(self, group: int) -> str | None:
        """What is wrong with who holds a link between cards, and with what both cards know of it."""
        role = self.watch.links[group]
        text = self.watch.differences.of_link(group, role)
        if text is None and self.watch.known(role, group, self.now):
            text = self.watch.differences.of_pair(group, role.holder, self._known_boundaries(group))
        return text

    def _known_boundaries(self, group: int) -> dict[int, frozenset[int]]:
        """The boundary GPUs of a link that the CPU knows of, by card."""
        known = dict[int, frozenset[int]]()
        for view in self.cpu.cards:
            for gpu in view.boundaries:
                crossing = self.wiring.crossings.get(self.wiring.cell(view.number, gpu))
                if crossing is not None and crossing.group == group:
                    known[view.number] = known.get(view.number, frozenset()) | {gpu}
        return known

    def _undisturbed(self) -> Iterator[tuple[str, ContextRef, TaskReport]]:
        """Applications, without those to whose context a driver outside has spoken: what happens there isn't theirs."""
        for name, (place, report) in self.applications.by_context().items():
            if (place.card, place.gpu, place.context) not in self.tasks.one_by_one.disturbed:
                yield name, place, report
