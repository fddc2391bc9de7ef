"""A fault of a GPU is no reason to judge less of what comes after it; what nobody can know any more is said."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.host.contexts.command import Command, ContextRef, Reply
from ringhil.emulator.host.contexts.driver import Driver, Then
from ringhil.emulator.host.contexts.leftovers import Leftovers
from ringhil.emulator.host.groups import governor
from ringhil.emulator.host.groups.group import ProcessGroup
from ringhil.emulator.host.tasks import applications
from ringhil.emulator.host.tasks.process import Program
from ringhil.emulator.host.tasks.training import Surroundings, TaskReport, TrainingTask, training
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.protocol.wire import Compute, ResultStatus

from .playing import assert_named, play

Mistake = Callable[[pytest.MonkeyPatch], None]
TWINS = "a GPU has answered by another one's number"
BEFORE, DURING = (3000, 3400), (15_000, 15_400)
CONTEXTS_STAY = ("slow", "corrupt", "skip_count", "double_count", "keepalive_loss", "host_link_cut")
EACH = [
    *((kind, BEFORE) for kind in (*CONTEXTS_STAY, "dead", "hang", "babble", "flap", "duplicate_id")),
    *((kind, DURING) for kind in CONTEXTS_STAY),
]


def text(kind: str, times: tuple[int, int], gpu: str = "a.1") -> str:
    """Applications that begin at cycle 12000; a fault of their GPU lasts for 400 cycles."""
    at, clear = times
    return f"""
server:
  cards: {{a: {{gpus: 4, host_links: [0, 1]}}}}
  settings: {{context_switch: 20, default_slice: 1000}}
sharing:
  groups: {{team: {{memory: 600, slice: 300}}}}
  applications:
    x: {{gpu: a.1, group: team, start: 12000, wants: 90, steps: 9, host: 100, compute: 700}}
    y: {{gpu: a.1, group: team, start: 12000, wants: 50, steps: 9, host: 100, compute: 900}}
timeline:
- {{at: {at}, fault: {kind}, gpu: {gpu}{", period: 200" if kind == "flap" else ""}}}
- {{at: {clear}, clear: {kind}, gpu: {gpu}}}
"""


def divides_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(governor, "divided", lambda budget, claims: [budget] * len(claims))


def knows_no_slices(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProcessGroup, "slice_there", 0)


def keeps_contexts(patch: pytest.MonkeyPatch) -> None:
    """Whoever has one destroyed is told that it was."""
    ask = Driver.ask

    def spare(self: Driver, place: ContextRef, command: Command, then: Then) -> None:
        if command.compute is Compute.DESTROY:
            self._port.after(1, lambda: then(Reply(ResultStatus.DONE)))
        else:
            ask(self, place, command, then)

    patch.setattr(Driver, "ask", spare)


def wants_less(patch: pytest.MonkeyPatch) -> None:
    def program(task: TrainingTask, key: int, report: TaskReport, around: Surroundings) -> Program:
        return training(replace(task, wants=task.wants - 10), key, report, around)

    patch.setattr(applications, "training", program)


def fails_without_a_reason(patch: pytest.MonkeyPatch) -> None:
    def program(task: TrainingTask, key: int, report: TaskReport, around: Surroundings) -> Program:
        yield from training(task, key, report, around)
        report.failed = "it was refused something"

    patch.setattr(applications, "training", program)


MISTAKES = [
    (divides_nothing, "memory_isolated", "pages while its group may come to hold"),
    (knows_no_slices, "slice_kept", "was given slice 0; it may have 300"),
    (keeps_contexts, "memory_isolated", "was not destroyed when its task had ended"),
    (wants_less, "work_once", "pages that it is told of; it wants"),
    (fails_without_a_reason, "work_once", "and no GPU has given it a reason"),
]
AFTER = [(*mistake, *fault) for fault in EACH for mistake in MISTAKES]


@pytest.mark.rest(but_one_in=8)
@pytest.mark.parametrize(("mistake", "invariant", "says", "kind", "times"), sampled(AFTER, "alarms", 4))
def test_a_mistake_is_named_after_a_fault(
    monkeypatch: pytest.MonkeyPatch, mistake: Mistake, invariant: str, says: str, kind: str, times: tuple[int, int]
) -> None:
    assert_named(mistake, text(kind, times), invariant, says, monkeypatch)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(("kind", "times"), EACH)
def test_nothing_is_left_unjudged_by_it(kind: str, times: tuple[int, int]) -> None:
    outcome = play(loads(text(kind, times)), cells_library())
    assert (outcome.failures, outcome.not_judged) == ((), ())


@pytest.mark.parametrize("kind", ["dead", "hang", "flap", "babble", "switch_stuck_bypass"])
def test_nor_by_one_that_costs_a_gpu_its_contexts(kind: str) -> None:
    """They were in the middle of their steps."""
    outcome = play(loads(text(kind, DURING)), cells_library())
    assert (outcome.failures, outcome.not_judged) == ((), ())
    assert [each.failed for each in outcome.applications.values()] == [True, True]


@pytest.mark.parametrize("gpu", ["a.1", "a.2"])
def test_two_that_answer_by_one_number_are_said(gpu: str) -> None:
    """The one that uses the other's, and the other one."""
    outcome = play(loads(text("duplicate_id", DURING, gpu)), cells_library())
    assert outcome.failures == ()
    assert f"what context 1 of GPU 1, card 0 says: {TWINS}" in outcome.not_judged
    assert f"a.1: turns of context 1: {TWINS}" in outcome.not_judged


