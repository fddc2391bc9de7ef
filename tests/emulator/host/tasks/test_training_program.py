"""What a training task does, command by command, and what it does when it is refused something."""

from dataclasses import replace

import pytest

from ringhil.emulator.host.contexts.command import LOST, Command, Reply
from ringhil.emulator.host.tasks.process import Busy
from ringhil.emulator.host.tasks.training import Surroundings, TaskReport, TrainingTask, training
from ringhil.protocol.wire import Compute, Query, ResultStatus

KEY, HOST, INPUT, COMPUTES, STATE = 7, 400, 90, 1000, 20
TASK = TrainingTask(
    memory=500, slice=200, priority=3, state=STATE, wants=50, piece=100, steps=2, host=HOST, compute=COMPUTES,
    input=INPUT, again=False,
)  # fmt: skip
DONE = ResultStatus.DONE
CREATE, ALLOCATE = (Compute.CREATE, 500, 0), (Compute.ALLOCATE, 100, 0)
LOOKS = [(Compute.QUERY, Query.MEMORY.code, 0), (Compute.QUERY, Query.GPU.code, 0)]
STEP = [HOST, (Compute.COPY, 0, INPUT), (Compute.LAUNCH, COMPUTES, 0)]
ENDS = [(Compute.QUERY, Query.RUN_TIME.code, 0), (Compute.QUERY, Query.COUNTS.code, 0), (Compute.DESTROY, 0, 0)]


def played(task: TrainingTask, refused: int | None = None, why: Reply = LOST) -> tuple[list[object], TaskReport]:
    """What it does, and says; the command with this number is refused, and those of a lost GPU after it are, too. It is
    told of 470 pages, and may have 500."""
    time, report, done = 0, TaskReport(), list[object]()
    program = training(task, KEY, report, Surroundings(lambda: time, lambda: False, lambda: None))
    answer: Reply | None = None
    while True:
        try:
            wanted = program.send(answer)
        except StopIteration:
            return done, report
        if isinstance(wanted, Busy):
            done.append(wanted.cycles)
            answer, time = None, time + wanted.cycles
            continue
        assert isinstance(wanted, Command)
        assert (wanted.key, wanted.slice, wanted.priority, wanted.state) == (KEY, 200, 3, STATE)
        done.append((wanted.compute, wanted.amount, len(wanted.data)))
        time += 10
        digests = {Query.MEMORY.code: 500, Query.GPU.code: 470, Query.RUN_TIME.code: 77, Query.COUNTS.code: 5 << 32}
        answer = Reply(DONE, digests.get(wanted.amount, 0) if wanted.compute is Compute.QUERY else 0)
        if refused is not None and (len(done) - 1 == refused or (why is LOST and len(done) > refused)):
            answer = why


def test_it_takes_half_of_what_it_is_told_of_in_pieces_and_does_its_steps() -> None:
    done, report = played(TASK)
    assert done == [CREATE, *LOOKS, ALLOCATE, ALLOCATE, (Compute.ALLOCATE, 35, 0), *STEP, *STEP, *ENDS]
    assert (report.told, report.memory, report.steps, report.failed) == (470, 235, 2, None)
    assert (report.run, report.switches) == (77, 5)
    assert (report.began, report.ready, report.trained, report.ended) == (0, 60, 900, 900)


def test_its_own_steps_are_all_done_also_when_the_others_have_done_theirs() -> None:
    assert played(replace(TASK, again=True)) == played(TASK)


@pytest.mark.parametrize(
    ("refused", "why", "said"),
    [
        (0, Reply(ResultStatus.NO_MEMORY), "no context: the GPU has no more"),
        (1, LOST, "no answer: the GPU was lost"),
        (4, Reply(ResultStatus.NO_MEMORY), "out of memory at initialisation: the GPU has no more"),
        (4, Reply(ResultStatus.OVER_LIMIT), "out of memory at initialisation: it may have no more"),
        (7, LOST, "its data didn't reach the GPU: the GPU was lost"),
        (11, Reply(ResultStatus.INVALID), "its work was not done: invalid"),
    ],
)
def test_what_it_is_refused_ends_it_and_it_gives_back_what_it_has(refused: int, why: Reply, said: str) -> None:
    done, report = played(TASK, refused, why)
    assert done == [*played(TASK)[0][: refused + 1], *ENDS]
    assert report.failed == said
    assert report.trained is None
    assert report.memory == 100 * (refused > 3) + 135 * (refused > 4)
    assert (report.run, report.switches) == ((None, None) if why is LOST else (77, 5))


@pytest.mark.parametrize("refused", [12, 13])
def test_what_it_had_of_the_gpu_is_told_whole_or_not_at_all(refused: int) -> None:
    """The GPU is lost when all steps are done, and some of that was asked for."""
    _, report = played(TASK, refused)
    assert (report.trained, report.failed) == (played(TASK)[1].trained, None)
    assert (report.run, report.switches) == (None, None)
