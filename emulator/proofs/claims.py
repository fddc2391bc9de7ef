"""What is claimed of every node: each claim is a module of hdl/, with the environment in which it is judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringhil.emulator.build.errors import BuildError

HDL = Path(__file__).resolve().parent / "hdl"
PORTS = "claim_ports.svh"
COMMON = ("environment", "neighbour", "watched")
# What the environment leaves out, by its word.
LEFT_OUT = {
    "data": "no data frames come in",
    "control": "no control frames come in by links",
    "mail": "firmware writes nothing",
    "writes": "no register is written",
    "faults": "no fault is on",
    "cuts": "every link keeps its carrier",
}


@dataclass(frozen=True)
class NodeClaim:
    """`module`: the file in hdl/ that asserts it. `depth`: cycles after reset that are looked at unless told otherwise.
    `without`: what the environment leaves out (LEFT_OUT). `assumes`: what else is assumed. `induction`: the depth at
    which an inductive proof is tried, 0 if the ports alone can't give one; `state`: by comparing all state.
    """

    name: str
    demands: str
    module: str
    depth: int
    without: tuple[str, ...] = ()
    assumes: str = ""
    induction: int = 0
    state: bool = False
    leaps: bool = False

    @property
    def defines(self) -> tuple[str, ...]:
        """Of the harness."""
        chosen = [
            f"RINGHIL_CLAIM=ringhil_claim_{self.module}",
            *(f"RINGHIL_NO_{word.upper()}" for word in self.without),
        ]
        also = {"RINGHIL_LEAPS": self.leaps, "RINGHIL_SETTINGS": self.module == "registers"}
        return (*chosen, *(name for name, on in also.items() if on))

    @property
    def assumptions(self) -> list[str]:
        """In words."""
        return [LEFT_OUT[word] for word in self.without] + ([self.assumes] if self.assumes else [])


_CONTROL = ("data", "writes")
CLAIMS = (
    NodeClaim(
        "registers",
        "a setting reads as its reset value until it is written, then as what was written last",
        "registers",
        6,
        ("data", "control", "mail", "faults", "cuts"),
        "it is read between any two writes to others",
        induction=3,
    ),
    NodeClaim(
        "rest",
        "while the node rests, and nothing comes in, a clock edge before wake_at_o changes no output",
        "rest",
        6,
        induction=2,
        state=True,
        leaps=True,
    ),
    NodeClaim(
        "framing.control",
        "control flits leave in whole frames; lines are zero while nothing is sent, and silent while unused",
        "framing",
        6,
        _CONTROL,
    ),
    NodeClaim(
        "framing.data",
        "flits of both channels leave in whole frames; lines are zero while nothing is sent",
        "framing",
        6,
        ("mail", "writes", "faults", "cuts"),
    ),
    NodeClaim(
        "ttl.control",
        "TTL falls by one at each hop of a control frame; none goes on with a TTL that is used up",
        "ttl",
        6,
        _CONTROL,
        "the watched frame comes once, and the GPU doesn't babble",
    ),
    NodeClaim(
        "ttl.data",
        "TTL falls by one at each hop of a data frame; none goes on with a TTL that is used up",
        "ttl",
        7,
        ("control", "mail", "writes", "faults", "cuts"),
        "the watched frame comes once",
    ),
    NodeClaim(
        "once.control",
        "no control frame is made up, and none leaves whole twice",
        "once",
        8,
        _CONTROL,
        "the watched frame comes once, and the GPU doesn't babble",
    ),
    NodeClaim(
        "once.data",
        "no data frame is made up, and none leaves whole twice",
        "once",
        7,
        ("control", "mail", "writes", "faults", "cuts"),
        "the watched frame comes once, and is no result or refusal",
    ),
    NodeClaim(
        "count",
        "the count of a statistics frame goes up by one at most, and not in frames that are wrapped or of another kind",
        "count",
        8,
        (*_CONTROL, "mail", "cuts"),
        "the watched frame comes once; the GPU neither babbles nor corrupts frames",
    ),
    NodeClaim(
        "passing.control",
        "a control frame that passes by leaves as it came, but for its TTL, the wrapped flag and what counting changes",
        "passing",
        6,
        (*_CONTROL, "mail", "cuts"),
        "the watched frame comes once; the GPU neither babbles nor corrupts frames",
    ),
    NodeClaim(
        "passing.data",
        "a data frame that passes by leaves as it came, but for its TTL, the wrapped flag and its crossings",
        "passing",
        6,
        ("control", "mail", "writes", "faults", "cuts"),
        "the watched frame comes once, and is no result or refusal",
    ),
    NodeClaim(
        "credit",
        "no data frame begins without a credit, no credit is given without a frame that was taken",
        "credit",
        9,
        ("control", "mail", "writes", "faults", "cuts"),
    ),
    NodeClaim(
        "bubble",
        "a data frame enters the ring with two credits",
        "bubble",
        11,
        ("control", "mail", "faults", "cuts"),
        "data frames come from the CPU and another card only",
    ),
    NodeClaim(
        "allowance",
        "no more control frames of the GPU's own leave in a period than its allowance",
        "allowance",
        8,
        ("data", "control", "cuts"),
        "the allowance is 0 or 1 from before the GPU says anything, the period as after reset",
    ),
)


def chosen(names: Sequence[str]) -> tuple[NodeClaim, ...]:
    """The claims of these names, or of these groups (`ttl`: both of them); all without names. Raises BuildError."""
    for name in names:
        if not any(claim.name == name or claim.name.startswith(f"{name}.") for claim in CLAIMS):
            raise BuildError(f"no proof {name!r}; there are {', '.join(claim.name for claim in CLAIMS)}")
    wanted = [c for c in CLAIMS if not names or any(c.name == n or c.name.startswith(f"{n}.") for n in names)]
    return tuple(wanted)
