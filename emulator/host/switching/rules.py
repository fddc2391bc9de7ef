"""What a policy of pipelined preparation decides (W2 to W4), without doing it. Memory in pages."""

from collections.abc import Sequence


def may_initialise(environments: Sequence[int], rests: Sequence[int], held: int, owed: int, first: int) -> bool:
    """W2: whether one more task may begin its first stage; it is the last of `environments`, which are those of all
    initialised tasks, and of `rests`, what each may hold beside at most. Each of them in turn has room for all of it;
    now `held` pages are held, and the current task is `owed` so many more.
    """
    return sum(environments) + max(rests) <= first and held + owed + environments[-1] <= first


def may_prepare(request: int, held: int, owed: int, first: int) -> bool:
    """Whether memory can be asked for now, so that the sum stays within the first preset value and the current task
    gets what it is `owed`."""
    return held + owed + request <= first


def is_near_its_end(left: int, preset: int) -> bool:
    """W3: whether an execution has reached the preset progress: fewer subtasks are left than `preset`."""
    return left < preset


def marked(requests: Sequence[int], second: int) -> tuple[int, ...]:
    """W3: which of the subtasks that are left the next task's first one has to wait for: those that ask for more than
    the second preset value."""
    return tuple(number for number, request in enumerate(requests) if request > second)


def may_run_beside(request: int, running: int, second: int) -> bool:
    """W4: whether a subtask that is ready may run while one of the current task does."""
    return request + running <= second
