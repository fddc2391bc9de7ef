"""Who was not answered for long has lost nothing by that: mistakes of what comes then are named."""

from collections.abc import Callable

import pytest
from tests.sampled import sampled

from ringhil.emulator.host.contexts import driver
from ringhil.emulator.host.contexts.command import Command, ContextRef
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.groups import governor
from ringhil.emulator.host.groups import group as division
from ringhil.emulator.host.groups.group import MemoryClaim
from ringhil.emulator.host.switching.service import SwitchService
from ringhil.emulator.host.tasks import applications
from ringhil.emulator.host.tasks.process import Program
from ringhil.emulator.host.tasks.training import Surroundings, TaskReport, TrainingTask, training
from ringhil.protocol.wire import Compute

from .playing import assert_named

Mistake = Callable[[pytest.MonkeyPatch], None]

# Nobody reaches the card, for longer than thirty attempts would take; or a GPU of it, for 20 of them and more.
NO_LINK = """
server: {cards: {a: {gpus: 6, host_links: [0]}}, settings: {device_memory: 200, census_period: 700}}
sharing: {applications: {x: {gpu: a.3, steps: 40, compute: 400, host: 700, wants: 50}}}
timeline: [{at: 6000, fault: host_link_cut, gpu: a.0}, {at: 400000, clear: host_link_cut, gpu: a.0}]
"""
CUT = """
server:
  cards: {a: {gpus: 6, host_links: [0, 1]}}
  settings: {device_memory: 200, census_period: 700, records: never}
timeline:
- {at: 6000, fault: link_cut, link: a.2-a.3}
- {at: 6000, fault: link_cut, link: a.3-a.4}
"""
NO_WAY = f"""{CUT}
- {{at: 410000, clear: link_cut, link: a.2-a.3}}
sharing: {{applications: {{x: {{gpu: a.3, steps: 20, compute: 400, host: 700, wants: 50}}}}}}
"""
# All thirty attempts at x are in vain; y and z come when its GPU is found again.
GIVEN_UP = f"""{CUT}
- {{at: 1050000, clear: link_cut, link: a.2-a.3}}
sharing:
  groups: {{g: {{memory: 100}}}}
  applications:
    x: {{gpu: a.3, steps: 500, compute: 400, group: g, wants: 60}}
    y: {{gpu: a.3, steps: 5, compute: 400, group: g, wants: 50, start: 1045500}}
    z: {{gpu: a.3, steps: 5, compute: 400, group: g, wants: 50, start: 1045500}}
"""
# The last attempts have nowhere to go; y comes when the GPU is found again.
UNSENT = """
server:
  cards: {a: {gpus: 5, host_links: [0]}}
  settings: {device_memory: 200, records: never}
sharing:
  applications:
    x: {gpu: a.3, steps: 90, host: 50, compute: 50, wants: 20}
    y: {gpu: a.3, steps: 5, compute: 400, wants: 10, start: 600000}
timeline:
- {at: 16200, fault: link_cut, link: a.2-a.3}
- {at: 16200, fault: link_cut, link: a.3-a.4}
- {at: 350000, fault: host_link_cut, gpu: a.0}
- {at: 583000, clear: host_link_cut, gpu: a.0}
- {at: 600000, clear: link_cut, link: a.2-a.3}
"""
# x is lost, and its launch goes on there.
LEFT = """
server:
  cards: {a: {gpus: 4, host_links: [0]}}
  settings: {device_memory: 200, census_period: 700, default_slice: 200}
sharing:
  applications:
    x: {gpu: a.2, steps: 5, compute: 90000, wants: 0}
    y: {gpu: a.2, steps: 5, compute: 400, wants: 0, start: 9000}
timeline:
- {at: 5000, fault: link_cut, link: a.1-a.2}
- {at: 5000, fault: link_cut, link: a.2-a.3}
- {at: 8000, clear: link_cut, link: a.2-a.3}
"""


