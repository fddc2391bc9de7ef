"""Going back is exact: at every moment all is as in the run that was never interrupted; and it costs bounded memory."""

import os
import random
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringhil.emulator.debug.looking import SteppedRun
from ringhil.emulator.debug.memory import plain
from ringhil.emulator.debug.past import NEAR, SPREAD, Past, dispensable, on_the_way
from ringhil.emulator.debug.processes import DebugError, Moment, beginning
from ringhil.emulator.debug.recorder import hardware
from ringhil.emulator.engine.library import cells_library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.scenario import loads
from ringhil.protocol.registers import ADDRESS

SERVER = """
server:
  cards: {a: {gpus: 5, host_links: [0, 1]}, b: {gpus: 3}}
  boundary_links: [{from: [a.3, a.2], to: [b.1, b.2]}]
workload: {units: 40, size: 600}
timeline:
- {at: 9000, fault: dead, gpu: a.0}
- {at: 21000, fault: link_cut, link: a.2-a.3}
- {at: 30000, clear: dead, gpu: a.0}
until: 50000
"""
END = 50_000
_OTHERS = frozenset({"server", "kernel", "engine", "cpu", "port"})


class Whole(SteppedRun):
    """Everything of it can be asked for at once."""

    def ask(self, what: str, *values: Any) -> Any:
        return everything(self._run) if what == "all" else super().ask(what, *values)


def everything(run: Run) -> tuple[int, bytes, Any]:
    """Hardware, firmware, CPU and judge."""
    firmware = [plain(run.server.running(cell)) for cell in range(run.server.wiring.cells)]
    judged = _but_the_run(plain(run.judge))
    return run.kernel.now, hardware(run.engine), (firmware, plain(run.cpu.cards), plain(run.cpu.work), judged)


def _but_the_run(value: Any) -> Any:
    """What the judge refers to, and how long that has taken, is none of its own."""
    if isinstance(value, dict):
        return {n: _but_the_run(each) for n, each in value.items() if n not in _OTHERS}
    return [_but_the_run(each) for each in value] if isinstance(value, list) else value


def make() -> Whole:
    return Whole(Run(loads(SERVER), cells_library()))


@pytest.fixture
def past() -> Iterator[Past]:
    found = Past(make)
    yield found
    found.close()


@pytest.mark.rest
def test_every_moment_is_that_of_a_run_that_went_on(past: Past) -> None:
    """Forwards and backwards, near and far, faults in between."""
    dice = random.Random(3)
    cycles = [dice.randrange(END) for _ in range(10)]
    cycles += [max(0, cycle + dice.choice((-1, 1, -40, 40, -900))) for cycle in cycles]
    dice.shuffle(cycles)
    found = {}
    for cycle in cycles:
        past.seek(cycle)
        assert past.cycle == cycle
        found[cycle] = past.ask("all")
    run = Run(loads(SERVER), cells_library())
    run.start()
    for cycle in sorted(found):
        run.run_to(cycle)
        assert everything(run) == found[cycle], cycle
    run.close()


@pytest.mark.rest
def test_just_before_a_moment_that_is_kept(past: Past) -> None:
    past.seek(12_000)
    for kept in past.moments[1:]:
        past.seek(kept - 1)
        assert past.ask("all")[0] == kept - 1
        with past.aside(kept - 1) as moment:
            assert moment.ask("all")[0] == kept - 1


@pytest.mark.rest
def test_to_look_changes_nothing(past: Past) -> None:
    past.seek(12_000)
    for gpu in ("a.0", "b.2"):
        past.ask("registers", gpu)
        past.ask("firmware", gpu)
    past.ask("card", "a")
    past.seek(40_000)
    other = Past(make)
    other.seek(40_000)
    assert past.ask("all") == other.ask("all")
    other.close()


@pytest.mark.rest
def test_moments_are_kept_on_the_way_and_near_the_present(past: Past) -> None:
    past.seek(40_000)
    assert past.moments == [0, *on_the_way(0, 40_000)]
    for cycle in range(39_900, 37_000, -100):
        past.seek(cycle)
    near = [cycle for cycle in past.moments if 35_000 < cycle <= 37_000]
    assert near
    assert past.cycle - max(near) < 2 * NEAR


@pytest.mark.rest
def test_from_everywhere_in_a_known_run_a_moment_is_near() -> None:
    past = Past(make, end=END)
    past.seek(END)
    gaps = [after - before for before, after in pairwise([*past.moments, END])]
    past.close()
    assert max(gaps) <= END // SPREAD + 2 * NEAR


def test_memory_is_bounded_and_the_first_moment_stays() -> None:
    past = Past(make, memory=1)
    past.seek(40_000)
    assert past.moments == [0]
    past.seek(100)
    assert past.ask("all")[0] == 100
    assert past.used() > 1
    past.close()


