"""A GPU that nothing has happened to, and that no census finds any more: its tasks fail, and that is no mistake. When
it is found again it must give back what they had."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.sampled import sampled

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.host.contexts.command import ContextRef, Gpu
from ringhil.emulator.host.contexts.driver import Driver
from ringhil.emulator.host.contexts.leftovers import Leftovers
from ringhil.emulator.host.tasks import applications
from ringhil.emulator.host.tasks.process import Program
from ringhil.emulator.host.tasks.training import Surroundings, TaskReport, TrainingTask, training
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads

from . import any_sharing
from .playing import assert_named, play

TEXT = """
server: {{cards: {{a: {{gpus: 5, host_links: [0, 1]}}}}}}
sharing:
  groups: {{team: {{memory: 600}}}}
  applications:
    x: {{gpu: a.2, group: team, wants: 30, steps: 40, compute: 900}}
    y: {{gpu: a.2, group: team, wants: {wants}, steps: 40, host: 300, compute: 900, start: {start}}}
timeline:
- {{at: 12000, fault: link_cut, link: a.1-a.2}}
- {{at: 12000, fault: link_cut, link: a.2-a.3}}
- {{at: {back}, clear: link_cut, link: a.2-a.3}}
"""
FOUND, CLEARED = 20_306, 20_406  # cycles in which the CPU asks for what x had, and in which that is answered


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


@pytest.mark.parametrize(("start", "back"), [(0, 90_000), (14_000, 90_000), (0, 26_000)])
def test_no_alarm_is_false(library: Library, start: int, back: int) -> None:
    """Also of who comes later, and when it is found again."""
    outcome = play(loads(TEXT.format(start=start, back=back, wants=30)), library)
    assert outcome.failures == ()
    assert whys(outcome) == ["the GPU was lost"] * 2


def whys(outcome: Outcome) -> list[str]:
    return [str(each.why).rpartition(": ")[2] for each in outcome.applications.values()]


class Came(NamedTuple):
    """How an application fared that came when the GPU was found again, and pages that it held at certain cycles."""

    outcome: Outcome
    held: list[int]


def came(library: Library, start: int, *cycles: int) -> Came:
    run = Run(loads(TEXT.format(start=start, back=20_000, wants=100)), library)
    run.start()
    held = []
    for cycle in cycles:
        run.run_to(cycle)
        held.append(run.engine.peek(2, "memory_held"))
    outcome = run.finish()
    held.append(run.engine.peek(2, "memory_held"))
    run.close()
    return Came(outcome, held)


@pytest.mark.parametrize("start", [20_011, 20_054, 20_110, 30_000])  # meanwhile, as soon as that is over, later
def test_a_gpu_that_is_found_again_has_nothing_of_what_was_lost(library: Library, start: int) -> None:
    """The group has 600 pages, of which x took 180; y gets all of them."""
    outcome, held = came(library, start, 11_000, FOUND, CLEARED, start + 6000)
    assert held == [180, 180, 0, 600, 0]
    assert outcome.failures == ()
    assert whys(outcome) == ["the GPU was lost", "None"]


def test_who_asks_before_it_is_found_again_has_lost_it(library: Library) -> None:
    outcome, _ = came(library, 19_000)
    assert outcome.failures == ()
    assert whys(outcome) == ["the GPU was lost"] * 2


# x has done its steps: before its GPU is lost, or as it asks that what they took.
DONE = TEXT.replace("steps: 40, compute: 900}}\n    y", "steps: {steps}, start: {begins}, compute: 900}}\n    y")


def test_who_has_done_its_steps_and_cannot_ask_what_they_took_has_not_failed(library: Library) -> None:
    outcome = play(loads(DONE.format(start=0, back=90_000, wants=30, steps=5, begins=1640)), library)
    assert outcome.failures == ()
    x = outcome.applications["x"]
    assert (x.why, x.steps, x.gpu_s, x.switches) == (None, 5, None, None)


def test_what_one_that_has_ended_says_is_judged_though_its_gpu_is_lost_then(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(patch: pytest.MonkeyPatch) -> None:
        def program(task: TrainingTask, key: int, report: TaskReport, around: Surroundings) -> Program:
            yield from training(task, key, report, around)
            report.run = None if report.run is None else report.run + 1

        patch.setattr(applications, "training", program)

    text = DONE.format(start=0, back=90_000, wants=30, steps=3, begins=0)
    says = "x says that it had the GPU for 2701 cycles; its launches had 2700"
    assert_named(too_much, text, "work_once", says, monkeypatch)


# Each was an alarm once: another GPU answered by the number of the one that was lost.
FAILED_ONCE = (353, 867, 2051)


@pytest.mark.rest(but_one_in=5)
@pytest.mark.parametrize(
    "seed",
    [*range(12), *FAILED_ONCE, *(pytest.param(n, marks=pytest.mark.slow(part="alarms")) for n in range(12, 1000))],
)
def test_whoever_is_cut_off_whenever(library: Library, seed: int) -> None:
    """No run fails: so each GPU has given back what was lost, and no group had more than it may."""
    text = any_sharing.cut_off(seed)
    assert play(loads(text), library).failures == (), text


LATER = "    z: {gpu: a.2, group: team, wants: 100, steps: 3, compute: 900, start: 30000}\ntimeline:"


@pytest.mark.parametrize("start", [11_600, 11_690])  # its context is being created, or room for it is being made
def test_whoever_is_under_way_counts_no_more(library: Library, start: int) -> None:
    text = TEXT.format(start=start, back=20_000, wants=100).replace("timeline:", LATER)
    outcome = play(loads(text), library)
    assert outcome.failures == ()
    assert whys(outcome) == ["the GPU was lost", "the GPU was lost", "None"]
    assert [each.memory for each in outcome.applications.values()] == [180 << 20, 0, 600 << 20]


SWITCHED = """
server: {{cards: {{a: {{gpus: 5, host_links: [0, 1]}}}}, settings: {{device_memory: 8000, default_slice: 500}}}}
switching:
  gpu: [a.2, a.4]
  policy: {policy}
  tasks:
    one: {{layers: [{{name: a, weights: 30000000, operations: 20000000000}},
      {{name: b, weights: 90000000, operations: 20000000000}}], subtasks: 2, clean: 500, environment: 20}}
  requests: [{{task: one}}, {{task: one}}, {{task: one, after: 90000}}]
