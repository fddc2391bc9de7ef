"""What the CPU lets count, held against the members' own account of who speaks for a card, and against the work itself.

A report or result counts when it changes the CPU's books. Then it must have come from the GPU that has held the card's
role last, under the epoch that this GPU was elected with (R10); a result must be the first of its unit, and right (R5).
"""

from collections.abc import Sequence

from ringhil.emulator.events.server import TakenIn
from ringhil.emulator.host.cpu import Cpu
from ringhil.emulator.judge.elections.roles import RoleWatch
from ringhil.emulator.judge.findings import FindingList, Name, say
from ringhil.emulator.judge.oracle import digest, turned
from ringhil.emulator.server.wiring import Wiring
from ringhil.protocol import codec
from ringhil.protocol.frames import Acknowledgement, Report, Result


class Acceptance:
    """Feed it every frame that the CPU has taken in. `roles`: by card, who holds the entry role."""

    def __init__(self, wiring: Wiring, cpu: Cpu, roles: Sequence[RoleWatch]) -> None:
        self._wiring, self._cpu, self._roles = wiring, cpu, roles
        self._accepted: set[int] = set()
        self._fenced = 0
        self.booked_at = 0  # cycle of the last result that counted
        self.digest = 0  # of all units accepted, as it must be
        self.unheld = FindingList()  # what counted though its sender didn't hold the role, and when
        self.wrong = FindingList()  # results that should not have counted

    def taken_in(self, o: TakenIn) -> None:
        """The CPU has done what follows from a frame."""
        booked = self._cpu.work.completed - len(self._accepted)
        card, gpu = self._wiring.place(o.cell)
        view = self._cpu.cards[card]
        fenced = self._cpu.work.fenced - self._fenced
        self._fenced = self._cpu.work.fenced
        if fenced:
            self._refused(o, card, gpu)
        reported = o.frame[0] == Report.KIND and view.known and view.reported_at == o.cycle
        if not booked and not reported:
            return
        message = None if o.bad else codec.decode(o.frame, link=False)
        if isinstance(message, Report | Result):
            self._fence(card, gpu, message.epoch, o.cycle)
        if booked:
            self._book(booked, message if isinstance(message, Result) else None, o.cycle)

    def _refused(self, o: TakenIn, card: int, gpu: int) -> None:
        """The CPU has fenced a message off: its sender must not hold the role under its epoch."""
        message = codec.decode(o.frame, link=False)
        if not isinstance(message, Report | Result | Acknowledgement):
            return
        if self._roles[card].holders.get(gpu) == message.epoch:
            name = Name(f"{self._wiring.cards[card].name}.{gpu}")
            text = say("{} was fenced off at cycle {}, and holds the role under epoch {}", name, o.cycle, message.epoch)
            self.unheld.tell(o.cycle, text)

    def said(self, card: int, gpu: int, epoch: int, now: int) -> None:
        """The firmware of a GPU reports to the CPU: it must hold the role."""
        if self._roles[card].holders.get(gpu) != epoch:
            name = Name(f"{self._wiring.cards[card].name}.{gpu}")
            self.unheld.tell(now, "{} reported under epoch {} at cycle {}, and doesn't hold the role", name, epoch, now)

    def _fence(self, card: int, gpu: int, epoch: int, now: int) -> None:
        role = self._roles[card]
        if (gpu, epoch) != (role.last, role.epoch):
            name = self._wiring.cards[card].name
            last = Name(f"{name}.{role.last}")
            self.unheld.tell(
                now,
                "{} was heard under epoch {} at cycle {}; the last that was elected is {}",
                Name(f"{name}.{gpu}"),
                epoch,
                now,
                "nobody" if role.last is None else say("{} under epoch {}", last, role.epoch),
            )

    def _book(self, booked: int, result: Result | None, now: int) -> None:
        """The CPU has booked a result."""
        self.booked_at = now
        workload = self._cpu.workload
        if result is None or booked != 1 or workload is None:
            self.wrong.tell(now, "{} units were booked at cycle {} for one frame", booked, now)
            self._accepted |= {-1 - len(self._accepted) - n for n in range(booked)}
            return
        unit = result.unit
        if unit in self._accepted:
            self.wrong.tell(now, "unit {} was accepted again at cycle {}", unit, now)
            self._accepted.add(-1 - len(self._accepted))
            return
        self._accepted.add(unit)
        right = digest(workload.read(unit))
        self.digest ^= turned(right, unit)
        if result.digest != right:
            self.wrong.tell(
                now,
                "a wrong result of unit {} was accepted at cycle {}: {found:016x}, not {expected:016x}",
                unit,
                now,
                found=result.digest,
                expected=right,
            )
