"""The faults that a timeline can set and clear: one row each, with all that others need to know of them.

Whoever needs a set of faults (injector, bounds, watch, explorer) asks `having` for those with a trait. Only the oracle
has sets of its own: it judges by another reading of the same faults.
"""

from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from functools import cache
from typing import Literal

from ringhil.protocol.registers import MAX_LINK_DELAY

ParameterName = Literal["period", "rate", "delay"]


@dataclass(frozen=True)
class Parameter:
    """A number that comes with a fault, `low` .. `high`."""

    default: int
    low: int
    high: int
    doc: str


PARAMETERS: dict[ParameterName, Parameter] = {
    "period": Parameter(300, 2, 1_000_000, "cycles: time from one failure to the next"),
    "rate": Parameter(256, 1, 65535, "flits that arrive damaged, of 65,536; of management lines, bytes"),
    "delay": Parameter(16, 1, MAX_LINK_DELAY, "cycles that every flit takes longer"),
}


class EventAction(StrEnum):
    """What an event of the timeline does."""

    FAULT = "fault"  # it begins a fault
    CLEAR = "clear"  # it ends one
    LEND = "lend"  # a GPU is lent to a virtual machine
    TAKE_BACK = "take_back"  # it comes back


LENT = "lent"  # the `kind` of the last two
LENDINGS = (EventAction.LEND, EventAction.TAKE_BACK)


def title(action: EventAction, kind: str) -> str:
    """What an event does, in a word or two."""
    if action in LENDINGS:
        return str(action)
    return kind if action is EventAction.FAULT else f"{action} {kind}"


class PartKind(StrEnum):
    """What a fault strikes, as a file's key says it."""

    GPU = "gpu"
    LINK = "link"


class FaultTarget(StrEnum):
    """What a fault strikes, in the words of messages."""

    GPU = "GPU"
    HOST_LINKED = "GPU with a host link"
    KEEPING_ALIVE = "GPU with keepalives"
    RING_LINK = "ring link"
    BOUNDARY_LINK = "boundary link"
    LINK = "link"


class Trait(Enum):
    """What faults have in common."""

    STOPS = auto()  # the firmware of the GPU doesn't survive it
    LIES = auto()  # the GPU stays counted, and spoils messages on their way: they are rejected, it is suspected
    BREAKS = auto()  # a link of a ring carries nothing, one way at least: the ring is open
    MUTED = auto()  # the GPU says too much; it is out when the guardian has muted it


_STOPS, _LIES, _BREAKS, _MUTED = ((trait,) for trait in Trait)


@dataclass(frozen=True)
class Fault:
    """`hits`: what kind of GPU or link. `effect`: what that does or suffers; `reaction`: what hardware and firmware do
    about it; `seen`: what must be seen of it. The pages show them. `counted`: may be limited by `count`, and then ends
    by itself."""

    hits: FaultTarget
    effect: str
    reaction: str
    seen: str
    traits: tuple[Trait, ...] = ()
    parameter: ParameterName | None = None
    counted: bool = False

    @property
    def target(self) -> PartKind:
        """The key of an event that says what is hit."""
        return PartKind.LINK if self.hits in _LINKS else PartKind.GPU

    @property
    def takes(self) -> tuple[str, ...]:
        """The keys of an event that may stand beside this fault."""
        return (*(("count",) if self.counted else ()), *((self.parameter,) if self.parameter else ()))


_LINKS = (FaultTarget.RING_LINK, FaultTarget.BOUNDARY_LINK, FaultTarget.LINK)

