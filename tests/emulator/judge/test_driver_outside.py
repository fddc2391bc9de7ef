"""A driver outside that speaks to a context of the file's own application is no reason to fail the run: what can't be
told apart is not judged, and said so; all else is."""

from collections.abc import Sequence

import pytest

from ringhil.emulator.engine.library import Library, cells_library
from ringhil.emulator.host.contexts.command import Command
from ringhil.emulator.host.contexts.outside import OutsideClient
from ringhil.emulator.host.work import segments
from ringhil.emulator.judge.outcome import Outcome
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.emulator.serial.port.managed_card import ManagedCard
from ringhil.protocol.line import messages as m
from ringhil.protocol.wire import Compute, Port

SERVER = """
server: {cards: {a: {gpus: 4, host_links: [0]}}, settings: {device_memory: 100, default_slice: 900}}
sharing:
  applications:
    one: {gpu: a.2, steps: 6, host: 500, compute: 700, wants: 40, start: 100}
    two: {gpu: a.2, steps: 6, host: 500, compute: 700, wants: 40, start: 100, again: true}
"""
FIRST, LATER = 0x80000001, 0xBFFFFF00
WHAT = "the task in context 1 of GPU a.2: a driver outside has spoken to that context"


@pytest.fixture(scope="module")
def library() -> Library:
    return cells_library()


def disturbed(library: Library, command: Command, cycle: int, context: int, unit: int, times: int = 1) -> Outcome:
    """What comes of the run, when somebody outside sends this in `cycle`, and later again."""
    return talked(library, [command] * times, cycle, context, unit)


def talked(
    library: Library,
    commands: Sequence[Command],
    cycle: int,
    context: int,
    unit: int,
    *,
    text: str = SERVER,
    again: bool = False,
) -> Outcome:
    """When somebody outside sends these, the first one in `cycle`; `again`: all of them are one, by their number, and
    come soon after one another."""
    run = Run(loads(text), library)
    card = ManagedCard(run.server, 0)
    run.start()
    route = segments.Route(0, 0, 0, 2, False, 9, 1)
    for number, command in enumerate(commands):
        run.run_to(cycle + (9 if again else 1000) * number)
        (frame,) = segments.segments(unit + number * (not again), 1, command.payload(), route, command.compute, context)
        answers = list[m.Message]()
        card.carry_out(m.SendRequest(1, 0, Port.CPU.code, frame), answers.append, OutsideClient())
        assert [type(answer) for answer in answers] == [m.SendReply]
    try:
        return run.finish()
    finally:
        run.close()


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize(
    ("command", "cycle", "unit", "times"),
    [
        (Command(Compute.QUERY, 1, 0), 4000, FIRST, 1),
        (Command(Compute.ALLOCATE, 1, 3), 7500, LATER, 1),
        (Command(Compute.DESTROY, 1, 0), 9000, LATER, 1),
        (Command(Compute.LAUNCH, 9, 300), 6000, LATER, 1),  # not the key of the application
        (Command(Compute.LAUNCH, 1, 300), 7500, FIRST, 1),
        (Command(Compute.LAUNCH, 1, 300), 6000, LATER, 4),
    ],
    ids=lambda each: f"{each.compute.value}-{each.key}" if isinstance(each, Command) else f"{each}",
)
def test_of_the_context_nothing_is_judged_that_its_task_should_have_asked_for(
    library: Library, command: Command, cycle: int, unit: int, times: int
) -> None:
    outcome = disturbed(library, command, cycle, 1, unit, times)
    assert [(each.promise, each.text) for each in outcome.violations] == []
    assert outcome.not_judged == (WHAT,)


@pytest.mark.rest(but_one_in=3)
@pytest.mark.parametrize("terms", [(5, 16, 9), (5, 0, 0), (100, 16, 0)])
def test_what_it_configures_is_nobodys_mistake(library: Library, terms: tuple[int, int, int]) -> None:
    """It manages the GPU; that limits may be wrong, or slices, is said."""
    outcome = disturbed(library, Command(Compute.CONFIGURE, 0, *terms), 6000, 1, LATER)
    assert [(each.promise, each.text) for each in outcome.violations] == []
    what, more = outcome.not_judged
    assert what == WHAT
    assert more.endswith("a driver outside has spoken to a context of its tasks")


def test_to_another_context_it_may_say_what_it_likes(library: Library) -> None:
    outcome = disturbed(library, Command(Compute.CREATE, 77, 10), 6000, 5, LATER)
    assert (outcome.verdict, outcome.not_judged) == ("pass", ())


def test_what_it_holds_there_is_nobodys_mistake(library: Library) -> None:
    """The tasks have ended, and its memory is still held."""
    commands = [Command(Compute.CREATE, 77, 10), Command(Compute.ALLOCATE, 77, 7)]
    outcome = talked(library, commands, 6000, 5, LATER)
    assert (outcome.verdict, outcome.not_judged) == ("pass", ())


@pytest.mark.rest
def test_it_asks_for_a_command_again_in_its_own_time(library: Library) -> None:
    """Each time as its first attempt, and sooner than the CPU does."""
    commands = [Command(Compute.QUERY, 1, 0)] * 3
    outcome = talked(library, commands, 6000, 1, LATER, again=True)
    assert outcome.violations == ()
    assert outcome.not_judged == (WHAT,)


SWITCHED = """
server: {cards: {a: {gpus: 4, host_links: [0]}}, settings: {device_memory: 100}}
switching:
  gpu: a.2
  policy: POLICY
  tasks: {t: {layers: [{name: l, weights: 5000000, operations: 90000000000}]}}
  requests: [{task: t}, {task: t}]
"""


@pytest.mark.parametrize("policy", ["pipelined", "stop_start"])
@pytest.mark.parametrize(
    "more", [(), (Command(Compute.ALLOCATE, 77, 7), Command(Compute.LAUNCH, 77, 500))], ids=["created", "used"]
)
def test_where_requests_are_served_its_own_context_has_what_terms_it_likes(
    library: Library, more: tuple[Command, ...], policy: str
) -> None:
    commands = [Command(Compute.CREATE, 77, 10, 16, 9), *more]
    outcome = talked(library, commands, 6000, 9, LATER, text=SWITCHED.replace("POLICY", policy))
    assert outcome.switching is not None
    assert outcome.switching.broken == ()
    assert outcome.violations == ()
