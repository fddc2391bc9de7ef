"""A task that was given is heard of exactly once, whoever dies."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.processes import alive

from ringhil.emulator.campaign.pool import Heard, LocalPool, Lost
from ringhil.emulator.forks import forked

Task = tuple[int, str]  # a number, and what becomes of it: ok, raise, die, sleep, nap
WORD = st.sampled_from(["ok", "ok", "ok", "raise", "die"])
BATCHES = st.lists(st.lists(WORD, min_size=1, max_size=5), max_size=5)
KILLED = "the process that played it was ended by SIGKILL (out of memory?), twice"


def work(task: Task) -> str:
    number, word = task
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "raise":
        raise RuntimeError(f"no idea\nof {number}")
    if word == "sleep":
        time.sleep(600)
    if word == "nap":
        time.sleep(0.4)
    return f"{word} {number}"


def numbered(batches: Iterable[list[str]]) -> list[list[Task]]:
    numbers = iter(range(1000))
    return [[(next(numbers), word) for word in batch] for batch in batches]


def all_heard(pool: LocalPool[Task, str], batches: list[list[Task]]) -> list[Heard[Task, str]]:
    heard: list[Heard[Task, str]] = []
    waiting = list(batches)
    while waiting or pool.busy:
        while waiting and pool.room > 0:
            pool.give(waiting.pop(0))
        heard += pool.hear()
    return heard


@pytest.mark.rest
@pytest.mark.parametrize("once", [True, False], ids=["once", "again and again"])
@settings(deadline=None, max_examples=40)
@given(batches=BATCHES, jobs=st.integers(1, 3))
def test_every_task_is_heard_of_once(batches: list[list[str]], jobs: int, once: bool) -> None:
    given_ = numbered(batches)
    with LocalPool(work, jobs, once=once) as pool:
        heard = all_heard(pool, given_)
    tasks = [task for batch in given_ for task in batch]
    assert sorted(one.task for one in heard) == tasks
    for one in heard:
        number, word = one.task
        if word == "ok":
            assert not isinstance(one, Lost)
            assert one.answer == f"ok {number}"
        else:
            assert isinstance(one, Lost)
            assert one.why == KILLED if word == "die" else one.why.startswith(f"RuntimeError: no idea of {number} (")


def test_a_task_that_dies_once_is_done_by_another_process(tmp_path: Path) -> None:
    def die_once(task: Task) -> str:
        mark = tmp_path / str(task[0])
        if task[1] == "die" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return str(os.getpid())

    with LocalPool(die_once, 1) as pool:
        first, second, third = all_heard(pool, numbered([["ok", "die", "ok"]]))
    assert not isinstance(first, Lost)
    assert not isinstance(second, Lost)
    assert not isinstance(third, Lost)
    assert second.answer == third.answer != first.answer


def test_a_process_that_is_killed_while_it_waits_costs_nothing() -> None:
    pids: list[int] = []
    with LocalPool(work, 1, started=pids.append) as pool:
        assert len(all_heard(pool, [[(0, "ok")]])) == 1
        os.kill(pids[0], signal.SIGKILL)
        (heard,) = all_heard(pool, [[(1, "ok")]])
    assert not isinstance(heard, Lost)


def test_a_process_that_waits_ends_by_itself(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    with LocalPool(work, 1, ended=ended.touch) as pool:
        all_heard(pool, [[(0, "ok")]])
    assert ended.exists()


def test_one_that_takes_too_long_is_ended() -> None:
    """And not tried again: it would take as long."""
    pids = list[int]()
    with LocalPool(work, 1, patience=0.3, started=pids.append) as pool:
        lost, other = sorted(all_heard(pool, [[(0, "sleep"), (1, "ok")]]), key=lambda one: one.task)
    assert isinstance(lost, Lost)
    assert lost.why == "it took more than 0.3 s"
    assert not isinstance(other, Lost)
    assert len(pids) == 2


@pytest.mark.rest
def test_each_task_of_a_batch_may_take_as_long() -> None:
    pids: set[int] = set()
    with LocalPool(work, 1, patience=1.5, started=pids.add) as pool:
        pool.give([(number, "nap") for number in range(5)])
        heard = 0
        while pool.busy:
            heard += len(pool.hear(0.05))
    assert heard == 5
    assert len(pids) == 1, "a process was ended although each task took its time and no more"


def test_an_interrupt_of_a_process_is_left_to_its_parent() -> None:
    """Ctrl-C reaches all processes of a terminal, also of a parent that ignores it."""
    pids: list[int] = []
    with LocalPool(work, 1, started=pids.append) as pool:
        pool.give([(0, "nap")])
        os.kill(pids[0], signal.SIGINT)
        (heard,) = all_heard(pool, [])
    assert not isinstance(heard, Lost)
    assert len(pids) == 1


def test_what_a_dropped_task_has_kept_waiting_goes_before_new_batches() -> None:
    with LocalPool(work, 1) as pool:
        pool.give([(9, "sleep"), (1, "ok")])
        pool.drop(lambda task: task[1] == "sleep")
        assert [one.task for one in all_heard(pool, [[(2, "ok")]])] == [(1, "ok"), (2, "ok")]


def test_what_is_dropped_is_not_heard_of_and_the_rest_is() -> None:
    with LocalPool(work, 2) as pool:
        pool.give([(0, "ok"), (9, "sleep"), (1, "ok")])
        pool.give([(8, "sleep"), (2, "ok")])
        pool.drop(lambda task: task[1] == "sleep")
        assert {one.task for one in all_heard(pool, [])} == {(0, "ok"), (1, "ok"), (2, "ok")}


def test_a_dropped_task_is_not_done_again_when_its_process_dies() -> None:
    with LocalPool(work, 1) as pool:
        pool.give([(0, "die"), (1, "raise")])
        pool.drop(lambda task: task[0] == 1)
        (lost,) = all_heard(pool, [])
    assert lost.task == (0, "die")


def test_there_are_no_more_processes_than_jobs_and_each_is_used_again() -> None:
    pids: set[int] = set()
    with LocalPool(work, 2, started=pids.add) as pool:
        all_heard(pool, numbered([["ok"]] * 20))
    assert len(pids) == 2
    fresh: set[int] = set()
    with LocalPool(work, 2, once=True, started=fresh.add) as pool:
        all_heard(pool, numbered([["ok", "ok"]] * 10))
    assert len(fresh) == 10


def test_a_process_that_does_one_batch_ends_with_it() -> None:
    pids: list[int] = []
    with LocalPool(work, 2, once=True, started=pids.append) as pool:
        all_heard(pool, numbered([["ok"]] * 3))
        until = time.monotonic() + 30
        while any(alive(pid) for pid in pids):
            assert time.monotonic() < until, "a process waits for a second batch"
            pool.hear(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, which only Linux has")
@pytest.mark.parametrize("end", [LocalPool.close, lambda pool: pool.drop(lambda task: True)], ids=["close", "drop"])
def test_no_process_is_left_nor_one_that_it_has_forked(end: Callable[[LocalPool[Task, str]], None]) -> None:
    pids: list[int] = []
    pool: LocalPool[Task, str] = LocalPool(lambda task: forked(lambda: work(task), 600), 2, started=pids.append)
    pool.give([(0, "sleep")])
    pool.give([(1, "sleep")])
    below = [_child_of(pid) for pid in pids]
    end(pool)
    assert not pool.busy
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    until = time.monotonic() + 30
    while any(_runs(pid) for pid in below):
        assert time.monotonic() < until, "a process goes on without its parent"
        time.sleep(0.01)


def _child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while not (found := children.read_text().split()):
        time.sleep(0.01)
    return int(found[0])


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process doesn't end with its parent")
def test_a_task_that_ends_its_process_group_ends_no_other() -> None:
    def ends(task: Task) -> str:
        if task[1] == "die":
            os.killpg(0, signal.SIGKILL)
        return "well"

    def played() -> dict[Task, str]:
        os.setsid()  # not the group of the test
        with LocalPool(ends, 1, apart=True) as pool:
            heard = all_heard(pool, [[(0, "die"), (1, "ok")]])
        return {one.task: one.why if isinstance(one, Lost) else one.answer for one in heard}

    assert forked(played, 60) == {(0, "die"): KILLED, (1, "ok"): "well"}
