"""Random programs of commands, as the RTL plays them and as docs/reference/contexts.md has them: every answer, when
it leaves, and the memory that is held, to the cycle.
"""

from collections import Counter
from collections.abc import Iterable

import pytest

from ringhil.emulator.engine.library import Library, cells_library

from .judged import judge
from .programs import Author
from .ring import play

TAIL = 3_000  # cycles after the last unit
MANY, SLICES = 10_000, 20


@pytest.fixture(scope="module")
def cells() -> Library:
    return cells_library()


def said(cells: Library, seeds: Iterable[int]) -> Counter[str]:
    """How often each status was said in these programs, of which all that was said is right."""
    statuses: Counter[str] = Counter()
    for seed in seeds:
        author = Author(seed)
        verdict = judge(author.program, play(cells, author.program, TAIL))
        assert not verdict.wrong, f"program {seed}, fault {author.fault}: {verdict.wrong}"
        statuses.update(answer.status.name for _, answer in verdict.answers)
    return statuses


def test_programs(cells: Library) -> None:
    statuses = said(cells, range(60))
    assert {*statuses} >= {
        *("DONE", "STARTED", "CANCELLED", "RUNNING", "INVALID", "OVER_LIMIT", "NO_MEMORY"),
        *("NO_CONTEXT", "FOREIGN", "EXISTS", "INCOMPLETE", "BUSY"),
    }


@pytest.mark.slow(part="contexts")
@pytest.mark.parametrize("slice_", range(SLICES))
def test_many_programs(cells: Library, slice_: int) -> None:
    assert said(cells, range(slice_, MANY, SLICES)).total() > MANY


def test_leaps_change_nothing(cells: Library) -> None:
    """The same with quiet time leapt over and without: what leaves, to the flit and the cycle, and what is held."""
    for seed in range(100, 106):
        program = Author(seed).program
        leaping, plain = (play(cells, program, TAIL, skip=skip) for skip in (True, False))
        assert leaping.evaluations < plain.evaluations / 2
        leaping.evaluations = plain.evaluations
        assert leaping == plain