timeline:
- {{at: 9000, fault: link_cut, link: a.1-a.2}}
- {{at: 9000, fault: link_cut, link: a.2-a.3}}
- {{at: 20000, clear: link_cut, link: a.2-a.3}}
"""


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("policy", ["pipelined", "pipeswitch", "stop_start", "resident"])
def test_requests_are_served_elsewhere_and_leave_nothing_behind(library: Library, policy: str) -> None:
    outcome = play(loads(SWITCHED.format(policy=policy)), library)
    assert outcome.failures == ()
    assert outcome.switching is not None
    assert [request.gpu for request in outcome.switching.requests] == ["a.4"] * 3
    held = {str(gpu): changes for gpu, changes in outcome.switching.held.items()}
    assert [(changes[-1][1], max(pages for _, pages in changes) > 0) for changes in held.values()] == [(0, True)] * 2
    assert held["a.2"][-1][0] > 20  # milliseconds: it has been found again


# Nobody reaches the card meanwhile: as long as commands are asked for again, or longer. They are given up unseen.
UNREACHABLE = """
timeline:
- {{at: 12000, fault: host_link_cut, gpu: a.0}}
- {{at: 12000, fault: host_link_cut, gpu: a.1}}
- {{at: {back}, clear: host_link_cut, gpu: a.0}}
"""


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(("back", "start"), [(900_000, 0), (900_000, 900_500), (900_000, 1_200_000), (3_000_000, 0)])
def test_what_was_given_up_while_nobody_reached_a_card_is_destroyed(library: Library, back: int, start: int) -> None:
    """y comes when it can be reached again, and gets all that x had."""
    before = TEXT.format(start=start, back=1, wants=100).partition("timeline:")[0]
    run = Run(loads(before + UNREACHABLE.format(back=back)), library)
    run.start()
    run.run_to(back)
    assert run.engine.peek(2, "memory_held") == (180 if start else 390)
    run.run_to(back + 29_000)
    assert run.engine.peek(2, "memory_held") == (600 if start == 900_500 else 0)
    outcome = run.finish()
    assert run.engine.peek(2, "memory_held") == 0
    run.close()
    assert outcome.failures == ()
    assert whys(outcome) == ["the GPU was lost", "None" if start else "the GPU was lost"]


@pytest.mark.rest(but_one_in=4)
@pytest.mark.parametrize(
    ("back", "start"), [(900_000, 600_000), (900_000, 890_000), (900_000, 1_000_000), (3_000_000, 3_100_000)]
)
def test_so_is_what_a_gpu_has_whose_loss_nobody_can_name(library: Library, back: int, start: int) -> None:
    """Without records a count says how many are there, and not who."""
    text = TEXT.replace("host_links: [0, 1]}}}}}}", "host_links: [0, 1]}}}}, settings: {{records: never}}}}")
    run = Run(loads(text.format(start=start, back=back, wants=100)), library)
    run.start()
    run.run_to(max(back, start) + 3000)
    assert run.engine.peek(2, "memory_held") in (180, 0, 600)
    outcome = run.finish()
    assert run.engine.peek(2, "memory_held") == 0
    run.close()
    assert outcome.failures == ()
    assert whys(outcome) == ["the GPU was lost", "None"]
    assert outcome.applications["y"].memory == 600 << 20


POLICIES = ("pipelined", "pipeswitch", "stop_start", "resident")


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("policy", "back"), sampled([(p, back) for back in (900_000, 3_000_000) for p in POLICIES], "alarms", 3)
)
def test_nor_does_a_policy_leave_anything_there(library: Library, policy: str, back: int) -> None:
    """Also in contexts that had nothing to do when the last one was given up."""
    before = SWITCHED.format(policy=policy).partition("timeline:")[0]
    outcome = play(loads(before + UNREACHABLE.format(back=back)), library)
    assert outcome.failures == ()
    assert outcome.switching is not None
    assert [request.gpu for request in outcome.switching.requests] == [None if back > 1_000_000 else "a.4"] * 3
    assert {changes[-1][1] for changes in outcome.switching.held.values() if changes} == {0}


Mistake = Callable[[pytest.MonkeyPatch], None]


def forgets(patch: pytest.MonkeyPatch) -> None:
    """What was given up is left where it is."""
    patch.setattr(Leftovers, "on", lambda self, gpu: {})


def forgets_one(patch: pytest.MonkeyPatch) -> None:
    def all_but_the_first(self: Leftovers, gpu: Gpu) -> dict[ContextRef, int]:
        return dict([*self._left.get(gpu, {}).items()][1:])

    patch.setattr(Leftovers, "on", all_but_the_first)


def takes_another_key(patch: pytest.MonkeyPatch) -> None:
    """The GPU refuses that, and the CPU believes that the context isn't its own."""
    give_up = Leftovers.give_up

    def spoil(self: Leftovers, place: ContextRef) -> None:
        give_up(self, place)
        for left in self._left.values():
            left[place] = 77

    patch.setattr(Leftovers, "give_up", spoil)


