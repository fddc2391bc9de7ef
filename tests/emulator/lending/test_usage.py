"""Usage of GPUs and loans (V9): nothing is counted twice or lost, whatever becomes of the database."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select

from ringhil.emulator.lending.database import LendingDatabase, LendingDatabaseError, open_database
from ringhil.emulator.lending.journal import LoanJournal
from ringhil.emulator.lending.usage import SAMPLES, LoanUsage, MeterReading, UsageLog, gpus_used, loans_used

from .databases import DatabaseServer

SECOND = 10**9
_GPUS = ("a.0", "a.1")


class _Meters:
    """Of GPUs that use more at each look, and what of it each loan should have."""

    def __init__(self) -> None:
        self.readings = dict.fromkeys(_GPUS, MeterReading(energy=5, busy=7, memory=0, launches=1))
        self.holders: dict[str, str] = {}
        self.energy: Counter[str] = Counter()
        self.busy: Counter[str] = Counter()

    def use(self, gpu: str, energy: int) -> None:
        """One microjoule for each nanosecond."""
        old = self.readings[gpu]
        self.readings[gpu] = MeterReading(old.energy + energy, old.busy + energy, energy, old.launches + 1)
        self._count(gpu, energy)

    def reset(self, gpu: str, energy: int) -> None:
        """And uses so much before anybody looks: a meter that says less than before tells of it."""
        if self.readings[gpu].launches:
            self.readings[gpu] = MeterReading(energy, energy, energy, 0)
            self._count(gpu, energy)

    def _count(self, gpu: str, energy: int) -> None:
        if gpu in self.holders:
            self.energy[self.holders[gpu]] += energy
            self.busy[self.holders[gpu]] += energy


def _loan(name: str, gpu: str, at: int) -> LoanUsage:
    return LoanUsage(name, "i-0000002d", "training", 4.0, gpu, _GPUS, at)


_WHAT = ("use", "reset", "lend", "back", "write", "fail", "tear")
_STEPS = st.lists(st.tuples(st.sampled_from(_WHAT), st.sampled_from(_GPUS), st.integers(0, 99)), max_size=20)


def _steps(text: str) -> list[tuple[str, str, int]]:
    return [(what, "a.0", 9 - place) for place, what in enumerate(text.split())]


@settings(max_examples=12)
@example(_steps("lend use reset use"), 1000, 1e6)
@example(_steps("lend use tear use use write use"), 1000, 1e6)
@example(_steps("lend use fail use use use use use use"), 3, 1e6)
@given(_STEPS, st.sampled_from((3, 8, 1000)), st.sampled_from((20.0, 1e6)))
def test_loans_have_what_their_gpus_used_meanwhile(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]], most: int, keep: float
) -> None:
    """Whatever comes when: meters that are reset, writes that fail, a memory that is full, samples that are old."""
    url = f"sqlite:///{tmp_path_factory.mktemp('usage')}/lending.db"
    meters, now, loans = _Meters(), 0, 0
    with open_database(url, patience=0.0) as database, UsageLog(database, keep=keep, most=most) as log:
        log.note(0, meters.readings)
        for what, gpu, amount in steps:
            now += SECOND
            if what in ("use", "reset"):
                getattr(meters, what)(gpu, amount)
                log.note(now, meters.readings)
            elif what == "lend" and gpu not in meters.holders:
                meters.holders[gpu] = f"loan {loans}"
                log.lent(_loan(f"loan {loans}", gpu, now), {gpu: meters.readings[gpu]})
                loans += 1
            elif what == "back" and gpu in meters.holders:
                log.back(meters.holders.pop(gpu), now, {gpu: meters.readings[gpu]})
            elif what == "write":
                assert log.write()
            elif what in ("fail", "tear"):
                nothing = log.waiting == 0
                with _locked(url) if what == "fail" else _torn(database):
                    assert log.write() is nothing
            assert log.waiting <= most + len(_GPUS) + 2 * loans
        assert log.write()
        found = loans_used(database)
    assert [each.loan for each in found] == [f"loan {n}" for n in range(loans)]
    assert {each.loan for each in found if each.ended is None} == {*meters.holders.values()}
    for each in found:
        assert (each.energy or 0, each.busy or 0) == (meters.energy[each.loan], meters.busy[each.loan])


@contextmanager
def _torn(database: LendingDatabase) -> Iterator[None]:
    """What is written is taken, and nobody is told so."""
    begin = database.begin

    @contextmanager
    def torn() -> Iterator[Connection]:
        with begin() as connection:
            yield connection
        raise LendingDatabaseError("the line was cut")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "begin", torn)
        yield


@contextmanager
def _locked(url: str) -> Iterator[None]:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    yield
    connection.close()


def _noted(log: UsageLog, seconds: range) -> None:
    for second in seconds:
        log.note(second * SECOND, {"a.0": MeterReading(1000 * second, 10 * second, second)})


def _seconds(url: str) -> list[int]:
    with open_database(url, make=False) as database, database.read() as connection:
        return [at // SECOND for at in connection.execute(select(SAMPLES.c.at).order_by(SAMPLES.c.at)).scalars()]


def test_a_run_goes_on_where_the_last_one_ended(url: str) -> None:
    """Its clock counts on, and a loan that has outlived it has what both saw."""
    for run in range(2):
        with open_database(url) as database, UsageLog(database) as log:
            _noted(log, range(3))
            if run == 0:
                log.lent(_loan("x", "a.0", 2 * SECOND))
    assert _seconds(url) == [1, 2, 3, 4]
    with open_database(url) as database:
        (loan,) = loans_used(database)
    assert (loan.began, loan.ended, loan.energy, loan.memory, loan.among) == (2 * SECOND, None, 2000, 2, _GPUS)


def test_said_twice_counts_once(url: str) -> None:
    with open_database(url) as database, UsageLog(database) as log:
        for _ in range(2):
            _noted(log, range(3))
            log.lent(_loan("x", "a.0", 2 * SECOND))
        _noted(log, range(3, 5))
        for _ in range(2):
            log.back("x", 5 * SECOND)
        log.back("nobody", 5 * SECOND)
        log.write()
        (loan,) = loans_used(database)
    assert (loan.energy, loan.began, loan.ended) == (2000, 2 * SECOND, 5 * SECOND)


def test_old_samples_go_and_their_sums_stay(url: str) -> None:
    with open_database(url) as database, UsageLog(database, keep=10.0) as log:
        log.lent(_loan("x", "a.0", 0))
        for second in range(40):
            _noted(log, range(second, second + 1))
            log.write()
        with database.read() as connection:
            assert connection.scalar(select(func.count()).select_from(SAMPLES)) <= 11
        (loan,) = loans_used(database)
    assert (loan.energy, loan.busy, loan.memory) == (39_000, 390, 39)


def test_usage_of_gpus_adds_up_over_any_stretches(url: str) -> None:
    with open_database(url) as database, UsageLog(database) as log:
        _noted(log, range(10))
        log.lent(_loan("x", "a.0", 9 * SECOND))
        _noted(log, range(10, 30))
        log.write()
        for stretches in (1, 2, 7, 29, 400):
            found, begin, end = gpus_used(database, stretches)
            parts = found["a.0"]
            assert (begin, end) == (0, 29 * SECOND)
            assert sum(each.energy or 0 for each in parts) == 29_000
            assert sum(each.seen for each in parts) == 29 * SECOND
            assert sum(each.lent for each in parts) == 20 * SECOND
            assert [each.at for each in parts] == sorted({each.at for each in parts})
            assert len(parts) == min(stretches, 29)


def test_a_meter_that_fell_was_reset_with_all_others() -> None:
    before = MeterReading(energy=7, busy=3, launches=1)
    assert MeterReading(energy=5, busy=9, launches=4).since(before) == MeterReading(energy=5, busy=9, launches=4)
    assert MeterReading(energy=9, busy=9, launches=4).since(before) == MeterReading(energy=2, busy=6, launches=3)


def test_a_server_that_another_one_has_taken_the_loans_from_writes_no_samples(tmp_path: Path) -> None:
    with open_database(f"sqlite:///{tmp_path}/lending.db") as database:
        first = LoanJournal(database)
        with UsageLog(database, must_write=first.must_write) as log:
            _noted(log, range(3))
            assert log.write()
            LoanJournal(database)
            _noted(log, range(3, 6))
            assert not log.write()
            assert _seconds(str(database.engine.url)) == [1, 2]


def test_a_server_that_goes_away_loses_no_sample(server: DatabaseServer) -> None:
    """It is killed, and comes back; who notes is not kept waiting, and what was written before is there."""
    with open_database(server.url, patience=1.0) as database, UsageLog(database) as log:
        log.start(every=0.02)
        _noted(log, range(100))
        _until(lambda: log.waiting == 0)
        server.kill()
        began = time.perf_counter()
        for second in range(100, 1000):
            _noted(log, range(second, second + 1))
        log.lent(_loan("x", "a.0", 1000 * SECOND))
        assert time.perf_counter() - began < 1.0
        time.sleep(0.2)
        assert log.waiting >= 900
        server.start()
        _noted(log, range(1000, 1100))
        _until(lambda: log.waiting == 0)
    assert _seconds(server.url) == [*range(1, 1100)]
    with open_database(server.url) as again:
        assert [each.energy for each in loans_used(again)] == [100_000]


def _until(so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20.0
    while not so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_file_that_is_locked_for_a_while_loses_no_sample(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = f"sqlite:///{tmp_path}/lending.db"
    with open_database(url, patience=0.01) as database, UsageLog(database) as log:
        log.start(every=0.005)
        with _locked(url):
            _noted(log, range(500))
            _until(lambda: bool(caplog.records))  # it has tried
            assert log.waiting == 499
        _until(lambda: log.waiting == 0)
    assert _seconds(url) == [*range(1, 500)]
    assert [record.getMessage() for record in caplog.records] == [
        f"{url}: database is locked; usage waits in memory until it is back",
        f"{url}: it is back, and has all that waited",
    ]
