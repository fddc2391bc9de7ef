"""What the CPU knows of one card, from its keepalives, claims and reports alone."""

from dataclasses import dataclass, field

from ringhil.firmware.census import NOBODY
from ringhil.firmware.grantor import Grantor
from ringhil.protocol.frames import Report
from ringhil.protocol.wire import CensusVerdict

_VERDICT = {verdict.code: verdict for verdict in CensusVerdict}


@dataclass
class CardView:
    """One card as the CPU sees it. `number` is its place in the server; `host` are the GPUs with a link to the CPU
    in their order of priority, `cells` the same as cells of the engine; `grantor` decides who of them is the entry
    GPU."""

    name: str
    number: int
    size: int
    host: tuple[int, ...]
    cells: tuple[int, ...]
    grantor: Grantor
    rank: int | None = None  # of the entry GPU among `host`; None: nobody holds a lease
    epoch: int = 0  # the one last granted
    count: int = 0
    weight: int = 0  # of all members, in quarters
    members: tuple[int, ...] = ()
    degraded: frozenset[int] = frozenset()
    boundaries: tuple[int, ...] = ()
    known: bool = False  # it has reported at least once
    reachable: bool = False
    break_after: int | None = None
    break_before: int | None = None
    slow_link: int | None = None
    noisy_link: int | None = None
    suspects: tuple[int, ...] = ()
    reported_at: int = 0
    share: int = 0  # units given to it when work was first handed out
    completed: int = 0  # units whose result came from it
    load: dict[int, int] = field(default_factory=dict)  # GPU -> units outstanding
    strikes: dict[int, int] = field(default_factory=dict)  # GPU -> wrong results in a row
    barred: dict[int, int] = field(default_factory=dict)  # GPU -> cycle until which it gets no work
    fruitless: int = 0  # times in a row that it was lost while it had units, and no result had come since the last time
    lent: set[int] = field(default_factory=set)  # GPUs that are out of the ring on purpose
    leaving: set[int] = field(default_factory=set)  # GPUs that get no work any more, and will be lent
    link_free_at: int = 0  # when what has been sent to it will have left the CPU

    @property
    def entry(self) -> int | None:
        """The entry GPU; None: nobody holds a lease."""
        return None if self.rank is None else self.host[self.rank]

    @property
    def workers(self) -> tuple[int, ...]:
        """Members that may be given work."""
        return tuple(gpu for gpu in self.members if gpu not in self.leaving) if self.leaving else self.members

    @property
    def cell(self) -> int | None:
        """Cell of the entry GPU."""
        return None if self.rank is None else self.cells[self.rank]

    def granted(self, rank: int, epoch: int) -> None:
        """Another GPU is the entry GPU from now on; what it finds is not known yet."""
        self.rank, self.epoch = rank, epoch
        self.link_free_at = 0

    def update(self, report: Report, now: int) -> tuple[int, ...]:
        """Take a report in; GPUs that were members and are no more."""
        self.reported_at, self.known, self.reachable = now, True, True
        self.slow_link, self.noisy_link = _gpu(report.slow_link), _gpu(report.noisy_link)
        verdict = _VERDICT.get(report.verdict, CensusVerdict.NONE)
        if verdict is CensusVerdict.NONE:
            self.suspects = _sets(report)[0]
            return ()
        members, degraded, boundaries = _sets(report)
        if not members and report.count:
            # Counted without records: nobody is named, so as long as all are there all may be given work.
            there = tuple(gpu for gpu in range(report.size) if gpu not in self.lent)
            members = there if report.count >= len(there) else self.members
        elif self.lent:
            members = tuple(gpu for gpu in members if gpu not in self.lent)  # its round may have begun before
        gone = tuple(set(self.members) - set(members))
        # Whom nobody can name nobody can give work to: other cards get its share.
        self.count, self.weight, self.members = report.count, report.weight if members else 0, members
        self.degraded, self.boundaries = frozenset(degraded), boundaries
        self.suspects = ()
        arms = verdict is CensusVerdict.ARMS
        self.break_after = _gpu(report.break_after) if arms else None
        self.break_before = _gpu(report.break_before) if arms else None
        return gone

    def lend(self, gpu: int) -> None:
        """A GPU is out of the ring from now on, whether it was counted since or not."""
        self.lent.add(gpu)
        self.members = tuple(member for member in self.members if member != gpu)

    def lost(self) -> tuple[int, ...]:
        """Nothing has been heard of it for too long: it has no members now. Those that it had."""
        self.fruitless += any(self.load.values())
        gone, self.members = self.members, ()
        self.count = self.weight = 0
        self.degraded, self.boundaries = frozenset(), ()
        self.break_after = self.break_before = self.slow_link = self.noisy_link = None
        self.reachable = False
        return gone

    @property
    def gap(self) -> tuple[int, ...]:
        """The ring links of which one must be cut, clockwise: those between the last GPUs of both arms."""
        if self.break_after is None or self.break_before is None:
            return ()
        links = (self.break_before - self.break_after) % self.size or self.size
        return tuple((self.break_after + step) % self.size for step in range(links))

    @property
    def stranded(self) -> tuple[int, ...]:
        """GPUs between the ends of the two arms that nobody has heard of: cut off, or out of order; none that is
        lent."""
        return tuple(sorted(set(self.gap[1:]) - set(self.members) - self.lent))

    def window(self, gpu: int, full: int) -> int:
        """Units that a GPU may have outstanding, of at most `full`: a slow one takes them one by one. So do all of a
        card that was lost twice without a result: a second unit in a queue may take longer than a lease lasts."""
        return 1 if gpu in self.degraded or self.fruitless > 1 else full


def _gpu(number: int) -> int | None:
    return None if number == NOBODY else number


def _sets(report: Report) -> list[tuple[int, ...]]:
    words = len(report.sets) // 3
    parts = [report.sets[i * words : (i + 1) * words] for i in range(3)]
    return [tuple(i for i in range(report.size) if part[i // 64] >> i % 64 & 1) for part in parts]
