"""The journal of loans, in the database: what was begun and what was done, in the order in which it was.

It is the truth after a restart. A GPU is in one open loan at most: the database itself sees to that (`loan_gpus`). One
server at a time writes: the latest that has begun; whoever wrote before is fenced off.
"""

import secrets
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    String,
    Table,
    func,
    select,
    update,
)

from ringhil.emulator.lending.database import METADATA, LendingDatabase, LendingDatabaseError
from ringhil.emulator.lending.loan import GpuLoan, LoanStep

MOST_ERROR = 300  # characters

_LOANS = Table(
    "loans",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("node", String(40), nullable=False, index=True),
    Column("kind", String(40), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("gpus", String(2000), nullable=False),
    Column("requested", BigInteger, nullable=False),
    Column("mapping", String(40), nullable=False),
    Column("told", Float),
    Column("done", String(10)),
    Column("step", String(10)),
    Column("released", Boolean, nullable=False),
    Column("reason", String(MOST_ERROR), nullable=False),
    Column("bound", BigInteger),
    Column("attached", BigInteger),
    Column("ended", BigInteger),
    Column("look_at", BigInteger),
    Column("grace", Boolean, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("busy0", BigInteger, nullable=False),
    Column("energy0", Float(53), nullable=False),
    Column("busy", BigInteger, nullable=False),
    Column("energy", Float(53), nullable=False),
    Column("error", String(MOST_ERROR), nullable=False),
    Column("open", Boolean, nullable=False, index=True),
)
_HELD = Table(
    "loan_gpus",
    METADATA,
    Column("gpu", String(40), primary_key=True),
    Column("loan", Integer, ForeignKey("loans.id"), nullable=False),
)
_STEPS = Table(
    "loan_steps",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("loan", Integer, ForeignKey("loans.id"), nullable=False, index=True),
    Column("cycle", BigInteger, nullable=False),
    Column("step", String(10), nullable=False),
    Column("did", String(10), nullable=False),  # begun, done, failed
)
_CLOCK = Table(
    "loan_clock",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("cycle", BigInteger, nullable=False),
    Column("writer", String(32), nullable=False),
)
_FIELDS = tuple(each.name for each in fields(GpuLoan))


class LoanJournal:
    """Of one database, of which this is the writer from now on. Each call is one transaction, and raises
    LendingDatabaseError; then nothing of it counts."""

    def __init__(self, database: LendingDatabase) -> None:
        self._database, self._writer = database, secrets.token_hex(16)
        with database.begin() as connection:
            if not connection.execute(update(_CLOCK).values(writer=self._writer)).rowcount:
                connection.execute(_CLOCK.insert().values(id=1, cycle=0, writer=self._writer))

    def must_write(self, connection: Connection) -> None:
        """Raises LendingDatabaseError when another one has begun to write since, also before this transaction ends."""
        self._at(connection, None)

    def cycle(self) -> int:
        """The latest that was written: clocks go on from there."""
        with self._database.read() as connection:
            return connection.execute(select(_CLOCK.c.cycle)).scalar() or 0

    def tick(self, cycle: int) -> None:
        """Write down the clock."""
        with self._database.begin() as connection:
            self._at(connection, cycle)

    def new(self, loan: GpuLoan, cycle: int) -> int:
        """Write down a loan, and that its GPUs are in it; its number. Fails when one of them is in another."""
        with self._database.begin() as connection:
            self._at(connection, cycle)
            row = _row(loan)
            del row["id"]
            key = connection.execute(_LOANS.insert().values(row)).inserted_primary_key
            assert key is not None
            number = int(key[0])
            connection.execute(_HELD.insert(), [{"gpu": gpu, "loan": number} for gpu in loan.gpus])
            return number

    def save(self, loan: GpuLoan, cycle: int, did: tuple[LoanStep, str] | None = None) -> None:
        """Write down how far a loan is. `did`: a step, and whether it was begun, done, or has failed."""
        with self._database.begin() as connection:
            self._at(connection, cycle)
            connection.execute(update(_LOANS).where(_LOANS.c.id == loan.id).values(_row(loan)))
            if not loan.open:
                connection.execute(_HELD.delete().where(_HELD.c.loan == loan.id))
            if did is not None:
                step, what = did
                connection.execute(_STEPS.insert().values(loan=loan.id, cycle=cycle, step=step.value, did=what))

    def open(self) -> list[GpuLoan]:
        """Loans that are not over."""
        with self._database.read() as connection:
            return [
                _loan(row) for row in connection.execute(_LOANS.select().where(_LOANS.c.open).order_by(_LOANS.c.id))
            ]

    def loan(self, number: int) -> GpuLoan | None:
        """That loan, over or not; None: there is none."""
        with self._database.read() as connection:
            row = connection.execute(_LOANS.select().where(_LOANS.c.id == number)).first()
        return None if row is None else _loan(row)

    def latest(self, most: int, node: str = "") -> list[GpuLoan]:
        """The latest loans, the newest first; `node`: only its own."""
        return latest_loans(self._database, most, node)

    def used(self) -> dict[str, tuple[int, int, float]]:
        """Of loans that are over, by their first GPU: how many, cycles, joules."""
        columns = _LOANS.c.gpus, func.count(), func.sum(_LOANS.c.busy), func.sum(_LOANS.c.energy)
        wanted = select(*columns).where(~_LOANS.c.open).group_by(_LOANS.c.gpus)
        with self._database.read() as connection:
            rows = connection.execute(wanted).all()
        return {gpus.split(",")[0]: (int(count), int(busy), float(energy)) for gpus, count, busy, energy in rows}

    def steps(self, number: int) -> Sequence[tuple[int, str, str]]:
        """Of a loan, in order: cycle, step, and whether it was begun, done, or has failed."""
        wanted = select(_STEPS.c.cycle, _STEPS.c.step, _STEPS.c.did).where(_STEPS.c.loan == number)
        with self._database.read() as connection:
            return [(row.cycle, row.step, row.did) for row in connection.execute(wanted.order_by(_STEPS.c.number))]

    def _at(self, connection: Connection, cycle: int | None) -> None:
        mine = update(_CLOCK).where(_CLOCK.c.writer == self._writer)
        values = {"writer": self._writer} if cycle is None else {"cycle": cycle}
        if not connection.execute(mine.values(values)).rowcount:
            raise LendingDatabaseError(f"{self._database.name}: another server lends GPUs by this database now")


def latest_loans(database: LendingDatabase, most: int, node: str = "") -> list[GpuLoan]:
    """The same for those who write nothing. Raises LendingDatabaseError."""
    wanted = _LOANS.select().order_by(_LOANS.c.id.desc()).limit(most)
    if node:
        wanted = wanted.where(_LOANS.c.node == node)
    with database.read() as connection:
        return [_loan(row) for row in connection.execute(wanted)]


def _row(loan: GpuLoan) -> dict[str, Any]:
    row = {name: getattr(loan, name) for name in _FIELDS}
    return row | {"gpus": ",".join(loan.gpus), "open": loan.open}


def _loan(row: Any) -> GpuLoan:
    found = {name: getattr(row, name) for name in _FIELDS}
    steps = {name: None if found[name] is None else LoanStep(found[name]) for name in ("done", "step")}
    return GpuLoan(**found | steps | {"gpus": tuple(found["gpus"].split(","))})
