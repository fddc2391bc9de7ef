"""Lends GPUs: takes each loan to where it is to be, step by step, and takes back what stands idle (V4, V5, V7, V8).

Every step is written down before it begins and when it is done. After a crash the journal is read: a step that had
begun is asked for again, which does nothing twice; what a host that has restarted has forgotten is asked for again too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.lending.attachment import (
    Attachment,
    AttachmentError,
    GuestState,
    LendableGpu,
)
from ringhil.emulator.lending.database import LendingDatabaseError
from ringhil.emulator.lending.journal import MOST_ERROR, LoanJournal
from ringhil.emulator.lending.loan import GpuLoan, LoanStep


class HostRefusal(RinghilError):
    """The server doesn't lend that GPU now. `holders`: whose contexts are on it."""

    def __init__(self, why: str, holders: Sequence[str] = ()) -> None:
        super().__init__(why)
        self.holders = tuple(holders)


class LendingHost(Protocol):
    """The server's side of a loan. GPUs are given by name."""

    @property
    def now(self) -> int:
        """Cycle of its run."""
        ...

    def counted(self, gpu: str) -> bool:
        """The census counts it, and the server has it."""
        ...

    def needed(self, gpu: str) -> bool:
        """The server can't do without it: no other GPU reaches that card."""
        ...

    def placed(self, gpu: str) -> int:
        """Roles that it may have in the ring: of GPUs that can be lent those come first that have the fewest."""
        ...

    def holders(self, gpu: str) -> Sequence[str]:
        """Whose contexts are on it."""
        ...

    def drain(self, gpu: str) -> bool:
        """Give it no new work, and take it out of the ring when it has none; whether that is done. Raises
        HostRefusal."""
        ...

    def restore(self, gpu: str) -> bool:
        """Take it into the ring again; whether the server has it, counted or failed."""
        ...


