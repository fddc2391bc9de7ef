"""What came of a run: the views of the CPU, the watch's findings and the state of the hardware, as one outcome."""

from collections.abc import Iterable, Iterator

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.host.tasks.applications import Applications
from ringhil.emulator.judge.census.orphans import Orphans
from ringhil.emulator.judge.contexts.applications import TakenByWork, application_outcomes, power_outcomes
from ringhil.emulator.judge.evidence import RunEvidence
from ringhil.emulator.judge.findings import Finding, FindingKind, Name, say
from ringhil.emulator.judge.invariants import violations
from ringhil.emulator.judge.outcome import CardOutcome, Expected, LinkOutcome, Outcome
from ringhil.emulator.judge.recovery.watch import Watch
from ringhil.emulator.kernel import Kernel
from ringhil.emulator.scenario import GpuRef, LinkRef, Scenario
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol import registers

_STATUS = registers.StatusBit.codes()


class Results:
    """Reads them off the parts of a server, at any time."""

    def __init__(
        self,
        wiring: Wiring,
        kernel: Kernel,
        cpu: Cpu,
        watch: Watch,
        orphans: Orphans,
        applications: Applications,
    ) -> None:
        self._wiring, self._kernel, self._cpu = wiring, kernel, cpu
        self.applications = applications
        self._watch, self._orphans = watch, orphans
        self.until_done: dict[str, TakenByWork] = {}  # by GPU

    def breaks(self, card: CardView) -> tuple[LinkRef, ...]:
        """`CardView.gap` in the file's words."""
        return tuple(LinkRef(card.name, link, card.size) for link in card.gap)

    def boundaries(self, card: CardView) -> dict[str, str]:
        """The boundary GPU that the census has found, by neighbouring card (R8)."""
        found = {}
        for gpu in card.boundaries:
            crossing = self._wiring.crossings.get(self._wiring.cell(card.number, gpu))
            if crossing is not None:
                found[self._wiring.cards[crossing.peer_card].name] = str(GpuRef(card.name, gpu))
        return found

    def isolated(self, card: CardView) -> tuple[int, ...]:
        """GPUs that are healthy, and kept out by a switch that does not do what it is told."""
        found = []
        for gpu in range(card.size):
            status = self._kernel.engine.peek(self._wiring.cell(card.number, gpu), "status")
            if status & _STATUS["lent"]:
                continue  # it is out on purpose
            if status & _STATUS["healthy"] and status & _STATUS["stuck"] and status & _STATUS["bypass_cw"]:
                found.append(gpu)
        return tuple(found)

    def lent(self, card: CardView) -> tuple[int, ...]:
        """GPUs that are lent to virtual machines, by their own registers."""
        peek, cell = self._kernel.engine.peek, self._wiring.cell
        return tuple(gpu for gpu in range(card.size) if peek(cell(card.number, gpu), "status") & _STATUS["lent"])

    def _card_outcome(self, view: CardView) -> CardOutcome:
        breaks = self.breaks(view)
        watch = self._watch.cards[view.number]
        return CardOutcome(
            name=view.name,
            size=view.size,
            count=view.count,
            members=view.members,
            entry=None if view.entry is None else str(GpuRef(view.name, view.entry)),
            host=_gpus(view, view.host),
            epoch=view.epoch,
            elections=watch.role.changes,
            boundary=self.boundaries(view),
            break_=f"{breaks[0].before}-{breaks[-1].after}" if breaks else None,
            cuts=tuple(map(str, breaks)),
            stranded=_gpus(view, view.stranded),
            isolated=_gpus(view, self.isolated(view)),
            lent=_gpus(view, self.lent(view)),
            degraded=_gpus(view, sorted(view.degraded)),
            slow_link=_link(view, view.slow_link),
            noisy_link=_link(view, view.noisy_link),
            reachable=view.reachable,
            share=view.share,
            completed=view.completed,
            suspects=_gpus(view, view.suspects),
            accepted=len(watch.counts),
            rejected=dict(watch.rejected),
        )

    def _link_outcome(self, group: int) -> LinkOutcome:
        link, role = self._wiring.links[group], self._watch.links[group]
        held = next((ref for ref in link.refs if ref.from_.index == role.holder), None)
        crossed = [self._kernel.engine.peek(self._wiring.cell_of(gpu), "crossed") for gpu in (*link.from_, *link.to)]
        return LinkOutcome(
            cards=(link.from_[0].card, link.to[0].card),
            members=tuple(map(str, link.refs)),
            active=None if held is None else str(held),
            epoch=role.epoch,
            elections=role.changes,
            frames=sum(crossed),
        )

    def _unknown(self, evidence: RunEvidence) -> Iterator[tuple[str, str]]:
        """What else can't be told, by the invariant that it might break: of contexts of the file's tasks to which
        others have spoken; of memory, turns and launches, each but once; of applications; of the work."""
        for card, gpu, context in sorted(evidence.tasks.one_by_one.disturbed):
            name = Name(str(GpuRef(evidence.wiring.cards[card].name, gpu)))
            why = "a driver outside has spoken to that context"
            yield "work_once", say("the task in context {} of GPU {}: {}", context, name, why)
        doubts = evidence.tasks.doubts() | dict.fromkeys(evidence.doubts(), "work_once")
        yield from ((promise, text) for text, promise in doubts.items())
        yield from (("work_once", text) for text in evidence.unknown())
        if (why_not := self._watch.undoable()) and self._cpu.work.completed != self._cpu.work.units:
            yield "work_once", say("work: {}", why_not)

    def outcome(
        self, scenario: Scenario, expected: tuple[Expected, ...], evidence: RunEvidence, seconds: float
    ) -> Outcome:
        """All of it. `seconds`: what it took on this machine."""
        work = self._cpu.work
        now, watch = self._kernel.now, self._watch
        return Outcome(
            name=scenario.name,
            seed=scenario.seed,
            cycles=now,
            cards={view.name: self._card_outcome(view) for view in self._cpu.cards},
            links=tuple(self._link_outcome(group) for group in range(len(watch.links))),
            work={
                "units": work.units,
                "completed": work.completed,
                "lost": work.units - work.completed,
                "duplicated": work.duplicated,
                "resent": work.resent,
                "refused": work.refused,
                "wrong": work.wrong,
                "late": work.late,
                "fenced": work.fenced,
                "crossed": work.crossed,
                "digest": f"{work.digest:016x}",
            },
            recoveries=tuple(sorted(watch.recoveries(now), key=lambda r: (r.at, r.where))),
            expect=expected,
            violations=tuple(violations(evidence, scenario.invariants)),
            unjudged=(
                *watch.not_judged(now),
                *(
                    Finding(text, promise=promise, kind=FindingKind.NOT_JUDGED)
                    for promise, text in self._unknown(evidence)
                ),
            ),
            engine={
                "rtl": self._kernel.engine.library.rtl,
                "evaluations": self._kernel.engine.evaluations,
                "busy_cycles": self._kernel.engine.busy_cycles,
                "seconds": round(seconds, 6),
                "cycles_per_second": round(now / seconds, 1) if seconds else None,
            },
            applications=application_outcomes(
                scenario.sharing, scenario.server.settings.default_slice, self.applications.reports
            ),
            power=power_outcomes(scenario.server, self._wiring, self._kernel.engine, self.until_done),
        )


def _gpus(card: CardView, numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(str(GpuRef(card.name, number)) for number in numbers)


def _link(card: CardView, number: int | None) -> str | None:
    return None if number is None else str(LinkRef(card.name, number, card.size))
