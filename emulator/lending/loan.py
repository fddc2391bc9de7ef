"""A loan: which GPUs a guest has, how far they are on their way, and by which steps they go on (V4, V5, V7).

| state | what is true | next step |
|---|---|---|
| `draining` | chosen; the server gives it no new work, and takes it out of the ring | `drain`, `bind` |
| `bound` | the driver for guests has it | `attach` |
| `in_guest` | the guest has it; once released, until it is unplugged and reset | `detach`, `reset` |
| `reset` | out of the guest, and as after power-up, but for its memory | `scrub` |
| `scrubbed` | its memory is zero | `unbind`, `restore` |
| `free` | the server's again: the loan is over | |

A loan that is released before the guest was to get anything goes from `draining` straight to `unbind`.
"""

from dataclasses import dataclass
from enum import StrEnum


class LoanState(StrEnum):
    """Of the GPUs of a loan."""

    DRAINING = "draining"
    BOUND = "bound"
    IN_GUEST = "in_guest"
    RESET = "reset"
    SCRUBBED = "scrubbed"
    FREE = "free"


class LoanStep(StrEnum):
    """In the order in which they are taken. `drain` and `restore` are the server's, the others the attachment's."""

    DRAIN = "drain"
    BIND = "bind"
    ATTACH = "attach"
    DETACH = "detach"
    RESET = "reset"
    SCRUB = "scrub"
    UNBIND = "unbind"
    RESTORE = "restore"


_AFTER = {
    None: LoanState.DRAINING,
    LoanStep.DRAIN: LoanState.DRAINING,
    LoanStep.BIND: LoanState.BOUND,
    LoanStep.ATTACH: LoanState.IN_GUEST,
    LoanStep.DETACH: LoanState.IN_GUEST,
    LoanStep.RESET: LoanState.RESET,
    LoanStep.SCRUB: LoanState.SCRUBBED,
    LoanStep.UNBIND: LoanState.SCRUBBED,
    LoanStep.RESTORE: LoanState.FREE,
}
_ORDER = tuple(LoanStep)


@dataclass(slots=True)
class GpuLoan:
    """One row of the journal. Times are cycles of the loans' own clock, which goes on over restarts; None: not yet.

    `size`: bytes of GPU memory that the work needs. `mapping`: name of the GPUs it was asked from, "": any. `told`:
    time of the request by the guest's clock, as it said. `done`: the last step that was done; `step`: one that has
    begun. `released`: it is on its way back, for `reason`. `look_at`: when to look next whether its GPUs are idle;
    `grace`: that will be the second look; `seen`: what their meters had counted at the first. `busy0`, `energy0`: what
    they had counted when the guest got them; `busy`, `energy`: since then, as far as written. `error`: why the step
    that has begun doesn't end."""

    id: int
    node: str
    kind: str
    size: int
    gpus: tuple[str, ...]
    requested: int
    mapping: str = ""
    told: float | None = None
    done: LoanStep | None = None
    step: LoanStep | None = None
    released: bool = False
    reason: str = ""
    bound: int | None = None
    attached: int | None = None
    ended: int | None = None
    look_at: int | None = None
    grace: bool = False
    seen: int = 0
    busy0: int = 0
    energy0: float = 0.0
    busy: int = 0
    energy: float = 0.0
    error: str = ""

    @property
    def state(self) -> LoanState:
        """Follows from the last step that was done."""
        return _AFTER[self.done]

    @property
    def open(self) -> bool:
        """Its GPUs are not the server's."""
        return self.done is not LoanStep.RESTORE

    @property
    def stands(self) -> tuple[LoanStep, ...]:
        """Steps that must stand for it to go on: after a restart they are seen to again."""
        if self.done is LoanStep.DRAIN and not self.released:
            return (LoanStep.DRAIN,)
        if self.state in (LoanState.BOUND, LoanState.IN_GUEST, LoanState.RESET):
            return (LoanStep.DRAIN, LoanStep.BIND)
        return ()

    def next_step(self) -> LoanStep | None:
        """None: it is where it is to be."""
        place = -1 if self.done is None else _ORDER.index(self.done)
        if not self.released:
            return _ORDER[place + 1] if place < _ORDER.index(LoanStep.ATTACH) else None
        if place < _ORDER.index(LoanStep.BIND):
            return LoanStep.UNBIND  # binding may have begun
        if place < _ORDER.index(LoanStep.DETACH):
            return LoanStep.DETACH  # attaching may have begun
        return _ORDER[place + 1] if self.open else None