def program(spoils: Callable[[TaskReport], None], key: int = 0) -> Mistake:
    """Whenever the task asks for something; `key`: it launches by another one, which is more than its own by that."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        def other(task: TrainingTask, own: int, report: TaskReport, around: Surroundings) -> Program:
            steps = training(task, own, report, around)
            answer = None
            while True:
                try:
                    asked = steps.send(answer)
                except StopIteration:
                    return
                if isinstance(asked, Command) and asked.compute is Compute.LAUNCH and key:
                    asked = Command(Compute.LAUNCH, own + key, asked.amount)
                spoils(report)
                answer = yield asked

        patch.setattr(applications, "training", other)

    return mistake


def is_tired(report: TaskReport) -> None:
    """It gives up without a reason, and says that it had one."""
    if report.steps >= 15 and report.ended is not None:
        report.failed = "tired"


def was_earlier(report: TaskReport) -> None:
    if report.trained is not None and report.ended is not None:
        report.trained = report.ended - 300


def nothing(report: TaskReport) -> None:
    pass


def impatient(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(driver, "_MOST", 15)


def hasty(patch: pytest.MonkeyPatch) -> None:
    """No attempt waits longer than the first."""
    patch.setattr(driver, "_MORE", 1)


def goes_ahead(patch: pytest.MonkeyPatch) -> None:
    """It doesn't wait until what is left is destroyed."""
    after = Driver._next

    def at_once(self: Driver, place: ContextRef) -> None:
        after(self, place)
        line = self._line(place)
        if line.out is None and line.waiting:
            line.out = asked = line.waiting.popleft()
            self._send_new(asked)

    patch.setattr(Driver, "_next", at_once)


def gives_half(patch: pytest.MonkeyPatch) -> None:
    def half(budget: int, claims: list[MemoryClaim]) -> list[int]:
        return [max(c.held, s // 2) for c, s in zip(claims, divided(budget, claims), strict=True)]

    divided = division.divided
    patch.setattr(governor, "divided", half)


def another_key(patch: pytest.MonkeyPatch) -> None:
    def wrong(compute: Compute, key: int) -> Command:
        return Command(compute, key + 1)

    patch.setattr("ringhil.emulator.host.contexts.driver.Command", wrong)


NO_REASON = "and no GPU has given it a reason"


MISTAKES = [
    (NO_LINK, program(is_tired), "work_once", NO_REASON),
    (NO_LINK, program(was_earlier), "work_once", "says that it had done its steps at cycle"),
    (NO_WAY, program(is_tired), "work_once", NO_REASON),
    (NO_WAY, program(was_earlier), "work_once", "says that it had done its steps at cycle"),
    (NO_WAY, impatient, "work_once", "was not waited for"),
    (GIVEN_UP, goes_ahead, "memory_isolated", "before it had given back context 1"),
    (UNSENT, goes_ahead, "memory_isolated", "before it had given back context 1"),
    (GIVEN_UP, gives_half, "memory_isolated", "pages; its part is 50"),
    (LEFT, another_key, "memory_isolated", "was asked to destroy with another key"),
    (LEFT.partition("timeline")[0], program(nothing, key=1), "work_once", NO_REASON),
    (NO_WAY, hasty, "work_once", "was asked for again after"),
]


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(("text", "mistake", "invariant", "says"), sampled(MISTAKES, "alarms", 2))
def test_a_mistake_is_named_after_silence(
    monkeypatch: pytest.MonkeyPatch, text: str, mistake: Mistake, invariant: str, says: str
) -> None:
    assert_named(mistake, text, invariant, says, monkeypatch)


SKIPPED = """
server: {cards: {a: {gpus: 5, host_links: [0]}}, settings: {census_period: 700}}
switching:
  gpu: [a.2, a.3, a.1]
  policy: pipelined
  tasks: {t: {layers: [{name: l, weights: 5000000, operations: 700000000}]}}
  requests: [{task: t}, {task: t, after: 12000}, {task: t, after: 30000}]
timeline:
- {at: 8000, fault: dead, gpu: a.3}
- {at: 12000, clear: dead, gpu: a.3}
- {at: 31000, fault: dead, gpu: a.2}
"""


def skips(patch: pytest.MonkeyPatch) -> None:
    lost = SwitchService._lost

    def more(self: SwitchService) -> None:
        assert self.plan is not None
        self._gpu = min(self._gpu + 1, len(self.plan.gpus) - 1)
        lost(self)

    patch.setattr(SwitchService, "_lost", more)


def test_one_that_was_gone_before_it_was_its_turn_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_named(skips, SKIPPED, "rightly_switched", "GPU 1, card 0, is used; GPU 3, card 0, is not lost", monkeypatch)
