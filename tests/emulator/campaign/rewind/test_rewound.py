"""What a process does after it was put back is what a fresh fork does."""

import mmap
import os
import random
import signal
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.emulator.campaign.explore.servers import WORKING, warm
from tests.sampled import sampled

from ringhil.emulator.campaign.explore.plan import Plan
from ringhil.emulator.campaign.explore.player import CasePlayer, start_of
from ringhil.emulator.campaign.explore.space import Space
from ringhil.emulator.campaign.rewind import RewindError, Rewound
from ringhil.emulator.forks import ForkedError

MEGABYTE = 1 << 20


class Ledger:
    """All sorts of memory: each of them is written to, given back or grown by a task."""

    def __init__(self) -> None:
        self.reached = 0
        self.told: list[Any] = []
        self.kept = {n: str(n) * 50 for n in range(20_000)}
        self.array = np.arange(500_000)
        self.mapped = mmap.mmap(-1, MEGABYTE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.rng = random.Random(1)

    def advance(self, place: int) -> None:
        self.told.append(place)
        self.reached = place

    def account(self) -> tuple[Any, ...]:
        """What there is, and only now what is done to it."""
        found = (self.told[:], len(self.kept), int(self.array.sum()), self.mapped[: len(self.told)], self.rng.random())
        return (*found, self.reached)

    def act(self, task: str) -> tuple[Any, ...]:
        found = self.account()
        self.told += [task] * 1000
        match task:
            case "free":
                self.kept.clear()
                self.array = self.array[:1].copy()
                self.mapped.close()
            case "grow":
                self.kept |= {n: str(n) * 50 for n in range(20_000, 90_000)}
                self.array = np.concatenate([self.array] * 20)
            case "write":
                self.array[::500] += 1
                self.mapped[:] = b"x" * MEGABYTE
            case "raise":
                raise ValueError(task)
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                time.sleep(60)
        return found


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def rewound(ledger: Ledger) -> Rewound[str, tuple[Any, ...]]:
    made = Rewound(ledger.act, ledger.advance, 0)
    try:
        made.ask("look", 0, 60)
    except RewindError:
        # No tool is missing that could be installed: also where none may be, this is no failure.
        pytest.xfail("not judged: this system doesn't put processes back")
    return made


def test_every_task_finds_memory_as_the_first_one_did(ledger: Ledger) -> None:
    made, tasks = rewound(ledger), random.Random(2)
    for place in (0, 7, 9):
        expected = ([p for p in (7, 9) if p <= place], 20_000, 124_999_750_000)
        answers = [made.ask(tasks.choice(["look", "free", "grow", "write"]), place, 60) for _ in range(12)]
        assert len(set(map(repr, answers))) == 1
        assert answers[0][:3] == expected
        with pytest.raises(ForkedError, match="ValueError: raise"):
            made.ask("raise", place, 60)
    made.close()


def test_a_task_that_dies_or_hangs_ends_the_process(ledger: Ledger) -> None:
    for task, limit, why in (("die", 60, "was ended by SIGKILL"), ("hang", 0.2, r"no end after 0\.2 seconds")):
        made = rewound(ledger)
        with pytest.raises(ForkedError, match=why) as error:
            made.ask(task, 0, limit)
        assert made.gone
        assert error.value.hung == (task == "hang")


@pytest.mark.rest
@pytest.mark.parametrize("seed", sampled([1, 0], "explore", 2))
def test_cases_come_to_the_same_as_in_a_fork_for_each(seed: int) -> None:
    scenario, server, rounds = warm(WORKING)
    space = list(enumerate(Space(scenario.server, rounds, Plan(depth=2, random=20, phases=3, lasts=(None, 1500)))))
    clean, *others = space  # the first case has no fault
    cases = [*random.Random(seed).sample(others, 8), clean]
    # The rewound one first: it leaves the server where it is, and takes cases in any order.
    players = [CasePlayer(server, 60, 1), partial(CasePlayer, rewinding=False)(server, 60, 1)]
    orders = [cases, sorted(cases, key=start_of)]
    in_place, forked = ({c: p(c) for c in order} for p, order in zip(players, orders, strict=True))
    players[0].close()
    assert in_place == forked
