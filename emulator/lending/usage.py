"""What GPUs and loans have used (V9): samples of their meters, on the run's own clock, kept in the database.

A sample says what a GPU has used *since the one before it*, and who had it: so the samples of a loan add up to what the
loan has used, and two that follow each other can be made into one without anything being lost.

| table | a line is |
|---|---|
| `usage_samples` | a sample of a GPU |
| `usage_loans` | a loan: who asked for what, and what it has used by samples that are not kept any more |
| `usage_models` | what was learned from them |

Times are nanoseconds of the run's clock. A run that goes on with a database counts on from the last time in it. Samples
are kept for `keep` seconds of that clock; then only the sums of their loans are. What is noted waits in memory until a
transaction has taken it: a database that is away costs nothing but that memory, which has a bound. At the bound a GPU's
last sample grows in the place of a new one.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

from ringhil.emulator.errors import printable
from ringhil.emulator.lending.database import (
    DOCUMENT,
    METADATA,
    NAME,
    NAME_LENGTH,
    LendingDatabase,
    LendingDatabaseError,
)

# isort: split
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Double,
    Index,
    Integer,
    Table,
    Text,
    and_,
    bindparam,
    case,
    func,
    select,
    update,
)

KEEP = 7 * 86_400.0  # seconds
WRITE_EVERY = 1.0  # seconds of this machine
MOST_WAITING = 100_000  # samples in memory
_SLICE = 10_000  # lines of a transaction
_NANOSECONDS = 10**9
_HIGHEST = 2**63 - 1
_PRUNED_IN = 20  # parts of `keep` after each of which old samples are looked for
_log = logging.getLogger(__name__)


def _used() -> list[Column[Any]]:
    names = ("energy", "busy", "memory")  # microjoules, nanoseconds, bytes
    return [*(Column(name, BigInteger) for name in names), Column("launches", BigInteger, nullable=False, default=0)]


SAMPLES = Table(
    "usage_samples",
    METADATA,
    Column("gpu", NAME, primary_key=True),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("since", BigInteger, nullable=False),
    Column("loan", NAME),
    *_used(),
)
Index("usage_samples_loan", SAMPLES.c.loan)
Index("usage_samples_at", SAMPLES.c.at)
LOANS = Table(
    "usage_loans",
    METADATA,
    Column("loan", NAME, primary_key=True),
    Column("node", NAME, nullable=False),
    Column("kind", NAME, nullable=False),
    Column("size", Double, nullable=False),
    Column("gpu", NAME, nullable=False),
    Column("among", Text, nullable=False),  # JSON: GPUs that could have been given as well
    Column("began", BigInteger, nullable=False),
    Column("ended", BigInteger),
    *_used(),
)
Index("usage_loans_began", LOANS.c.began)
MODELS = Table(
    "usage_models",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("document", DOCUMENT, nullable=False),
)


@dataclass(frozen=True, slots=True)
class MeterReading:
    """What a GPU's meters say: `energy`: microjoules and `busy`: nanoseconds since its reset, None: it has no meter;
    `memory`: bytes that are held, None: not known; `launches`: since its reset."""

    energy: int | None = None
    busy: int | None = None
    memory: int | None = None
    launches: int = 0

    def since(self, before: Self) -> Self:
        """What has been used since then. Meters of which one says less than before have been reset meanwhile."""
        pairs = ((before.energy, self.energy), (before.busy, self.busy), (before.launches, self.launches))
        if any(now < then for then, now in pairs if now is not None and then is not None):
            before = replace(before, energy=None, busy=None, launches=0)
        return replace(
            self,
            energy=_risen(before.energy, self.energy),
            busy=_risen(before.busy, self.busy),
            launches=self.launches - before.launches,
        )


@dataclass(frozen=True, slots=True)
class UsageSample:
    """What a GPU used from `since` to `at`, nanoseconds, lent by `loan` (None: no guest had it). Units: those of a
    reading; `memory`: the most that was seen."""

    gpu: str
    at: int
    since: int
    loan: str | None
    energy: int | None
    busy: int | None
    memory: int | None
    launches: int

    def followed_by(self, other: Self) -> Self:
        """Both as one."""
        return replace(
            other,
            since=self.since,
            energy=_added(self.energy, other.energy),
            busy=_added(self.busy, other.busy),
            memory=_most(self.memory, other.memory),
            launches=self.launches + other.launches,
        )


@dataclass(frozen=True, slots=True)
class LoanUsage:
    """A loan, and what it has used so far. `size`: of its work, as asked for; `among`: GPUs that could have been given
    to it, its own included; times: nanoseconds; `ended`: None: it goes on. Other units: those of a reading."""

    loan: str
    node: str
    kind: str
    size: float
    gpu: str
    among: tuple[str, ...]
    began: int
    ended: int | None = None
    energy: int | None = None
    busy: int | None = None
    memory: int | None = None
    launches: int = 0


@dataclass(frozen=True, slots=True)
class _Ended:
    loan: str
    at: int


_Line = UsageSample | LoanUsage | _Ended


class UsageLog:
    """Writes down what GPUs use. `note`, `lent` and `back` don't wait for the database, and may be called from one
    thread while another one writes; `at`: nanoseconds of the run. `keep`: seconds of it; `most`: samples that may wait
    in memory. `must_write`: fails in a transaction when it may not write (any more). Raises LendingDatabaseError."""

    def __init__(
        self,
        database: LendingDatabase,
        *,
        keep: float = KEEP,
        most: int = MOST_WAITING,
        must_write: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        self._database, self._keep, self._most = database, round(keep * _NANOSECONDS), most
        self._must_write = must_write
        with database.read() as connection:
            last = [connection.scalar(select(func.max(c))) or 0 for c in (SAMPLES.c.at, LOANS.c.began, LOANS.c.ended)]
            open_ = connection.execute(select(LOANS.c.gpu, LOANS.c.loan).where(LOANS.c.ended.is_(None))).all()
        self.lent_busy = Counter[str]()  # by GPU, nanoseconds that it computed for guests before this run
        for loan in loans_used(database):
            self.lent_busy[loan.gpu] += loan.busy or 0
        self.origin = max(map(int, last))  # of this run's clock in that of the database
        self._holders = {str(gpu): str(loan) for gpu, loan in open_}
        self._read: dict[str, tuple[int, MeterReading]] = {}  # by GPU: when, and what
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._waiting: list[_Line] = []
        self._newest: dict[str, int] = {}  # by GPU, the place of its last sample there
        self._in_flight = 0
        self._unsure = False  # whether what is written next may be there already
        self._away = False
        self._pruned_at = self.origin
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """Lines that no transaction has taken yet."""
        with self._lock:
            return len(self._waiting) + self._in_flight

    def note(self, at: int, readings: Mapping[str, MeterReading]) -> None:
        """Takes what meters say, by GPU; of a GPU's first reading it takes where it begins."""
        with self._lock:
            for gpu, reading in readings.items():
                self._note(_name(gpu), self.origin + at, reading)

    def lent(self, loan: LoanUsage, readings: Mapping[str, MeterReading] | None = None) -> None:
        """A loan begins, `loan.began` in the run's time, with what meters say then. Its GPUs are those of `readings`,
        or `loan.gpu` alone. Said again it changes nothing."""
        began = self.origin + loan.began
        loan = replace(
            loan, loan=_name(loan.loan), node=_name(loan.node), kind=_name(loan.kind), gpu=_name(loan.gpu), began=began
        )
        with self._lock:
            if self._holders.get(loan.gpu) == loan.loan:
                return
            for gpu, reading in (readings or {}).items():
                self._note(_name(gpu), began, reading)
            for gpu in map(_name, readings or (loan.gpu,)):
                if (other := self._holders.get(gpu)) is not None:
                    self._waiting.append(_Ended(other, began))
                self._holders[gpu] = loan.loan
            self._waiting.append(loan)

    def back(self, loan: str, at: int, readings: Mapping[str, MeterReading] | None = None) -> None:
        """A loan ends, and what meters say then: its GPUs have not been reset yet. Said again it changes nothing."""
        loan = _name(loan)
        with self._lock:
            gpus = [gpu for gpu, holder in self._holders.items() if holder == loan]
            if not gpus:
                return
            for gpu, reading in (readings or {}).items():
                self._note(_name(gpu), self.origin + at, reading)
            for gpu in gpus:
                del self._holders[gpu]
            self._waiting.append(_Ended(loan, self.origin + at))

    def _note(self, gpu: str, at: int, now: MeterReading) -> None:
        since, before = self._read.get(gpu, (at, now))
        if gpu in self._read and at <= since:
            return
        self._read[gpu] = at, now
        if at == since:
            return
        used = now.since(before)
        sample = UsageSample(gpu, at, since, self._holders.get(gpu), used.energy, used.busy, used.memory, used.launches)
        place = self._newest.get(gpu)
        if len(self._waiting) + self._in_flight >= self._most and place is not None:
            last = self._waiting[place]
            assert isinstance(last, UsageSample)
            if last.loan == sample.loan:
                self._waiting[place] = last.followed_by(sample)
                return
        self._newest[gpu] = len(self._waiting)
        self._waiting.append(sample)

    # ---------------------------------------------------------------------------------------------------------- writing

    def write(self) -> bool:
        """Writes what waits; False: the database is away, and it waits on."""
        with self._writing:
            while batch := self._begin():
                try:
                    self._take(batch)
                except LendingDatabaseError as error:
                    self._put_back(batch)
                    if not self._away:
                        _log.warning("%s; usage waits in memory until it is back", error)
                    self._away = True
                    return False
                self._in_flight, self._unsure = 0, False
            if self._away:
                _log.warning("%s: it is back, and has all that waited", self._database.name)
            self._away = False
            return True

    def _begin(self) -> list[_Line]:
        with self._lock:
            size = min(_SLICE, max(1, self._most // 2))  # what stays can still grow
            batch, self._waiting = self._waiting[:size], self._waiting[size:]
            self._newest = {gpu: place - size for gpu, place in self._newest.items() if place >= size}
            self._in_flight = len(batch)
            return batch

    def _put_back(self, batch: list[_Line]) -> None:
        """It may have been taken all the same: no sample of it grows any more, so that it is known by its time."""
        with self._lock:
            self._waiting[:0] = batch
            self._newest = {gpu: place + len(batch) for gpu, place in self._newest.items()}
            self._in_flight, self._unsure = 0, True

    def _take(self, lines: Sequence[_Line]) -> None:
        samples = [asdict(each) for each in lines if isinstance(each, UsageSample)]
        with self._database.begin() as connection:
            self._must_write(connection)
            if samples and self._unsure:
                same = and_(SAMPLES.c.gpu == bindparam("_gpu"), SAMPLES.c.at == bindparam("_at"))
                connection.execute(SAMPLES.delete().where(same), [{"_gpu": s["gpu"], "_at": s["at"]} for s in samples])
            if samples:
                connection.execute(SAMPLES.insert(), samples)
            for each in lines:
                if isinstance(each, LoanUsage):
                    if not connection.scalar(select(func.count()).where(LOANS.c.loan == each.loan)):
                        connection.execute(LOANS.insert().values(asdict(each) | {"among": json.dumps(each.among)}))
                elif isinstance(each, _Ended):
                    ended = update(LOANS).where(LOANS.c.loan == each.loan, LOANS.c.ended.is_(None))
                    connection.execute(ended.values(ended=each.at))
            newest = max((s["at"] for s in samples), default=0)
            if prunes := newest - self._pruned_at > self._keep // _PRUNED_IN:
                _prune(connection, newest - self._keep)
        if prunes:
            self._pruned_at = newest

    def start(self, every: float = WRITE_EVERY) -> None:
        """Writes in a thread from now on, after so many seconds of this machine again and again."""

        def work() -> None:
            while not self._stop.wait(every):
                self.write()

        self._thread = threading.Thread(target=work, name="usage", daemon=True)
        self._thread.start()

    def close(self) -> bool:
        """Writes what is left; False: the database is away, and what was waiting is lost."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        return self.write()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.close():
            _log.error("%s: it is away: %d lines of usage are lost", self._database.name, self.waiting)


def _prune(connection: Connection, before: int) -> None:
    """Samples before that go; what loans have used by them stays with the loans."""
    old = SAMPLES.c.at < before
    for loan, used in _sums(connection, old).items():
        line = connection.execute(select(*_of(LOANS)).where(LOANS.c.loan == loan)).one_or_none()
        if line is not None:
            connection.execute(update(LOANS).where(LOANS.c.loan == loan).values(_both(_Used(*line), used)._asdict()))
    connection.execute(SAMPLES.delete().where(old))


class _Used(NamedTuple):
    """Units: those of a reading."""

    energy: int | None = None
    busy: int | None = None
    memory: int | None = None
    launches: int = 0


def _of(table: Table) -> list[Column[Any]]:
    return [table.c[name] for name in _Used._fields]


def _both(one: _Used, other: _Used) -> _Used:
    return _Used(
        _added(one.energy, other.energy),
        _added(one.busy, other.busy),
        _most(one.memory, other.memory),
        one.launches + other.launches,
    )


def _sums(connection: Connection, where: ColumnElement[bool]) -> dict[str, _Used]:
    """By loan. MariaDB and PostgreSQL add whole numbers up to decimal ones."""
    c = SAMPLES.c
    sums = func.sum(c.energy), func.sum(c.busy), func.max(c.memory), func.sum(c.launches)
    found = connection.execute(select(c.loan, *sums).where(where, c.loan.is_not(None)).group_by(c.loan))
    return {loan: _Used(_whole(e), _whole(b), _whole(m), int(n)) for loan, e, b, m, n in found}


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)


def _name(text: str) -> str:
    """One that every database takes, and that doesn't keep all others from being written."""
    return printable(text)[:NAME_LENGTH]


def _added(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else one + other


def _most(one: int | None, other: int | None) -> int | None:
    return one if other is None else other if one is None else max(one, other)


def _risen(before: int | None, now: int | None) -> int | None:
    return None if now is None else min(now - (before or 0), _HIGHEST)


# -------------------------------------------------------------------------------------------------------------- reading


def loans_used(database: LendingDatabase, newest: int | None = None) -> list[LoanUsage]:
    """All loans, or so many, the newest ones; by when they began. Raises LendingDatabaseError."""
    with database.read() as connection:
        asked = select(LOANS).order_by(LOANS.c.began.desc(), LOANS.c.loan.desc()).limit(newest)
        lines = connection.execute(asked).mappings().all()[::-1]
        since = min((line["began"] for line in lines), default=0) if newest is not None else 0
        kept = _sums(connection, SAMPLES.c.at >= since)
    return [_loan(dict(line), kept.get(line["loan"], _Used())) for line in lines]


def _loan(line: dict[str, Any], kept: _Used) -> LoanUsage:
    gone = _Used(*(line[name] for name in _Used._fields))
    return LoanUsage(**line | {"among": _names(line["among"])} | _both(gone, kept)._asdict())


def _names(text: str) -> tuple[str, ...]:
    """What others may have written into it is none of ours."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


@dataclass(frozen=True, slots=True)
class GpuUsage:
    """What a GPU used in a stretch of time, nanoseconds: the last sample of it is of `at`, for `seen` of it there are
    samples, and for `lent` it was lent. Other units: those of a reading."""

    at: int
    seen: int
    lent: int
    energy: int | None
    busy: int | None
    memory: int | None
    launches: int


def gpus_used(database: LendingDatabase, stretches: int = 1) -> tuple[dict[str, list[GpuUsage]], int, int]:
    """By GPU, `a.2` before `a.10`, for as many equal stretches of the time of which there are samples; those without
    any are left out. And where that time begins and ends, nanoseconds. Raises LendingDatabaseError."""
    c = SAMPLES.c
    with database.read() as connection:
        begin, end = connection.execute(select(func.min(c.since), func.max(c.at))).one()
        if end is None:
            return {}, 0, 0
        width = max(1, -(-(int(end) - int(begin)) // stretches))
        place = (c.at - 1 - int(begin)) // width
        length = c.at - c.since
        asked = (
            select(
                c.gpu,
                place.label("place"),
                func.max(c.at),
                func.sum(length),
                func.sum(case((c.loan.is_not(None), length), else_=0)),
                func.sum(c.energy),
                func.sum(c.busy),
                func.max(c.memory),
                func.sum(c.launches),
            )
            .group_by(c.gpu, "place")
            .order_by(c.gpu, "place")
        )
        found: dict[str, list[GpuUsage]] = {}
        for gpu, _, at, seen, lent, energy, busy, memory, launches in connection.execute(asked):
            used = _whole(energy), _whole(busy), _whole(memory), int(launches)
            found.setdefault(gpu, []).append(GpuUsage(int(at), int(seen), int(lent), *used))
    by_number = sorted(found, key=lambda gpu: (gpu.rpartition(".")[0], len(gpu), gpu))
    return {gpu: found[gpu] for gpu in by_number}, int(begin), int(end)