FAULTS: dict[str, Fault] = {
    "dead": Fault(
        FaultTarget.GPU,
        "the GPU reports itself not working; its firmware and compute engine stand still",
        "its switch joins the two ports at once; a frame that the GPU had begun is cut and sent again from the shadow "
        "copy; its work goes to others; `data_dropped` rises",
        "count one less within the bound, members exact",
        _STOPS,
    ),
    "hang": Fault(
        FaultTarget.GPU,
        "the GPU takes frames in, lets no frame out, and doesn't say so",
        "`watchdog` cycles after a flit was taken, or when the liveness check is not answered, the switch trips "
        "(`trips`) and goes on from the shadow copy",
        "the watchdog bypasses it and replays the message: one result for each sequence number",
        _STOPS,
    ),
    "corrupt": Fault(
        FaultTarget.GPU,
        "the GPU flips a bit of the third flit (the count) of control frames that it passes on, behind the CRC's back, "
        "and a bit of its own results' digests",
        "the next GPU finds the link CRC wrong (`rx_bad_port*`), marks the frame and says so in its record; later ones "
        "pass the mark on. After three wrong results it gets no work for a while",
        "what it damaged is rejected; the GPU or its link is named",
        _LIES,
    ),
    "skip_count": Fault(
        FaultTarget.GPU,
        "the GPU adds its record to statistics frames, but not itself to their count",
        "nothing: only the entry GPU can tell",
        "rejected or named; shares of work unchanged",
        _LIES,
    ),
    "double_count": Fault(
        FaultTarget.GPU,
        "the GPU adds two to the count",
        "nothing: only the entry GPU can tell",
        "rejected or named; shares of work unchanged",
        _LIES,
    ),
    "duplicate_id": Fault(
        FaultTarget.GPU,
        "the GPU uses its predecessor's number, wherever it uses its own",
        "nothing: only the entry GPU can tell (`order`, or `lost` when the number is its own); of the two it names the "
        "first. When the other one of the two has failed it can't be told from it: the count is right, a name is not",
        "rejected or named; shares of work unchanged",
        _LIES,
    ),
    "babble": Fault(
        FaultTarget.GPU,
        "the GPU sends statistics frames without end: of its own number, TTL `ring_size + 1`, count 1, no records, "
        "sequence 0xBABB1E00, by turns clockwise and counter-clockwise",
        "the guardian lets `allowance` frames pass in `allowance_period`, then mutes it (`mutes`): bypassed until it "
        "has kept to its allowance for a whole period. What it sent before ends at home, or with its TTL "
        "(`ttl_dropped`)",
        "it is muted; nobody else loses a frame",
        _MUTED,
    ),
    "slow": Fault(
        FaultTarget.GPU,
        "the GPU computes four times as slowly; its records say `degraded`",
        "the CPU gives it a quarter of a share, its units one by one",
        "it weighs less and stays a member; the count doesn't change",
    ),
    "flap": Fault(
        FaultTarget.GPU,
        "the GPU fails and recovers every `period` cycles",
        "its switch takes it back only after it has been well for `gpu_restore` cycles; its firmware, booted again, "
        "leaves the roles to others for `wait_to_restore`",
        "at most one transition in each `wait_to_restore`",
        _MUTED,
        parameter="period",
    ),
    "switch_stuck_through": Fault(
        FaultTarget.GPU,
        "the bypass switch stays in THROUGH whatever it is told",
        "while its GPU works, nothing. When the GPU fails, the switch finds after `watchdog` cycles that it stands "
        "where it should not, and takes its carrier off both ring ports: the neighbours turn frames round; `break` "
        "spans the GPU, `stranded` names it",
        "nothing while the GPU works; once it is `dead` too, it is located from both sides, and the others are counted",
    ),
    "switch_stuck_bypass": Fault(
        FaultTarget.GPU,
        "the bypass switch stays in BYPASS whatever it is told",
        "`isolated` tells a healthy GPU that is kept out by its own switch",
        "not counted; healthy but isolated",
    ),
    "keepalive_loss": Fault(
        FaultTarget.KEEPING_ALIVE,
        "keepalives of the GPU's firmware are swallowed in its mailbox, all or `count` rounds of them",
        "from the multiplier on the lease runs out and another member is granted the role; the GPU that lost it leaves "
        "the role to others for `wait_to_restore`, twice as long at every further loss",
        "lost in fewer than `keepalive_multiplier` intervals: nothing; in as many: one take-over",
        counted=True,
    ),
    "host_link_cut": Fault(
        FaultTarget.HOST_LINKED,
        "the link between the GPU and the CPU carries nothing, either way",
        "the entry GPU's lease runs out and another member takes over, with a higher `epoch`; without another the card "
        "gets no grant, and its work goes to the other cards",
        "the entry GPU's: another entry GPU, nothing else; another's: nothing; all of a card's cut: not reachable, "
        "no entry GPU",
    ),
    "link_cut": Fault(
        FaultTarget.RING_LINK,
        "the ring link carries nothing, either way",
        "both ends turn frames round into the other lane (`wraps`); back in use when the carrier has been there for "
        "`link_restore` at both ends",
        "one cut: all GPUs counted, break named; two: the entry GPU's part counted, the others stranded",
        _BREAKS,
    ),
    "boundary_link_cut": Fault(
        FaultTarget.BOUNDARY_LINK,
        "the boundary link carries nothing, either way",
        "the role of the active one moves to the next pair of GPUs, on both cards; without another pair no frame "
        "enters for that card",
        "the boundary GPUs': other boundary GPUs on both cards, nothing else; another's: nothing; all of a logical "
        "link cut: no boundary GPU for it",
    ),
    "link_one_way": Fault(
        FaultTarget.LINK,
        "nothing gets from the first GPU named to the second",
        "the end that hears nothing tells the other by the remote-fault mark; then as `link_cut`",
        "both ends agree not to use the link; no wrong count; link named",
        _BREAKS,
    ),
    "link_bit_errors": Fault(
        FaultTarget.LINK,
        "of 65,536 flits, `rate` arrive with one bit flipped, either way",
        "CRCs at every hop; damaged frames are marked, counted and rejected; `noisy_link` from the error counters in "
        "the records",
        "no wrong count; link named",
        parameter="rate",
    ),
    "link_delay": Fault(
        FaultTarget.LINK,
        "every flit takes `delay` cycles longer, either way",
        "`slow_link` from the arrival times in the records, when four rounds in a row or more find it late, three of "
        "them by the same; when the delay ends, what was under way is gone and both ends start afresh, as after a cut",
        "no wrong count; link named",
        parameter="delay",
    ),
}


