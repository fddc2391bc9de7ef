"""Histories of loans whose truth is known: what each GPU would have taken for each of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ringhil.emulator.lending.database import LendingDatabase
from ringhil.emulator.lending.usage import LoanUsage, MeterReading, UsageLog

SECOND = 10**9
_SLOT = 60  # seconds in which one loan begins


@dataclass(frozen=True)
class MadeHistory:
    """`truth`: of each loan, by GPU, the microjoules that it would have taken there."""

    loans: Sequence[LoanUsage]
    truth: Sequence[dict[str, float]]

    def twice(self, turned: bool) -> "MadeHistory":
        """The same again behind it; `turned`: what took much energy takes little then."""
        number, end = len(self.loans), _SLOT * len(self.loans) * SECOND
        again = [
            replace(
                each,
                loan=f"{number + int(each.loan)}",
                began=end + each.began,
                ended=end + (each.ended or 0),
                energy=round(1e18 / (each.energy or 1)) if turned else each.energy,
            )
            for each in self.loans
        ]
        return MadeHistory([*self.loans, *again], [])

    def write(self, database: LendingDatabase) -> None:
        """As the meters of its GPUs would have said it."""
        with UsageLog(database, keep=1e9) as log:
            energy, busy = dict.fromkeys(self.loans[0].among, 0), dict.fromkeys(self.loans[0].among, 0)

            def readings(gpu: str) -> dict[str, MeterReading]:
                return {gpu: MeterReading(energy[gpu], busy[gpu], 0)}

            for each in self.loans:
                energy.setdefault(each.gpu, 0), busy.setdefault(each.gpu, 0)
                log.lent(replace(each, ended=None, energy=None, busy=None), readings(each.gpu))
                energy[each.gpu] += each.energy or 0
                busy[each.gpu] += each.busy or 0
                assert each.ended is not None
                log.back(each.loan, each.ended, readings(each.gpu))


def made_history(seed: int, loans: int, gpus: int = 8, *, kinds: int = 4, noise: float = 0.2) -> MadeHistory:
    """GPUs of four types. Each type needs, for each kind of work, a time to begin, a time for each unit of size, and a
    power of its own; each GPU differs from its type by some percent, and each loan from what was to be expected by
    `noise`. Which GPU was lent is drawn from those that were free, 60 percent of all."""
    draw = np.random.default_rng(seed)
    begin, per, watts = (draw.lognormal(mean, spread, (4, kinds)) for mean, spread in ((0, 0.7), (0, 0.5), (5, 0.4)))
    own = draw.lognormal(0, 0.05, gpus)
    names = [f"a.{n}" for n in range(gpus)]
    found, truth = [], []
    for number in range(loans):
        kind, size = int(draw.integers(kinds)), float(np.round(np.exp(draw.normal(10, 1))))
        types = np.arange(gpus) % 4
        seconds = own * (begin[types, kind] + per[types, kind] * size / np.exp(10))
        joules = seconds * watts[types, kind]
        free = draw.random(gpus) < 0.6
        free[int(draw.integers(gpus))] = True
        there = np.flatnonzero(free)
        gpu, off = int(draw.choice(there)), float(draw.lognormal(0, noise))
        truth.append({names[n]: float(joules[n] * 1e6) for n in there})
        found.append(
            LoanUsage(
                f"{number}",
                "i-0000002d",
                f"kind {kind}",
                size,
                names[gpu],
                tuple(names[n] for n in there),
                _SLOT * number * SECOND,
                _SLOT * number * SECOND + min(_SLOT * SECOND - 1, round(seconds[gpu] * off * 1e9)),
                round(joules[gpu] * off * 1e6),
                round(seconds[gpu] * off * 1e9),
            )
        )
    return MadeHistory(found, truth)
