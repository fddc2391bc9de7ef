"""`slice_kept` finds mistakes of the hardware that shares an engine, and nothing else does; right turns are right."""

import shutil
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import RTL, Library, cells_library
from ringhil.emulator.judge.contexts.commands_seen import SeenCommand
from ringhil.emulator.judge.contexts.slices import Slices
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.protocol.frames import Result
from ringhil.protocol.wire import Compute, ResultStatus

from .playing import play, violations

# All name their slices, so the default one is free to say which mistake is made.
FILE = """
server:
  cards: {{a: {{gpus: 3}}}}
  settings: {{default_slice: {mistake}, context_switch: 20}}
sharing:
  applications:
    x: {{gpu: a.2, steps: 3, host: 100, compute: 3000, memory: 9000, slice: 200}}
    y: {{gpu: a.2, steps: 4, host: 500, compute: 2000, memory: 9000, slice: 160, priority: 1}}
    z: {{gpu: a.2, steps: 3, host: 300, compute: 3000, memory: 9000, slice: 240, state: 30}}
"""
NONE, TOO_LONG, NO_PRIORITY, NO_ROUNDS, GOES_ON, NO_SWITCH, OWN_IGNORED = range(1000, 1007)
_IS = "default_slice_i == 32'd"
TWINS = {
    "slice = slice_i == 32'h0 ?": (
        f"slice = {_IS}{TOO_LONG} ? slice_i << 1 : slice_i == 32'h0 || ({_IS}{OWN_IGNORED} && slice_i < 32'd1000) ?"
    ),
    "high[2*n+1] > high[2*n])": f"(high[2*n+1] > high[2*n] && !({_IS}{NO_PRIORITY})))",
    "candidates = waits & ~served_q;": f"candidates = waits & ~({_IS}{NO_ROUNDS} ? '0 : served_q);",
    "ended = finish || ended_q ?": f"ended = (finish || ended_q) && !({_IS}{GOES_ON}) ?",
    "if (switches_q) work_from": f"if (switches_q && !({_IS}{NO_SWITCH})) work_from",
}
FOUND = {
    TOO_LONG: "context 2 went on for 320 cycles while context 1 waited, not 160",
    NO_PRIORITY: "context 2 was next",
    NO_ROUNDS: "context 2 went on for 2000 cycles while context 1 waited, not 160",
    GOES_ON: " went on for ",
    NO_SWITCH: "took 1 cycles, not ",
    OWN_IGNORED: "context 2 went on for 1004 cycles while context 1 waited, not 160",
}


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A scheduler with a mistake for each of some default slices."""
    folder = Path(shutil.copytree(RTL, tmp_path_factory.mktemp("slices") / "rtl"))
    file = folder / "slice_scheduler.sv"
    text = file.read_text(encoding="utf-8")
    for old, new in TWINS.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return cells_library(folder)


def test_each_has_its_place() -> None:
    """Once in its file, so that it can be seeded."""
    text = (RTL / "slice_scheduler.sv").read_text(encoding="utf-8")
    assert [old for old in TWINS if text.count(old) != 1] == []


@pytest.mark.slow(part="bugs")
def test_without_a_mistake_nothing_is_found(mistaken: Library) -> None:
    assert violations(FILE.format(mistake=NONE)) == ()
    assert play(loads(FILE.format(mistake=NONE)), mistaken).violations == ()


@pytest.mark.slow(part="bugs")
@pytest.mark.parametrize(("mistake", "says"), FOUND.items())
def test_a_mistake_is_found_by_it_alone(mistaken: Library, mistake: int, says: str) -> None:
    found = play(loads(FILE.format(mistake=mistake)), mistaken).violations
    assert {each.promise for each in found} == {"slice_kept"}
    assert any(says in each.text for each in found), found


# ------------------------------------------------------------------------------------------ what the register shows

TAKEN, SWITCHING = 0x100, 0x200
SWITCH, SLICE = 10, 100
LONG = 10_000


class Shown:
    """A GPU with three contexts, the last one with a higher priority, that have launched something; and its turns."""

    def __init__(
        self, launched: tuple[int, ...] = (1, 2, 3), amount: int = LONG, switch: int = SWITCH, wake: int = 0
    ) -> None:
        self.judge, self._unit = Slices("a.1", switch, 2000, wake), 1 << 31
        for context in (1, 2, 3):
            self.ask(context, Compute.CREATE, 5, ResultStatus.DONE, SLICE, context == 3)
        for context in launched:
            self.ask(context, Compute.LAUNCH, amount, ResultStatus.STARTED)

    def ask(
        self,
        context: int,
        compute: Compute,
        amount: int,
        status: ResultStatus | None,
        slice_: int = 0,
        priority: int = 0,
        now: int = 0,
    ) -> None:
        """`status`: of the answer, which comes at once; None: none does."""
        self._unit += 1
        command = SeenCommand(self._unit, 1, (0, 1), context, compute, 1, amount, slice_, priority, 0, 0)
        self.judge.sent(command, now)
        if status is not None:
            self.judge.answered(Result(0, 0, 9, 0, 1, self._unit, 1, 1, status.code, 0, 0, 0, 16, 0), now)

    def turns(self, *turns: tuple[int, int, int], now: int = 1) -> list[str]:
        """Contexts, and for how long each is switched to and works; 0 cycles of work: nobody has the engine."""
        for context, switch, works in turns:
            if switch:
                self.judge.changed(context | TAKEN | SWITCHING, now)
            if works:
                self.judge.changed(context | TAKEN, now + switch)
            else:
                self.judge.changed(0, now + switch)
            now += switch + works
        self.judge.changed(0, now)
        self.judge.finish(now)
        return [str(each) for each in self.judge.wrong]


ROUND = ((3, SWITCH, SLICE), (1, SWITCH, SLICE), (2, SWITCH, SLICE))


def test_rounds_are_right() -> None:
    assert Shown().turns(*ROUND, *ROUND) == []
    assert Shown(()).turns((1, SWITCH, 5), (0, SWITCH, 900), (2, SWITCH, 900), (2, 0, 5)) == []


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ([(1, SWITCH, SLICE)], "context 1 has a turn; context 3 was next"),
        ([*ROUND, (1, SWITCH, SLICE)], "a round begins with context 1; context 3 was next"),
        ([(3, SWITCH, SLICE + 1)], "context 3 went on for 101 cycles while context 1 waited, not 100"),
        ([*ROUND[:2], (3, SWITCH, SLICE)], "context 3 has a second turn in a round; context 2 waits for one"),
        ([(3, SWITCH - 1, SLICE)], "the switch to context 3 took 9 cycles, not 10"),
        ([(3, SWITCH + 1, 0)], "the switch to context 3 took 11 cycles, not 10"),
        ([(3, SWITCH, 1), (0, SWITCH - 1, 900)], "the switch to context 0 took 9 cycles, not 10"),
        ([(3, 0, SLICE)], "context 3 has the engine without a switch; context 0 had it before"),
    ],
)
def test_each_wrong_turn_is_told(turns: list[tuple[int, int, int]], says: str) -> None:
    assert f"a.1: {says}" in Shown().turns(*turns)


def test_a_switch_may_be_withdrawn() -> None:
    assert Shown((3,)).turns((3, SWITCH, 0)) == []


def test_an_engine_that_stands_still_is_told() -> None:
    """Not for the four cycles between two turns."""
    for idle in (30, 5, 4):
        shown = Shown((1,))
        shown.judge.finish(idle)
        told = [(f"a.1: nobody had the engine for {idle} cycles while context 1 waited", idle)]
        assert [(str(each), each.at) for each in shown.judge.wrong] == told * (idle > 4)


@pytest.mark.parametrize(
    ("pause", "says"), [(1, "context 2 goes on after its slice"), (2, "a round begins with context 2")]
)
def test_who_has_a_turn_again_has_gone_on_if_it_is_at_once(pause: int, says: str) -> None:
    shown = Shown()
    assert shown.turns(*ROUND) == []
    shown.judge.changed(2 | TAKEN, 1 + 3 * (SWITCH + SLICE) + pause)
    assert {str(each).partition(";")[0] for each in shown.judge.wrong} == {f"a.1: {says}"}


@pytest.mark.parametrize("late", [50, 51])
def test_an_engine_that_had_slept_may_be_so_much_later(late: int) -> None:
    said = Shown(wake=50).turns((3, SWITCH, SLICE + late))
    told = [f"a.1: context 3 went on for 151 cycles while context {n} waited, not 150" for n in (1, 2)]
    assert said == told * (late > 50)


def test_a_turn_under_way_is_too_long_already() -> None:
    shown = Shown()
    shown.judge.changed(3 | TAKEN | SWITCHING, 1)
    shown.judge.changed(3 | TAKEN, 1 + SWITCH)
    shown.judge.finish(1 + SWITCH + SLICE)
    assert shown.judge.wrong == []
    shown.judge.finish(2 + SWITCH + SLICE)
    says = f"a.1: context 3 went on for {SLICE + 1} cycles while context 1 waited, not {SLICE}"
    assert says in [str(each) for each in shown.judge.wrong]


@pytest.mark.parametrize(("lacks", "told"), [(1, 0), (2, 1)])
def test_the_cycle_of_a_switch_without_a_cost_may_have_been_one_of_work(lacks: int, told: int) -> None:
    """So nobody knows whether it still waits."""
    shown = Shown((1,), amount=50, switch=0)
    shown.turns((1, 1, 50 - lacks))
    shown.judge.finish(200)
    assert len(shown.judge.wrong) == told


def test_who_may_have_had_two_turns_may_have_begun_a_round() -> None:
    """Its slice is being changed from 100 to 200 cycles, and it had 150: nobody knows who had a turn in this round."""
    shown = Shown((1, 2), amount=150)
    shown.ask(2, Compute.CONFIGURE, 5, None, 200)
    assert shown.turns((1, SWITCH, SLICE), (2, SWITCH, 150)) == []
    at = 1 + 2 * SWITCH + SLICE + 150
    shown.ask(3, Compute.LAUNCH, 150, ResultStatus.STARTED, now=at - 1)
    shown.judge.changed(1 | TAKEN | SWITCHING, at + 1)
    assert shown.judge.wrong == []


def test_what_is_withdrawn_or_lost_waits_no_more() -> None:
    shown = Shown((1, 2))
    shown.ask(2, Compute.CANCEL, 0, ResultStatus.DONE)
    assert shown.turns((1, SWITCH, 5 * SLICE)) == []
    shown = Shown()
    shown.judge.gone()
    assert shown.turns((2, SWITCH, 5 * SLICE)) == []
    assert shown.judge.doubts == []


def test_turns_of_contexts_of_which_nothing_is_known_are_not_judged() -> None:
    """That is said, of each once, until it is created anew."""
    shown = Shown((1, 2, 3))
    shown.judge.struck("it was struck")
    shown.ask(3, Compute.CREATE, 5, ResultStatus.DONE, SLICE)
    assert shown.turns((2, SWITCH, 5 * SLICE), (3, SWITCH, SLICE), (2, SWITCH, SLICE)) == []
    assert shown.judge.doubts == ["a.1: turns of context 2: it was struck"]


@pytest.mark.parametrize("how", ["struck", "gone", "mixed up"])
def test_contexts_that_are_being_created_are_known(how: str) -> None:
    """They may come to be there; where another one answers, too, nobody knows where."""
    shown = Shown(())
    shown.ask(1, Compute.CREATE, 5, None, SLICE)
    if how == "gone":
        shown.judge.gone()
    else:
        shown.judge.struck("it was struck", coming=how == "struck")
    shown.ask(2, Compute.CREATE, 5, ResultStatus.DONE, SLICE)
    for context in (1, 2):
        shown.ask(context, Compute.LAUNCH, LONG, ResultStatus.STARTED)
    found = shown.turns((2, SWITCH, SLICE), (1, SWITCH, 3 * SLICE))
    assert len(found) == (how != "mixed up")


def test_who_had_the_engine_before_anybody_asked_for_it_is_another_one() -> None:
    shown = Shown(())
    shown.judge.struck("it was struck")
    shown.judge.changed(1 | TAKEN, 20)
    shown.ask(1, Compute.CREATE, 5, ResultStatus.DONE, SLICE, now=50)
    shown.judge.changed(0, 20 + 9 * SLICE)
    shown.judge.finish(20 + 9 * SLICE)
    assert shown.judge.wrong == []


def test_who_is_not_known_may_have_had_several_turns() -> None:
    """Alone, and a round began with it: so all others may have a turn in that."""
    shown = Shown(())
    shown.ask(1, Compute.LAUNCH, LONG, ResultStatus.STARTED)
    shown.judge.struck("it was struck")
    for context in (2, 3):
        shown.ask(context, Compute.CREATE, 5, ResultStatus.DONE, SLICE, context == 3)
    begin, end = 1, 1 + SWITCH + SLICE
    for turn in ((3, SWITCH, SLICE), (3, 0, SLICE)):  # with the second one a round begins
        shown.ask(3, Compute.LAUNCH, SLICE, ResultStatus.STARTED, now=begin)
        assert shown.turns(turn, now=begin) == []
        begin, end = end, end + SLICE
    end = begin + SWITCH + 2 * SLICE
    assert shown.turns((1, SWITCH, 2 * SLICE), now=begin) == []
    for context in (2, 3):
        shown.ask(context, Compute.LAUNCH, LONG, ResultStatus.STARTED, now=end - 9)
    assert shown.turns((3, SWITCH, SLICE), (2, SWITCH, SLICE), now=end) == []


def test_one_that_has_left_the_ring_since_has_none_of_them() -> None:
    shown = Shown((1, 2, 3))
    shown.judge.struck("it was struck")
    shown.judge.gone()
    assert shown.turns((2, SWITCH, 5 * SLICE)) == []
    assert shown.judge.doubts == []


@pytest.mark.parametrize(("slow", "well", "told"), [(False, False, 0), (True, False, 1), (True, True, 0)])
def test_on_a_slow_gpu_a_launch_takes_four_times_as_long(slow: bool, well: bool, told: int) -> None:
    """Who has had as many cycles as it asked for waits for more, if it is slow all the time."""
    shown = Shown(())
    shown.judge.orders.slowed(slow=slow)
    for context in (1, 2):
        shown.ask(context, Compute.LAUNCH, SLICE, ResultStatus.STARTED)
    if well:
        shown.judge.orders.slowed(slow=False)
    found = shown.turns((1, SWITCH, SLICE), (2, SWITCH, SLICE), (1, SWITCH, 2 * SLICE))
    assert found == ["a.1: context 1 went on for 200 cycles while context 2 waited, not 100"] * told


SLOWED = """
server: {cards: {a: {gpus: 3}}}
sharing: {applications: {x: {gpu: a.2, steps: 9, compute: 900}, y: {gpu: a.1, steps: 9, compute: 900}}}
timeline: [{at: 5000, fault: slow, gpu: a.2}, {at: 9000, clear: slow, gpu: a.2}]
"""


def test_it_is_known_which_one_is_slow() -> None:
    run = Run(loads(SLOWED), cells_library())
    run.start()
    for now, slow in ((4999, []), (5001, ["a.2"]), (8999, ["a.2"]), (9001, [])):
        run.run_to(now)
        watched = run.judge.conduct.tasks.turns._gpus.values()
        assert [slices._name for slices in watched if slices.orders.slow] == slow
    run.close()


@pytest.mark.parametrize(("asks", "told"), [((50, 60), False), ((150, 160), True), ((90, 160), False), ((160,), False)])
def test_one_that_is_said_to_be_under_way_lacks_cycles_and_must_have_the_engine(
    asks: tuple[int, ...], told: bool
) -> None:
    """Its launch has had all of its 80 cycles by cycle 101. An answer to the last question but one may be older."""
    shown = Shown((1,), amount=80, switch=20)
    unit = shown.judge.orders.contexts[1].launch.unit  # type: ignore[union-attr]
    shown.judge.changed(1 | TAKEN | SWITCHING, 1)
    shown.judge.changed(1 | TAKEN, 21)
    shown.judge.changed(0, 101)
    for now in asks:
        shown.judge.sent(SeenCommand(unit, 2, (0, 1), 1, Compute.LAUNCH, 1, 80, 0, 0, 0, 0), now)
    shown.judge.answered(Result(0, 0, 9, 0, 1, unit, 1, 1, ResultStatus.STARTED.code, 0, 0, 0, 16, 0), 170)
    shown.judge.finish(300)
    assert [str(each) for each in shown.judge.wrong] == [
        "a.1: nobody had the engine for 199 cycles while context 1 waited"
    ] * told


def test_one_that_lacks_more_than_a_cycle_goes_on_lacking_it() -> None:
    shown = Shown((1,), amount=80, switch=20)
    launch = shown.judge.orders.contexts[1].launch
    assert launch is not None
    launch.had, launch.again = 50, (150, 160)
    launch.is_under_way()
    assert launch.takes == 80
    launch.had = 80
    launch.is_under_way()
    assert launch.takes == 81