@cache
def having(trait: Trait) -> frozenset[str]:
    """The faults with a trait, by name."""
    return frozenset(name for name, fault in FAULTS.items() if trait in fault.traits)


@dataclass(frozen=True)
class LineFaultKind:
    """A fault of the serial line to a card's management port. It strikes what passes between a client and the card
    while the card is served; nothing in the ring notices, so neither oracle nor explorer knows it, and a run without
    clients is the same with it. `effect`: what happens on the line. `rated`: to so many bytes of 65,536 (`rate`)."""

    effect: str
    rated: bool = True


LINE_FAULTS: dict[str, LineFaultKind] = {
    "line_corrupt": LineFaultKind("of 65,536 bytes, `rate` arrive with one bit flipped, either way"),
    "line_drop": LineFaultKind("of 65,536 bytes, `rate` don't arrive, either way"),
    "line_double": LineFaultKind("of 65,536 bytes, `rate` arrive twice, either way"),
    "line_cut": LineFaultKind("nothing arrives, either way", rated=False),
}


@dataclass(frozen=True)
class LineEvent:
    """At cycle `at` after power-up, the fault `kind` of the management line of `card` begins or ends. `rate`: bytes
    that it strikes, of 65,536, either way; None: it takes no rate, or the event ends it. `line`: in the file."""

    at: int
    action: EventAction
    kind: str
    card: str
    line: int = field(compare=False)
    rate: int | None = None

    @property
    def begins(self) -> bool:
        """The fault begins; otherwise it ends."""
        return self.action == EventAction.FAULT
