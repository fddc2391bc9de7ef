"""A whole scenario: a server, its work, what happens to it and what is expected of it."""

from dataclasses import dataclass, field, replace

from ringhil.emulator.scenario.expect.check import Expectation
from ringhil.emulator.scenario.file.faults import FAULTS, LENDINGS, EventAction, LineEvent, ParameterName, title
from ringhil.emulator.scenario.file.model import INVARIANTS
from ringhil.emulator.scenario.file.sharing import Sharing
from ringhil.emulator.scenario.file.switching import TaskSwitching
from ringhil.emulator.scenario.file.topology import CrossRef, GpuRef, LinkRef, Server, Workload


@dataclass(frozen=True)
class TimelineEvent:
    """At cycle `at` after power-up, the fault `kind` begins (`fault`) or ends (`clear`) at `target`; or a GPU is lent
    (`lend`) or taken back (`take_back`), and `kind` is `LENT`.

    `count`: keepalive intervals after which the fault ends by itself; None: it stays. `value`: the fault's parameter
    (`PARAMETERS`), its default filled in; None: the fault takes no parameter, or the event clears it. `line`: line in
    the file; it makes no difference. `reverse`: link_one_way only; the dead direction is against the target's own,
    which is clockwise for a LinkRef and `from_` to `to` for a CrossRef.
    """

    at: int
    action: EventAction
    kind: str
    target: GpuRef | LinkRef | CrossRef
    count: int | None
    line: int = field(compare=False)
    value: int | None = None
    reverse: bool = False

    @property
    def begins(self) -> bool:
        """The fault, or the loan, begins; otherwise it ends."""
        return self.action in (EventAction.FAULT, EventAction.LEND)

    @property
    def lends(self) -> bool:
        """A GPU is lent or taken back: nothing has failed."""
        return self.action in LENDINGS

    @property
    def parameter(self) -> ParameterName | None:
        """The key of the number that comes with it, if it has one."""
        return FAULTS[self.kind].parameter if self.kind in FAULTS else None

    @property
    def title(self) -> str:
        """What happens: `dead`, `clear dead`, `lend` or `take_back`."""
        return title(self.action, self.kind)

    @property
    def where(self) -> str:
        """The target in the file's words: `a.6-a.5` when nothing gets from a.6 to a.5."""
        match self.target:
            case LinkRef(before=first, after=second) | CrossRef(from_=first, to=second) if self.reverse:
                return f"{second}-{first}"
        return str(self.target)


@dataclass(frozen=True)
class Scenario:
    """A server, what it works on, what befalls it when, and what is expected.

    Checked: every name in it exists, every value is in range.

    `timeline` is ordered by cycle, events of one cycle as in the file. `until`: last cycle of the run;
    None: whoever runs it decides. `invariants`: those that count in the verdict. `lines`: events of management lines,
    ordered by cycle.
    """

    name: str
    seed: int
    server: Server
    workload: Workload | None
    timeline: tuple[TimelineEvent, ...]
    until: int | None
    expect: tuple[Expectation, ...]
    invariants: frozenset[str] = frozenset(INVARIANTS)
    lines: tuple[LineEvent, ...] = ()
    sharing: Sharing | None = None
    switching: TaskSwitching | None = None

    @property
    def gpus_with_contexts(self) -> tuple[GpuRef, ...]:
        """Those on which tasks of the file run."""
        shared = (each.gpu for each in self.sharing.applications) if self.sharing else ()
        return tuple(dict.fromkeys((*shared, *(self.switching.gpus if self.switching else ()))))

    def anywhere(self) -> "Scenario":
        """The same, in whatever folder it is read: the path of its data begins at the root."""
        work = self.workload
        if work is None or work.data is None:
            return self
        return replace(self, workload=replace(work, data=work.data.resolve()))