class LoanRefused(RinghilError):
    """A request that can't be met. `wrong`: names what is not there; otherwise something may be free in `cycles`, None:
    nobody knows. `holders`: by GPU, whose contexts are in the way."""

    def __init__(
        self,
        why: str,
        *,
        wrong: str = "",
        cycles: int | None = None,
        holders: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(why)
        self.wrong, self.cycles, self.holders = wrong, cycles, dict(holders or {})


@dataclass(frozen=True)
class LoanWish:
    """What a guest asks for. `gpu`: this one; `mapping`: one of these; "": any. `size`: bytes of memory."""

    node: str
    kind: str
    size: int = 0
    gpu: str = ""
    mapping: str = ""
    told: float | None = None


@dataclass(frozen=True)
class GpuGroup:
    """What is lent at once: GPUs of one IOMMU group."""

    name: str
    gpus: tuple[LendableGpu, ...]

    @property
    def memory(self) -> int:
        """Bytes that work can have on one of them."""
        return max(gpu.memory for gpu in self.gpus)


Choose = Callable[[LoanWish, Sequence[GpuGroup]], GpuGroup]  # of those that can be lent, at least one


@dataclass(frozen=True)
class IdleTimes:
    """Cycles. `period`: between two looks whether a lent GPU has computed; `grace`: until the second look."""

    period: int
    grace: int


_AGAIN = 2000  # cycles until a step that has failed is tried again
_GUESTS = 5000  # cycles between two looks whether guests have restarted
_SAVED = 16  # times in a period that the clock is written down


@dataclass(slots=True)
class _Trial:
    """Of a loan, in this process: what has to be seen to again, what failed until when."""

    anew: list[LoanStep] = field(default_factory=list)
    not_before: int = 0


class GpuLoans:
    """`choose`: which GPUs of those that can be lent, None: the first. `mappings`: names of GPUs by
    purpose. Raises LendingDatabaseError.

    Call `turn` again and again, between two steps of the run. `on_change` is told of each loan whose state has
    changed, or that is on its way back now."""

    def __init__(
        self,
        journal: LoanJournal,
        attachment: Attachment,
        host: LendingHost,
        idle: IdleTimes,
        *,
        choose: Choose | None = None,
        mappings: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self._journal, self._attachment, self._host, self._idle = journal, attachment, host, idle
        self._choose: Choose = choose or (lambda wish, free: free[0])
        self.mappings = dict(mappings or {})
        self.gpus = {gpu.name: gpu for gpu in attachment.gpus()}
        by_group: dict[str, list[LendableGpu]] = {}
        for gpu in self.gpus.values():
            by_group.setdefault(gpu.group, []).append(gpu)
        self.groups = [GpuGroup(name, tuple(found)) for name, found in by_group.items()]
        self.on_change: Callable[[GpuLoan], None] = lambda loan: None
        self._began = journal.cycle() - host.now
        self._ticked = self.now
        self._looked = self.now - _GUESTS
        self._open = {loan.id: loan for loan in journal.open()}
        self._trials = {number: _Trial() for number in self._open}
        self._recover()

    @property
    def now(self) -> int:
        """Cycle of the loans' own clock, which goes on over restarts."""
        return self._began + self._host.now

    # -------------------------------------------------------------------------------------------------------- requests

    def request(self, wish: LoanWish) -> tuple[GpuLoan, bool]:
        """A loan for a guest, and whether it is new: a guest that asks twice has one. Raises LoanRefused and
        LendingDatabaseError."""
        mine = next((loan for loan in self._open.values() if loan.node == wish.node), None)
        if mine is not None:
            if mine.released:
                raise LoanRefused("the loan that this guest had is on its way back", cycles=_AGAIN)
            return mine, False
        if self._attachment.guest(wish.node) is GuestState.UNKNOWN:
            raise LoanRefused(f"{wish.node}: there is no such guest", wrong="node")
        able = self._able(wish)
        holders = {
            gpu.name: found
            for group in able
            for gpu in group.gpus
            if self._host.counted(gpu.name) and (found := tuple(self._host.holders(gpu.name)))
        }
        free = [group for group in able if all(self._lendable(gpu.name, holders) for gpu in group.gpus)]
        if not free:
            raise LoanRefused(_nothing(holders), cycles=self._when(able), holders=holders)
        roles = {group.name: sum(self._host.placed(gpu.name) for gpu in group.gpus) for group in free}
        group = self._choose(wish, [each for each in free if roles[each.name] == min(roles.values())])
        names, now = tuple(gpu.name for gpu in group.gpus), self.now
        loan = GpuLoan(0, wish.node, wish.kind, wish.size, names, now, wish.mapping, wish.told)
        loan.look_at, loan.seen = now + self._idle.period, self._meters(loan)[0]
        loan.id = self._journal.new(loan, now)
        self._open[loan.id] = loan
        self._trials[loan.id] = _Trial()
        return loan, True

    def release(self, number: int, reason: str = "released") -> GpuLoan:
        """Send a loan on its way back; one that is already is not sent again. Raises KeyError: there is none."""
        loan = self.loan(number)
        if loan.open and not loan.released:
            self._save(loan, released=True, reason=reason, look_at=None, grace=False)
        return loan

    def loan(self, number: int) -> GpuLoan:
        """Raises KeyError: there is none."""
        found = self._open.get(number) or self._journal.loan(number)
        if found is None:
            raise KeyError(number)
        return found

    def of(self, gpu: str) -> GpuLoan | None:
        """The open loan that a GPU is in."""
        return next((loan for loan in self._open.values() if gpu in loan.gpus), None)

    def latest(self, most: int, node: str = "") -> list[GpuLoan]:
        """The latest, over or not; `node`: of this guest. Raises LendingDatabaseError."""
        return [self._open.get(loan.id, loan) for loan in self._journal.latest(most, node)]

    def opened(self) -> list[GpuLoan]:
        """All that are not over."""
        return list(self._open.values())

    def idle(self, gpu: str) -> str:
        """Of a GPU that no loan has: free; away: not counted; needed: the server can't do without it."""
        if not self._host.counted(gpu):
            return "away"
        return "needed" if self._host.needed(gpu) else "free"

    def holders(self, gpu: str) -> Sequence[str]:
        """Whose contexts are on it."""
        return self._host.holders(gpu)

    def used_by_gpu(self) -> dict[str, tuple[int, int, float]]:
        """Loans of each GPU, over or not, cycles that it computed for guests, and joules; all of a group are told by
        its first. Raises LendingDatabaseError."""
        found = self._journal.used()
        for loan in self._open.values():
            count, busy, energy = found.get(loan.gpus[0], (0, 0, 0.0))
            more, joules = self.used(loan)
            found[loan.gpus[0]] = (count + 1, busy + more, energy + joules)
        return found

    def used(self, loan: GpuLoan) -> tuple[int, float]:
        """Cycles that the GPUs of a loan have computed for its guest, and joules that they took."""
        if loan.attached is None or not loan.open or loan.done is not LoanStep.ATTACH:
            return loan.busy, loan.energy
        busy, energy = self._meters(loan)
        return max(0, busy - loan.busy0), max(0.0, energy - loan.energy0)

    def _able(self, wish: LoanWish) -> list[GpuGroup]:
        """Those that could meet the wish, if they were free."""
        if wish.gpu and wish.gpu not in self.gpus:
            raise LoanRefused(f"{wish.gpu}: there is no such GPU; there are {', '.join(self.gpus)}", wrong="gpu")
        if wish.mapping and wish.mapping not in self.mappings:
            names = ", ".join(self.mappings) or "none"
            raise LoanRefused(f"{wish.mapping}: there is no such mapping; there are: {names}", wrong="mapping")
        there = self.groups
        if wish.gpu:
            there = [group for group in there if any(gpu.name == wish.gpu for gpu in group.gpus)]
        if wish.mapping:
            named = self.mappings[wish.mapping]
            there = [group for group in there if all(gpu.name in named for gpu in group.gpus)]
        found = [group for group in there if group.memory >= wish.size]
        if not there:
            raise LoanRefused("no GPU is both of that name and of that mapping", wrong="gpu")
        if not found:
            most = max((group.memory for group in there), default=0)
            raise LoanRefused(f"size: found {wish.size}; a GPU has at most {most} bytes")
        return found

    def _lendable(self, gpu: str, holders: Mapping[str, Sequence[str]]) -> bool:
        return self.idle(gpu) == "free" and gpu not in holders and self.of(gpu) is None

    def _when(self, able: Sequence[GpuGroup]) -> int | None:
        """Cycles until one of them may be free."""
        ids = {gpu.name for group in able for gpu in group.gpus}
        times = []
        for loan in self._open.values():
            if ids.isdisjoint(loan.gpus):
                continue
            if loan.released:
                times.append(_AGAIN)
            elif loan.look_at is None:
                times.append(self._idle.period + self._idle.grace)
            else:
                times.append(max(0, loan.look_at - self.now) + (0 if loan.grace else self._idle.grace))
        return min(times, default=None)

    # ----------------------------------------------------------------------------------------------------------- turns

    def turn(self) -> None:
        """Take every loan on as far as it goes without waiting. A database that is away stops them where they are."""
        self._attachment.attend()
        try:
            for loan in list(self._open.values()):
                self._advance(loan)
            self._look_at_guests()
            if self._open and self.now - self._ticked > self._idle.period // _SAVED:
                self._journal.tick(self.now)
                self._ticked = self.now
        except LendingDatabaseError:
            for trial in self._trials.values():
                trial.not_before = self.now + _AGAIN

    def _advance(self, loan: GpuLoan) -> None:
        self._look_at_use(loan)
        trial = self._trials[loan.id]
        if self.now < trial.not_before:
            return
        try:
            if not self._seen_to(loan, trial):
                return
            while (step := loan.next_step()) is not None:
                if loan.step is not step:
                    self._save(loan, (step, "begun"), step=step)
                if not self._all(loan, step):
                    return
                self._done(loan, step)
        except HostRefusal as error:
            if not loan.released:
                self._save(loan, (LoanStep.DRAIN, "failed"), released=True, reason=str(error)[:MOST_ERROR])
        except AttachmentError as error:
            trial.not_before = self.now + _AGAIN
            text = str(error)[:MOST_ERROR]
            if text != loan.error:
                failed = None if loan.step is None else (loan.step, "failed")
                self._save(loan, failed, error=text)

    def _seen_to(self, loan: GpuLoan, trial: _Trial) -> bool:
        """Whether all that was forgotten is as it was."""
        while trial.anew:
            step = trial.anew[0]
            try:
                wanted = step in loan.stands or (step is LoanStep.ATTACH and not loan.released)
                if wanted and not self._all(loan, step):
                    return False
            except HostRefusal as error:  # it has just started: it doesn't know that GPU yet
                raise AttachmentError(str(error)) from None
            trial.anew.pop(0)
        return True

    def _all(self, loan: GpuLoan, step: LoanStep) -> bool:
        """Ask for a step of every GPU of a loan, all at once; whether it is done."""
        done = [self._ask(loan, step, gpu) for gpu in loan.gpus]
        return all(done)

    def _ask(self, loan: GpuLoan, step: LoanStep, gpu: str) -> bool:
        match step:
            case LoanStep.DRAIN:
                return self._host.drain(gpu)
            case LoanStep.BIND:
                return self._attachment.bind(gpu)
            case LoanStep.ATTACH:
                if self._attachment.guest(loan.node) is not GuestState.UP:
                    return False
                return self._attachment.attach(gpu, loan.node)
            case LoanStep.DETACH:
                return self._attachment.detach(gpu)
            case LoanStep.RESET:
                return self._attachment.reset(gpu)
            case LoanStep.SCRUB:
                return self._attachment.scrub(gpu)
            case LoanStep.UNBIND:
                return self._attachment.unbind(gpu)
            case LoanStep.RESTORE:
                return self._host.restore(gpu)

    def _done(self, loan: GpuLoan, step: LoanStep) -> None:
        """Write down that a step is done, and what follows from that."""
        now, more = self.now, dict[str, object]()
        if step is LoanStep.BIND:
            more["bound"] = now
        elif step is LoanStep.ATTACH:
            busy, energy = self._meters(loan)
            more |= {"attached": now, "busy0": busy, "energy0": energy}
            more |= {"look_at": now + self._idle.period, "grace": False, "seen": busy}
        elif step is LoanStep.DETACH:
            busy, energy = self.used(loan)
            more |= {"busy": busy, "energy": energy}
        elif step is LoanStep.RESTORE:
            more["ended"] = now
        self._save(loan, (step, "done"), done=step, step=None, error="", **more)

    def _save(self, loan: GpuLoan, did: tuple[LoanStep, str] | None = None, **changes: object) -> None:
        """Change a loan, in the journal first: what isn't written there has not happened."""
        self._journal.save(replace(loan, **changes), self.now, did)  # type: ignore[arg-type]
        before = loan.state, loan.released
        for name, value in changes.items():
            setattr(loan, name, value)
        self._ticked = self.now
        if not loan.open:
            del self._open[loan.id], self._trials[loan.id]
        if (loan.state, loan.released) != before:
            self.on_change(loan)

    def _meters(self, loan: GpuLoan) -> tuple[int, float]:
        found = [self._attachment.meters(gpu) for gpu in loan.gpus]
        return sum(each.busy for each in found), sum(each.energy for each in found)

    # ------------------------------------------------------------------------------------------------------------ idle

    def _look_at_use(self, loan: GpuLoan) -> None:
        """Idle since the last look, and still at the second one: it is taken back (V8). So is one that can't get to
        its guest."""
        if loan.released or loan.look_at is None or self.now < loan.look_at:
            return
        busy, _ = self._meters(loan)
        if busy != loan.seen or not all(self._attachment.meters(gpu).known for gpu in loan.gpus):
            self._save(loan, look_at=self.now + self._idle.period, grace=False, seen=busy)
        elif loan.grace:
            self.release(loan.id, "idle")
        else:
            self._save(loan, look_at=self.now + self._idle.grace, grace=True)

    # --------------------------------------------------------------------------------------------------------- restarts

    def _recover(self) -> None:
        """After a restart: what the server has forgotten is seen to again, and what guests have without a loan is taken
        back."""
        for loan in self._open.values():
            self._trials[loan.id].anew = list(loan.stands)
        held = self._attachment.held()
        for gpu in sorted(self._attachment.bound() | set(held)):
            if gpu in self.gpus and self.of(gpu) is None:
                self._adopt(gpu, held)

    def _adopt(self, gpu: str, held: Mapping[str, str]) -> None:
        """Nobody has written down that a guest has it: it goes the whole way back."""
        group = next(group for group in self.groups if any(each.name == gpu for each in group.gpus))
        names = tuple(each.name for each in group.gpus)
        loan = GpuLoan(0, held.get(gpu, ""), "unknown", 0, names, self.now, done=LoanStep.BIND)
        loan.released, loan.reason = True, "no loan of the journal"
        loan.id = self._journal.new(loan, self.now)
        self._open[loan.id] = loan
        self._trials[loan.id] = _Trial([LoanStep.DRAIN, LoanStep.BIND])

    def _look_at_guests(self) -> None:
        """A guest that has restarted gets the same GPUs again."""
        if self.now - self._looked < _GUESTS:
            return
        self._looked = self.now
        lent = [loan for loan in self._open.values() if loan.done is LoanStep.ATTACH and not loan.released]
        if not lent:
            return
        held = self._attachment.held()
        for loan in lent:
            if any(held.get(gpu) != loan.node for gpu in loan.gpus):
                self._trials[loan.id].anew = [*loan.stands, LoanStep.ATTACH]


def _nothing(holders: Mapping[str, Sequence[str]]) -> str:
    if not holders:
        return "no GPU is free"
    found = "; ".join(f"{gpu}: {', '.join(names)}" for gpu, names in holders.items())
    return f"no GPU is free; contexts are on {found}"