def test_when_it_is_closed_no_process_is_left() -> None:
    past = Past(make)
    past.seek(30_000)
    processes = [moment.process for moment in (*past._kept, past._present)]
    assert len(processes) == len(set(processes)) > 4
    assert all(Path(f"/proc/{process}").exists() for process in processes)
    past.close()
    assert not Path(f"/proc/{processes[0]}").exists()  # this process's own child was waited for
    deadline = time.monotonic() + 60
    while any(_runs(process) for process in processes):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _runs(process: int) -> bool:
    """A child of this process that has ended is still listed until it is waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_processes_that_are_given_up_leave_nothing_behind() -> None:
    past = Past(make, memory=1)  # none is kept but the first
    for cycle in (20_000, 3000, 15_000, 1000):
        past.seek(cycle)
    first, deadline = past._kept[0].process, time.monotonic() + 60
    while len(_children(first)) > 1:  # the present; others may take a moment to end
        assert time.monotonic() < deadline
        time.sleep(0.01)
    past.close()


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_all_registers_of_all_gpus_are_part_of_the_hardware() -> None:
    run = Run(loads(SERVER), cells_library())
    run.start()
    run.run_to(10_000)
    found, cells = hardware(run.engine), run.engine.topology.cells
    values = [int.from_bytes(found[at : at + 4], "little") for at in range(0, len(found), 4)]
    assert values == [run.engine.peek(cell, name) for cell in range(cells) for name in ADDRESS]
    assert len(set(values)) > 10
    run.close()


class Fragile:
    """Breaks in cycle 10, and for one question."""

    def __init__(self) -> None:
        self.cycle = 0

    def go(self, cycle: int) -> None:
        if self.cycle <= 10 < cycle:
            raise ValueError("it breaks in cycle 10")
        self.cycle = cycle

    def ask(self, what: str) -> object:
        if what == "die":
            os._exit(3)
        if what == "lambda":
            return lambda: None
        return self.cycle


def test_what_goes_wrong_there_is_told_here() -> None:
    first = beginning(Fragile)
    (fifth,) = first.travel([5])
    assert fifth.ask("cycle") == 5
    with pytest.raises(DebugError, match="it breaks in cycle 10"):
        fifth.travel([7, 12])
    with pytest.raises(DebugError, match="it breaks in cycle 10"):
        fifth.go(12)
    with pytest.raises(DebugError, match=r"."):
        fifth.ask("lambda")
    assert fifth.ask("cycle") == 5
    with pytest.raises(DebugError, match="the process of cycle 5 has died"):
        fifth.ask("die")
    (again,) = first.travel([6])
    assert again.ask("cycle") == 6
    for moment in (first, fifth, again):
        moment.close()


def test_what_cannot_begin_is_told_here() -> None:
    def fails() -> Fragile:
        raise DebugError("it can not")

    with pytest.raises(DebugError, match=r"^it can not$"):
        beginning(fails)


def test_a_jump_that_fails_leaves_the_present_as_it_was() -> None:
    past = Past(Fragile)
    past.seek(5)
    with pytest.raises(DebugError):
        past.seek(5 + 3 * NEAR)
    assert (past.cycle, past.ask("cycle")) == (5, 5)
    past.close()


def test_moments_know_their_memory() -> None:
    first = beginning(Fragile)
    assert 0 < first.memory() < 1 << 30
    assert isinstance(first, Moment)
    first.close()


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_the_way_is_halved_until_it_is_near(start: int, distance: int) -> None:
    found = on_the_way(start, start + distance)
    assert found == sorted(found)
    assert all(start < cycle <= start + distance - NEAR for cycle in found)
    assert len(found) <= 31
    gaps = [b - a for a, b in zip([start, *found], [*found, start + distance], strict=True)]
    assert all(gap < 4 * NEAR or gap <= distance - distance // 2 for gap in gaps)


@given(st.integers(1, 10**9), st.data())
def test_on_the_way_through_a_known_run_no_gap_is_long(end: int, data: st.DataObject) -> None:
    start, target = sorted(data.draw(st.tuples(st.integers(0, end), st.integers(0, end))))
    found = on_the_way(start, target, end)
    assert found == sorted(found)
    gaps = [b - a for a, b in zip([start, *found], [*found, target], strict=True)]
    assert all(gap >= NEAR for gap in gaps) or gaps == [target - start]
    assert max(gaps) <= max(end // SPREAD, NEAR) + 2 * NEAR
    assert len(found) <= SPREAD + 31


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=40, unique=True),
    st.integers(0, 10**6),
    st.sampled_from([0, 1, 10**6]),
)
def test_the_first_is_never_dispensable(cycles: list[int], present: int, end: int) -> None:
    assert 1 <= dispensable(sorted(cycles), present, end) < len(cycles)


def test_of_a_known_run_far_ones_stay_at_even_distances() -> None:
    """However often one looks at one place: from there to anywhere else it is not far."""
    end = 10_000_000
    cycles, present = on_the_way(0, end, end), 9_000_000
    cycles = [0, *sorted({*cycles, *range(present - 60_000, present + 60_000, 1000)})]
    while len(cycles) > 128:
        cycles.pop(dispensable(cycles, present, end))
    far = [cycle for cycle in [*cycles, end] if cycle <= 8_000_000]
    assert max(b - a for a, b in pairwise(far)) <= 3 * end // SPREAD
    assert len([cycle for cycle in cycles if abs(cycle - present) <= 60_000]) > 20


@pytest.mark.parametrize("most", [SPREAD, 128])
def test_from_everywhere_one_is_near_whoever_looked_where_before(most: int) -> None:
    """Also from the end of the run, where nothing follows on the last one."""
    end, dice, cycles, present = 10_000_000, random.Random(1), [0], 0
    for target in [end, *(dice.randrange(end) for _ in range(200))]:
        nearest = max(cycle for cycle in cycles if cycle <= target)
        start = present if nearest <= present <= target else nearest
        cycles = sorted({*cycles, start, *on_the_way(start, target, end)})
        present = target
        while len(cycles) > most:
            cycles.pop(dispensable(cycles, present, end))
        assert max(after - before for before, after in pairwise([*cycles, end])) <= 3 * end // SPREAD


def test_far_ones_go_first() -> None:
    """Of moments at equal distances, those far from the present become fewer; near it all stay."""
    cycles = list(range(0, 100_000, 1000))
    while len(cycles) > 30:
        cycles.pop(dispensable(cycles, 90_000))
    assert cycles[0] == 0
    assert {88_000, 89_000, 90_000, 91_000} <= set(cycles)
    assert len([cycle for cycle in cycles if cycle < 45_000]) < 10
