"""What the CPU knows of one card, from its reports alone."""

from dataclasses import dataclass, field

from ringhil.emulator.host.backlog import Backlog
from ringhil.firmware.census import NOBODY
from ringhil.protocol import wire
from ringhil.protocol.frames import Report

_VERDICT = {value: name for name, value in wire.VERDICTS.items()}


@dataclass
class CardView:
    """One card as the CPU sees it. `number` is its place in the server, `entry` the GPU that talks to the CPU."""

    name: str
    number: int
    size: int
    entry: int
    cell: int  # of the entry GPU
    count: int = 0
    members: tuple[int, ...] = ()
    known: bool = False  # it has reported at least once
    reachable: bool = False
    break_after: int | None = None
    break_before: int | None = None
    suspects: tuple[int, ...] = ()
    reported_at: int = 0
    share: int = 0  # units given to it when work was first handed out
    completed: int = 0  # units whose result came from it
    backlog: Backlog = field(default_factory=Backlog)
    load: dict[int, int] = field(default_factory=dict)  # GPU -> units outstanding
    strikes: dict[int, int] = field(default_factory=dict)  # GPU -> wrong results in a row
    barred: dict[int, int] = field(default_factory=dict)  # GPU -> cycle until which it gets no work
    link_free_at: int = 0  # when what has been sent to it will have left the CPU

    def update(self, report: Report, now: int) -> tuple[int, ...]:
        """Take a report in; GPUs that were members and are no more."""
        self.reported_at, self.known, self.reachable = now, True, True
        if _VERDICT.get(report.verdict, "none") == "none":
            self.suspects = () if report.first_suspect == NOBODY else (report.first_suspect,)
            return ()
        members = tuple(i for i in range(report.size) if report.members[i // 64] >> i % 64 & 1)
        if not members and report.count:
            # Counted without records: nobody is named, so as long as all are there all may be given work.
            members = tuple(range(report.size)) if report.count == report.size else self.members
        gone = tuple(set(self.members) - set(members))
        self.count, self.members = report.count, members
        self.suspects = ()
        arms = _VERDICT[report.verdict] == "arms"
        self.break_after = report.break_after if arms and report.break_after != NOBODY else None
        self.break_before = report.break_before if arms and report.break_before != NOBODY else None
        return gone

    def lost(self) -> tuple[int, ...]:
        """Nothing has been heard of it for too long: it has no members now. Those that it had."""
        gone, self.members = self.members, ()
        self.count, self.reachable = 0, False
        return gone