@pytest.mark.parametrize("gpu", ["a.0", "a.3"])
def test_others_of_the_card_are_judged(gpu: str) -> None:
    outcome = play(loads(text("duplicate_id", DURING, gpu)), cells_library())
    assert (outcome.failures, outcome.not_judged) == ((), ())


LOST = """
server: {{cards: {{a: {{gpus: 5, host_links: [0, 1]}}}}}}
sharing:
  groups: {{team: {{memory: 600}}}}
  applications:
    x: {{gpu: a.2, group: team, wants: 30, steps: 50, compute: 2000}}
    y: {{gpu: a.2, group: team, wants: 100, steps: 9, compute: 2000, start: 30000}}
timeline:
- {{at: 3000, fault: duplicate_id, gpu: {gpu}}}
- {{at: 3050, clear: duplicate_id, gpu: {gpu}}}
- {{at: 12000, fault: link_cut, link: a.1-a.2}}
- {{at: 12000, fault: link_cut, link: a.2-a.3}}
- {{at: 20000, clear: link_cut, link: a.2-a.3}}
"""


@pytest.mark.parametrize("kind", ["dead", "flap", "hang"])
def test_one_that_stands_still_and_cannot_leave_the_ring_is_said(kind: str) -> None:
    stuck = "- {at: 2000, fault: switch_stuck_through, gpu: a.1}\n"
    outcome = play(loads(text(kind, (15_000, 15_090)) + stuck), cells_library())
    assert outcome.failures == ()
    assert [*outcome.not_judged] == [f"a.1: turns of context {n}: {kind} has struck it" for n in (1, 2)]


ASTRAY = """
server: {{cards: {{a: {{gpus: 5, host_links: [0, 1]}}}}}}
sharing: {{applications: {{x: {{gpu: a.3, memory: 100, start: 12000, steps: 9, host: 100, compute: 700}}}}}}
timeline: [{{at: 11000, fault: duplicate_id, gpu: a.4}}, {{at: 14000, clear: duplicate_id, gpu: a.4}}{more}]
"""
BLINK = ", {at: 20000, fault: dead, gpu: a.4}, {at: 21000, clear: dead, gpu: a.4}"


@pytest.mark.parametrize(("more", "left"), [("", True), (BLINK, False)])
def test_what_is_left_where_nobody_looks_for_it_is_said(more: str, left: bool) -> None:
    """The commands came by a.4 first, which answered by a.3's number; it keeps the pages until it leaves the ring."""
    outcome = play(loads(ASTRAY.format(more=more)), cells_library())
    assert outcome.failures == ()
    assert outcome.not_judged == (f"GPU 4, card 0, holds 90 pages, of which its tasks have 0: {TWINS}",) * left


STILL = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
sharing:
  applications:
    w: {gpu: a.4, memory: 100, start: 13900, steps: 9, compute: 700}
    x: {gpu: a.3, memory: 100, start: 12000, steps: 9, compute: 700}