def waits_for_nothing(patch: pytest.MonkeyPatch) -> None:
    """Whoever comes is served while that is being destroyed."""

    def following(self: Driver, place: ContextRef) -> None:
        line = self._line(place)
        if line.out is None and line.waiting:
            line.out = asked = line.waiting.popleft()
            self._send_new(asked)

    patch.setattr(Driver, "_next", following)


def forgets_what_is_on_its_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Driver, "_may_be_carried_out", lambda self, asked: None)


@pytest.mark.rest(but_one_in=6)
@pytest.mark.parametrize(
    ("mistake", "start", "says"),
    [
        (forgets, 30_000, "was asked to create before it had given back context 1"),
        (forgets, 30_000, "GPU 2, card 0, holds 180 pages, of which its tasks have 0"),
        (forgets, 19_000, "GPU 2, card 0, was found again, and was not asked to give back context 1"),
        (forgets_one, 30_000, "GPU 2, card 0, holds 180 pages, of which its tasks have 0"),
        (takes_another_key, 30_000, "GPU 2, card 0, holds 180 pages, of which its tasks have 0"),
        (
            waits_for_nothing,
            20_054,
            "context 2 of GPU 2, card 0, was asked to create before it had given back context 1",
        ),
    ],
)
def test_what_is_left_behind_is_named(monkeypatch: pytest.MonkeyPatch, mistake: Mistake, start: int, says: str) -> None:
    text = TEXT.format(start=start, back=20_000, wants=100)
    assert_named(mistake, text, "memory_isolated", says, monkeypatch)


@pytest.mark.rest
def test_what_a_policy_leaves_behind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_the_last(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Driver, "give_up", lambda self, place: None)

    text = SWITCHED.format(policy="pipeswitch").partition("timeline:")[0] + UNREACHABLE.format(back=900_000)
    says = "context 2 of GPU 2, card 0 was not destroyed when its task had ended"
    assert_named(only_the_last, text, "memory_isolated", says, monkeypatch)


def test_a_context_that_nobody_has_heard_of_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was being created when its GPU was cut off."""
    text = TEXT.format(start=11_660, back=20_000, wants=100)
    assert_named(forgets_what_is_on_its_way, text, "memory_isolated", "give back context 2", monkeypatch)
