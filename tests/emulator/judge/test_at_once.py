"""A GPU that stands still without need is told, whoever has held up whom."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.switching.pipeswitch import PipeSwitch, _Coming, _Standby
from ringhil.emulator.host.switching.plan import Subtask, WantedTask
from ringhil.emulator.host.switching.policy import Slot, SwitchPolicy
from ringhil.emulator.host.switching.report import SwitchPhase
from ringhil.emulator.host.switching.strands import Strand
from ringhil.emulator.host.tasks.process import Busy
from ringhil.emulator.scenario import loads
from ringhil.protocol.wire import Compute

from .playing import play

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/sweeps/switching-interrupt.yaml"
# Besides, two requests come while a model is brought, and one comes when there is nothing to do.
FILE = (
    EXAMPLE.read_text()
    .split("recycle: [100, 9000]\n")[1]
    .replace("weights: 15000000, operations: 1700000000", "weights: 60000000, operations: 1700000000")
    .replace("after: 30000", "after: 14000")
    .replace("expect:", "  - {task: infer, after: 900000}\nexpect:")
)
Mistake = Callable[[pytest.MonkeyPatch], None]


def broken(policy: str) -> Sequence[str]:
    text = FILE.replace("${policy}", policy).replace("${recycle}", "9000")
    outcome = play(loads(text), cells_library())
    assert outcome.switching is not None
    return outcome.switching.broken


def looks_late(patch: pytest.MonkeyPatch) -> None:
    arrival = SwitchPolicy.arrival

    def waits(self: SwitchPolicy, wanted: WantedTask) -> Strand:
        yield from arrival(self, replace(wanted, at=wanted.at + 1000))

    patch.setattr(SwitchPolicy, "arrival", waits)


def hears_of_the_first_one_only(patch: pytest.MonkeyPatch) -> None:
    def first(self: SwitchPolicy) -> Strand:
        yield from self.arrival(min(self.requests, key=lambda wanted: wanted.at))

    patch.setattr(SwitchPolicy, "arrivals", first)


def thinks_before(method: str) -> Mistake:
    """Before it does this."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        does = getattr(SwitchPolicy, method)

        def slowly(self: SwitchPolicy, *what: object) -> Strand:
            yield Busy(50)
            yield from does(self, *what)

        patch.setattr(SwitchPolicy, method, slowly)

    mistake.__name__ = f"thinks_before_{method}"
    return mistake


def recycles_in_line(patch: pytest.MonkeyPatch) -> None:
    clean = PipeSwitch._clean

    def cleaned(self: PipeSwitch, wanted: WantedTask, worker: _Standby) -> Strand:
        yield from clean(self, wanted, worker)
        for other in self._workers:
            other.ready = True

    def unready(self: PipeSwitch, wanted: WantedTask, worker: _Standby) -> Strand:
        for other in self._workers:
            other.ready = False
        return cleaned(self, wanted, worker)

    patch.setattr(PipeSwitch, "_clean", unready)


def pauses_between_groups(patch: pytest.MonkeyPatch) -> None:
    def bring(self: PipeSwitch, request: int, sizes: Sequence[int], coming: _Coming) -> Strand:
        for number, size in enumerate(sizes):
            if number:
                yield Busy(40)
            copied = self._memory.copy(size, self.plan.piece, lambda: coming.needed)
            yield from self.during(request, SwitchPhase.PREPARE, number, copied, lambda: coming.needed)
            if not coming.needed:
                return
            coming.arrived += 1

    patch.setattr(PipeSwitch, "_bring", bring)


def stops_late(patch: pytest.MonkeyPatch) -> None:
    """It asks for something before it is stopped."""
    compute = PipeSwitch._compute

    def asks(self: PipeSwitch, wanted: WantedTask, worker: _Standby) -> Strand:
        yield from compute(self, wanted, worker)
        if self.queue.left(wanted):
            yield from worker.slot.ask(Compute.QUERY, 0)

    patch.setattr(PipeSwitch, "_compute", asks)


def prepares_late(patch: pytest.MonkeyPatch) -> None:
    prepare = SwitchPolicy.prepare

    def late(self: SwitchPolicy, request: int, slot: Slot, subtask: Subtask, part: int | None) -> Strand:
        yield Busy(30)
        yield from prepare(self, request, slot, subtask, part)

    patch.setattr(SwitchPolicy, "prepare", late)


MISTAKES: list[tuple[Mistake, str, str]] = [
    (looks_late, "pipeswitch", "it could"),
    (looks_late, "stop_start", "it could"),
    (hears_of_the_first_one_only, "pipeswitch", "it could"),
    (thinks_before("run"), "pipeswitch", "is launched; it could be at cycle"),
    (thinks_before("run"), "stop_start", "is launched; it could be at cycle"),
    (thinks_before("run"), "resident", "it could at cycle"),
    (thinks_before("run"), "pipelined", "it could"),
    (thinks_before("start"), "stop_start", "starts; it could at cycle"),
    (thinks_before("clean"), "stop_start", "is cleaned up; it could at cycle"),
    (recycles_in_line, "pipeswitch", "has its turn; it could at cycle"),
    (pauses_between_groups, "pipeswitch", "copied; it could at cycle"),
    (stops_late, "pipeswitch", "is stopped; it could be at cycle"),
    (prepares_late, "stop_start", "is loaded; it could at cycle"),
]


@pytest.mark.rest(but_one_in=7)
@pytest.mark.parametrize(
    ("mistake", "policy", "says"),
    sampled(MISTAKES, "bugs", 2),
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_it_is_told(monkeypatch: pytest.MonkeyPatch, mistake: Mistake, policy: str, says: str) -> None:
    mistake(monkeypatch)
    found = broken(policy)
    assert any(says in each for each in found), found


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize("policy", ["pipelined", "pipeswitch", "stop_start", "resident"])
def test_without_a_mistake_nothing_is(policy: str) -> None:
    assert broken(policy) == ()