timeline:
- {at: 11000, fault: duplicate_id, gpu: a.4}
- {at: 11500, fault: dead, gpu: a.4}
- {at: 11560, clear: dead, gpu: a.4}
until: 14000
"""


def test_one_that_goes_on_to_answer_by_another_ones_number_is_no_better_known_for_having_been_out_of_the_ring() -> None:
    outcome = play(loads(STILL), cells_library())
    assert outcome.failures == ()
    assert f"GPU 4, card 0, holds 90 pages, of which its tasks have 0: {TWINS}" in outcome.not_judged


INSTEAD = """
server: {cards: {a: {gpus: 5, host_links: [0, 1]}}}
sharing: {applications: {x: {gpu: a.3, memory: 100, start: 12000, steps: 1, compute: 700}}}
timeline:
- {at: 9000, fault: slow, gpu: a.3}
- {at: 11000, fault: duplicate_id, gpu: a.4}
- {at: 11500, fault: dead, gpu: a.3}
- {at: 11560, clear: dead, gpu: a.3}
"""


def test_nor_is_the_one_in_whose_place_it_answers() -> None:
    """That one is slow, and this one works in its place."""
    outcome = play(loads(INSTEAD), cells_library())
    assert outcome.failures == ()
    what = "a launch of context 1 of GPU 3, card 0 ended after 700 of 2800 cycles"
    assert f"{what}: {TWINS}" in outcome.not_judged


BLINKED = """
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
sharing:
  applications:
    x: {gpu: a.1, start: 6000, wants: 90, piece: 60000, steps: 90, host: 100, compute: 700}
    y: {gpu: a.1, start: 30000, wants: 90, piece: 60000, steps: 9, host: 100, compute: 700}
timeline: [{at: 16000, fault: dead, gpu: a.1}, {at: 16100, clear: dead, gpu: a.1}]
"""


def test_what_a_gpu_out_of_the_ring_has_lost_is_free() -> None:
    """No census has noticed that it was; together they take more than there is."""
    outcome = play(loads(BLINKED), cells_library())
    assert (outcome.failures, outcome.not_judged) == ((), ())
    assert [(each.failed, each.memory) for each in outcome.applications.values()] == [
        (True, 58982 << 20),
        (False, 58982 << 20),
    ]


MUTED = """
server: {cards: {a: {gpus: 4, host_links: [0, 1]}}}
sharing:
  applications:
    x: {gpu: a.1, start: 6000, memory: 100, steps: 9, host: 100, compute: 20000}
    z: {gpu: a.1, start: 18500, memory: 100, steps: 9, host: 100, compute: 700}
timeline: [{at: 15600, fault: babble, gpu: a.1}, {at: 16000, clear: babble, gpu: a.1}]
"""


def test_pages_that_were_asked_for_and_refused_with_their_context_come_no_more() -> None:
    """x takes its memory in small pieces as its GPU leaves the ring: what it asks for then is not to come."""
    run = Run(loads(BLINKED.replace("piece: 60000", "piece: 256")), cells_library())
    assert run.run().failures == ()
    assert not any(run.judge.conduct.tasks.isolation._coming.values())
    run.close()


def test_what_a_gpu_out_of_the_ring_has_lost_waits_for_no_turn() -> None:
    """Its own application doesn't know yet."""
    outcome = play(loads(MUTED), cells_library())
    assert (outcome.failures, outcome.not_judged) == ((), ())
    assert [each.failed for each in outcome.applications.values()] == [True, False]


def test_one_that_was_out_of_the_ring_since_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answered by another one's number before."""

    def forgets(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Leftovers, "on", lambda self, gpu: {})

    blink = "- {at: 6000, fault: dead, gpu: a.2}\n- {at: 6100, clear: dead, gpu: a.2}\n"
    text = LOST.format(gpu="a.2").replace("wants: 30", "start: 9000, wants: 30") + blink
    assert play(loads(text), cells_library()).not_judged == ()
    says = "GPU 2, card 0, holds 180 pages, of which its tasks have 0"
    assert_named(forgets, text, "memory_isolated", says, monkeypatch)


def test_one_that_stands_still_is_said() -> None:
    """For so short a time that it stays in the ring: what its contexts wait for isn't known any more."""
    outcome = play(loads(text("hang", (15_000, 15_030))), cells_library())
    assert outcome.failures == ()
    assert [*outcome.not_judged] == [f"a.1: turns of context {n}: hang has struck it" for n in (1, 2)]


@pytest.mark.parametrize("gpu", ["a.4", "a.3"])
def test_what_is_left_behind_is_named_though_a_gpu_has_answered_by_another_ones_number(
    monkeypatch: pytest.MonkeyPatch, gpu: str
) -> None:
    """Whose, doesn't matter."""

    def forgets(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Leftovers, "on", lambda self, gpu: {})

    says = "context 2 of GPU 2, card 0, was asked to create before it had given back context 1"
    assert_named(forgets, LOST.format(gpu=gpu), "memory_isolated", says, monkeypatch)
