"""Which faults of a card are active, and what state each of its parts settles to by them."""

from enum import StrEnum

from ringhil.emulator.judge.oracle.ring import RingTruth, View
from ringhil.emulator.scenario import PartKind


class PartState(StrEnum):
    """What becomes of a GPU or link by its faults."""

    OK = "ok"
    OUT = "out"  # a GPU: bypassed
    BLOCKED = "blocked"  # a GPU: its switch lets nothing through
    CUT = "cut"  # a link


Part = tuple[PartKind, int]  # link i joins GPU i and the next one
OK, OUT, BLOCKED, CUT = PartState
_LIARS = frozenset({"corrupt", "skip_count", "double_count", "duplicate_id"})  # counted all the same; messages are not
_UNRELIABLE = frozenset({"corrupt", "duplicate_id", "flap"})
_LENT = "lent"  # no fault: out of the ring all the same, as the switch has been told to join its ports
_FAILING = frozenset({"dead", "hang", "babble", "flapped", _LENT})
_CUTS = frozenset({"link_cut", "link_one_way"})
_SILENT = frozenset({"keepalive_loss", "host_link_cut", "flap"})  # the CPU can't hear it, or not for long
_MUTE = frozenset({"keepalive_loss", "flap"})


class CardFaults:
    """The faults of a ring of `size` GPUs, named as in the catalogue; beside them `flapped`: a flapping GPU is down
    just now, and `link_one_way reverse`: the other direction of a link."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.gpus: dict[int, set[str]] = {}
        self.links: dict[int, set[str]] = {}

    def put(self, part: Part, fault: str, on: bool) -> None:
        """`fault` begins or ends."""
        faults = (self.links if part[0] == PartKind.LINK else self.gpus).setdefault(part[1], set())
        (faults.add if on else faults.discard)(fault)

    def state(self, part: Part) -> PartState:
        """The state that a part settles to."""
        kind, number = part
        if kind == PartKind.LINK:
            return CUT if any(name.startswith(tuple(_CUTS)) for name in self.links.get(number, ())) else OK
        faults = self.gpus.get(number, set())
        if "switch_stuck_bypass" in faults:
            return OUT
        if faults & _FAILING:
            return BLOCKED if "switch_stuck_through" in faults else OUT
        return OK

    @property
    def ring(self) -> RingTruth:
        """The ring as it settles."""
        states = {part: self.state(part) for part in self.parts}
        chosen = {s: frozenset(n for (_, n), state in states.items() if state == s) for s in (OUT, BLOCKED, CUT)}
        return RingTruth(self.size, chosen[OUT], chosen[CUT], chosen[BLOCKED])

    @property
    def parts(self) -> set[Part]:
        """Those that a fault has ever struck."""
        return {(PartKind.GPU, g) for g in self.gpus} | {(PartKind.LINK, i) for i in self.links}

    def seen_from(self, entry: int) -> View:
        """What the entry GPU must find when all has settled."""
        return self.ring.seen_from(entry)

    def can_be_entry(self, gpu: int) -> bool:
        """Whether a GPU with a link to the CPU can hold the role."""
        return self.state((PartKind.GPU, gpu)) == OK and not self.gpus.get(gpu, set()) & _SILENT

    def can_claim(self, gpu: int) -> bool:
        """Whether a GPU with a link to the CPU can get the role, if only until its lease runs out: a claim is no
        keepalive."""
        return self.state((PartKind.GPU, gpu)) == OK and not self.gpus.get(gpu, set()) & _SILENT - {"keepalive_loss"}

    def can_claim_across(self, gpu: int) -> bool:
        """The same of a GPU with a link to another card."""
        return self.state((PartKind.GPU, gpu)) == OK and not self.gpus.get(gpu, set()) & _MUTE - {"keepalive_loss"}

    def can_cross(self, gpu: int) -> bool:
        """Whether a GPU with a link to another card can use it, as far as it depends on the GPU."""
        return self.state((PartKind.GPU, gpu)) == OK and not self.gpus.get(gpu, set()) & _MUTE

    def masked(self, gpu: int) -> bool:
        """It uses its predecessor's number: what is for it doesn't reach it."""
        return "duplicate_id" in self.gpus.get(gpu, ())

    def computes(self, gpu: int) -> bool:
        """It works, all the time, and its results are right and come from itself."""
        return self.state((PartKind.GPU, gpu)) == OK and not self.gpus.get(gpu, set()) & _UNRELIABLE

    @property
    def lent(self) -> frozenset[int]:
        """GPUs that are out of the ring on purpose."""
        return frozenset(gpu for gpu, kinds in self.gpus.items() if _LENT in kinds)

    @property
    def degraded(self) -> frozenset[int]:
        """GPUs that compute slowly, and say so."""
        return frozenset(gpu for gpu, kinds in self.gpus.items() if "slow" in kinds)

    @property
    def liars(self) -> set[tuple[int, str]]:
        """GPUs that spoil messages, and how."""
        return {(gpu, kind) for gpu, kinds in self.gpus.items() for kind in kinds & _LIARS}

    @property
    def noisy(self) -> bool:
        """Messages may be damaged or lost now and then."""
        return any("link_bit_errors" in kinds for kinds in self.links.values())

    @property
    def flapping(self) -> bool:
        """Some GPU comes and goes."""
        return any("flap" in kinds for kinds in self.gpus.values())

    @property
    def disturbed(self) -> bool:
        """What is found is not only a matter of the faults, but of luck."""
        return self.noisy or self.flapping or bool(self.liars)

    @property
    def faults(self) -> int:
        """Number of active faults."""
        return sum(map(len, self.gpus.values())) + sum(map(len, self.links.values()))
