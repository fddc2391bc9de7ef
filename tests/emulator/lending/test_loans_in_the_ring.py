"""Loans of GPUs in a ring that has work: the judge, who has an oracle of his own, finds nothing to say of it.
(V4, V7)"""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from ringhil.emulator.engine.library import Library
from ringhil.emulator.judge.run import Run
from ringhil.emulator.lending.attachment import GuestState
from ringhil.emulator.lending.database import open_database
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.loans import GpuLoans, IdleTimes, LoanRefused, LoanWish
from ringhil.emulator.lending.run_host import RunHost
from ringhil.emulator.lending.sim import SimAttachment
from ringhil.emulator.lending.sim_gpus import sim_gpus
from ringhil.emulator.scenario import EventAction, GpuRef, TimelineEvent, loads

from .world import NODES, Crash, FragileJournal

_FILE = """
name: lent
server:
  cards: {a: {gpus: 6, host_links: [0, 1]}}
workload: {units: 400, size: 512}
"""
_STEP = 512
_IDLE = IdleTimes(period=30_000, grace=10_000)


def _sequence(folder: Path, library: Library, seed: int) -> None:
    """Requests and releases, GPUs of the ring that fail, guests that restart, a crash of the loans now and then."""
    dice = random.Random(seed)
    run = Run(loads(_FILE), library)
    run.start()
    database = open_database(f"sqlite:///{folder}/{seed}.db")
    host = RunHost(run.server)
    sim = SimAttachment(sim_gpus(run.scenario), lambda: host.now, work=20_000)
    run.run_to(8000)
    card = run.cpu.cards[0]

    def begun() -> tuple[FragileJournal, GpuLoans]:
        journal = FragileJournal(database)
        return journal, GpuLoans(journal, sim, host, _IDLE)

    journal, loans = begun()
    faulty: list[GpuRef] = []

    def fault(action: EventAction, gpu: GpuRef) -> None:
        run.strike([TimelineEvent(run.kernel.now + 1, action, "dead", gpu, None, 0)])

    def request() -> None:
        with suppress(LoanRefused):
            loans.request(LoanWish(dice.choice(NODES), "training"))

    def release() -> None:
        for loan in loans.opened():
            loans.release(loan.id)

    def fail() -> None:
        there = [GpuRef("a", gpu) for gpu in (2, 3, 4, 5) if loans.of(f"a.{gpu}") is None]
        if there and not faulty:
            faulty.append(dice.choice(there))
            fault(EventAction.FAULT, faulty[0])

    def heal() -> None:
        while faulty:
            fault(EventAction.CLEAR, faulty.pop())

    def guest() -> None:
        sim.says(dice.choice(NODES), dice.choice([GuestState.UP, GuestState.DOWN]))

    def crash() -> None:
        journal.crash_in, journal.late = dice.randrange(1, 4), dice.random() < 0.5

    ops = [request, request, request, release, fail, heal, guest, crash]
    for _ in range(14):
        try:
            dice.choice(ops)()
            for _ in range(dice.randrange(2, 30)):
                run.run_to(run.kernel.now + _STEP)
                loans.turn()
                assert not {f"a.{gpu}" for gpu in card.members} & set(sim.held()), "counted, and a guest's"
        except Crash:
            journal, loans = begun()
    heal()
    for node in NODES:
        sim.says(node, GuestState.UP)
    for _ in range(2):
        try:
            release()
            for _ in range(120):
                run.run_to(run.kernel.now + _STEP)
                loans.turn()
            break
        except Crash:
            journal, loans = begun()
    assert not loans.opened()
    assert card.members == tuple(range(6))
    run.end_at(run.kernel.now)
    outcome = run.finish()
    run.close()
    database.close()
    assert not outcome.failures, f"seed {seed}: {outcome.failures}"
    assert not outcome.unjudged


@pytest.mark.rest(but_one_in=2, start=1)
@pytest.mark.parametrize("seed", range(2))
def test_the_census_counts_all_but_what_is_lent(tmp_path: Path, library: Library, seed: int) -> None:
    _sequence(tmp_path, library, seed)


def test_the_last_gpu_by_which_a_card_is_reached_is_never_lent(tmp_path: Path, library: Library) -> None:
    run = Run(loads("server: {cards: {a: {gpus: 3, host_links: [0, 1]}}}"), library)
    run.start()
    run.run_to(8000)
    host = RunHost(run.server)
    with open_database(f"sqlite:///{tmp_path}/lending.db") as database:
        sim = SimAttachment(sim_gpus(run.scenario), lambda: host.now)
        loans = GpuLoans(LoanJournal(database), sim, host, IdleTimes(1 << 30, 1 << 30))
        for node, gpu in zip(NODES[:2], ("a.2", "a.0"), strict=True):
            assert loans.request(LoanWish(node, "training"))[0].gpus == (gpu,)
            for _ in range(8):
                run.run_to(run.kernel.now + _STEP)
                loans.turn()
        with pytest.raises(LoanRefused):
            loans.request(LoanWish(NODES[2], "training"))
        assert loans.idle("a.1") == "needed"
        run.run_to(run.kernel.now + 40_000)
        assert run.cpu.cards[0].members == (1,)
    run.close()


@pytest.mark.slow(part="loans")
@pytest.mark.parametrize("first", range(2, 102, 10))
def test_the_census_is_right_under_more_troubles(tmp_path: Path, library: Library, first: int) -> None:
    for seed in range(first, first + 10):
        _sequence(tmp_path, library, seed)
