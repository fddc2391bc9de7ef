"""Answers what is asked about loans. All is called from the thread that plays the run."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel

from ringhil.emulator.lending.document import (
    MOST_ID,
    ErrorDocument,
    GpuDocument,
    GpusDocument,
    LoanDocument,
    LoanRequest,
    LoansDocument,
    NothingFree,
    UsageDocument,
    UsageRow,
)
from ringhil.emulator.lending.loan import GpuLoan, LoanState
from ringhil.emulator.lending.loans import GpuLoans, LoanRefused, LoanWish
from ringhil.emulator.lending.tokens import OPERATOR


class OfficeAnswer(NamedTuple):
    """`status`: of HTTP."""

    status: int
    document: BaseModel


Then = Callable[[OfficeAnswer], None]
_LATEST = 100  # loans that are told
PATIENCE = 10.0  # seconds that a request waits for its GPU


@dataclass(frozen=True, slots=True)
class _Waiting:
    then: Then
    new: bool
    until: float


class LoanOffice:
    """`cycle`: seconds. `who`: OPERATOR, or the guest whose token was given. `monotonic`: seconds of who waits."""

    def __init__(self, loans: GpuLoans, cycle: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._loans, self._cycle, self._monotonic = loans, cycle, monotonic
        self._waiting: dict[int, list[_Waiting]] = {}  # by loan: who is told when it is bound
        loans.on_change = self._changed

    def request(self, who: str, wish: LoanRequest, then: Then) -> None:
        """`then` gets the answer when the GPU is bound, or can't be."""
        if who not in (OPERATOR, wish.node):
            then(_error(403, f"{wish.node}: the token is that of {who}"))
            return
        wanted = LoanWish(wish.node, wish.kind, wish.size, wish.gpu or "", wish.mapping or "", wish.time)
        try:
            loan, new = self._loans.request(wanted)
        except LoanRefused as error:
            then(self._refused(error))
            return
        if loan.state is LoanState.DRAINING:
            waiting = _Waiting(then, new, self._monotonic() + PATIENCE)
            self._waiting.setdefault(loan.id, []).append(waiting)
        else:
            then(OfficeAnswer(201 if new else 200, self._document(loan)))

    def turn(self) -> None:
        """Take loans on; who has waited for long is told how far they are."""
        self._loans.turn()
        now = self._monotonic()
        for number in [loan for loan, waiting in self._waiting.items() if any(each.until < now for each in waiting)]:
            self._tell(self._loans.loan(number))

    def loan(self, who: str, number: int) -> OfficeAnswer:
        """How a loan is."""
        return self._about(who, number, self._loans.loan)

    def release(self, who: str, number: int) -> OfficeAnswer:
        """Send it on its way back."""
        return self._about(who, number, lambda found: self._loans.release(found))

    def loans(self, who: str) -> OfficeAnswer:
        """All, or the guest's own."""
        found = {loan.id: loan for loan in self._loans.latest(_LATEST, "" if who == OPERATOR else who)}
        found |= {loan.id: loan for loan in self._loans.opened() if who in (OPERATOR, loan.node)}
        rows = [self._document(found[number]) for number in sorted(found, reverse=True)]
        return OfficeAnswer(200, LoansDocument(loans=rows))

    def gpus(self, who: str) -> OfficeAnswer:
        """All that can be lent; a guest isn't told of others."""
        rows = []
        for gpu in self._loans.gpus.values():
            loan = self._loans.of(gpu.name)
            told = who == OPERATOR or (loan is not None and loan.node == who)
            state = self._loans.idle(gpu.name) if loan is None else loan.state
            rows.append(
                GpuDocument(
                    gpu=gpu.name,
                    state=str(state),
                    loan=loan.id if loan is not None and told else None,
                    node=loan.node if loan is not None and told else None,
                    holders=list(self._loans.holders(gpu.name)) if who == OPERATOR else None,
                    model=gpu.model,
                    memory=gpu.memory,
                    group=gpu.group,
                    pci_id=gpu.pci_id,
                    functions=[str(each) for each in gpu.functions],
                    mappings=[name for name, gpus in self._loans.mappings.items() if gpu.name in gpus],
                )
            )
        return OfficeAnswer(200, GpusDocument(now_s=self._seconds(self._loans.now), gpus=rows))

    def usage(self, who: str) -> OfficeAnswer:
        """What GPUs have done for guests, for the operator."""
        if who != OPERATOR:
            return _error(403, f"the token is that of {who}; wanted is the operator's")
        rows = []
        used = self._loans.used_by_gpu()
        for gpu in self._loans.gpus:
            count, busy, energy = used.get(gpu, (0, 0, 0.0))
            rows.append(UsageRow(gpu=gpu, loans=count, busy_s=self._seconds(busy), energy_j=round(energy, 6)))
        return OfficeAnswer(200, UsageDocument(usage=rows))

    def has_gpu(self, who: str) -> bool:
        """Whether a guest sees a GPU now; the operator needs none."""
        return who == OPERATOR or any(
            loan.node == who and loan.state is LoanState.IN_GUEST and not loan.released for loan in self._loans.opened()
        )

    def _about(self, who: str, number: int, do: Callable[[int], GpuLoan]) -> OfficeAnswer:
        try:
            if number > MOST_ID:
                raise KeyError(number)
            loan = self._loans.loan(number)
            if who not in (OPERATOR, loan.node):
                return _error(403, f"loan {number} is another guest's")
            return OfficeAnswer(200, self._document(do(number)))
        except KeyError:
            return _error(404, f"loan {number}: there is none")

    def _changed(self, loan: GpuLoan) -> None:
        if loan.state is not LoanState.DRAINING or loan.released:
            self._tell(loan)

    def _tell(self, loan: GpuLoan) -> None:
        for each in self._waiting.pop(loan.id, []):
            if loan.released and loan.bound is None:
                each.then(self._refused(LoanRefused(loan.reason, cycles=None)))
            else:
                each.then(OfficeAnswer(201 if each.new else 200, self._document(loan)))

    def _refused(self, error: LoanRefused) -> OfficeAnswer:
        if error.wrong:
            return _error(404, str(error))
        wait = None if error.cycles is None else self._seconds(error.cycles)
        holders = {gpu: list(names) for gpu, names in error.holders.items()}
        return OfficeAnswer(409, NothingFree(error=str(error), free_in_s=wait, holders=holders))

    def _document(self, loan: GpuLoan) -> LoanDocument:
        busy, energy = self._loans.used(loan)

        def at(cycle: int | None) -> float | None:
            return None if cycle is None else self._seconds(cycle)

        return LoanDocument(
            id=loan.id,
            node=loan.node,
            kind=loan.kind,
            size=loan.size,
            mapping=loan.mapping or None,
            gpu=loan.gpus[0],
            gpus=list(loan.gpus),
            state=str(loan.state),
            released=loan.released,
            reason=loan.reason or None,
            hostdev="\n".join(self._loans.gpus[gpu].hostdevs for gpu in loan.gpus if gpu in self._loans.gpus),
            time=loan.told,
            requested_s=self._seconds(loan.requested),
            bound_s=at(loan.bound),
            attached_s=at(loan.attached),
            ended_s=at(loan.ended),
            busy_s=self._seconds(busy),
            energy_j=round(energy, 6),
            error=loan.error or None,
        )

    def _seconds(self, cycles: int) -> float:
        return round(cycles * self._cycle, 9)


def _error(status: int, text: str) -> OfficeAnswer:
    return OfficeAnswer(status, ErrorDocument(error=text))
