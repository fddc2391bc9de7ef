"""What firmware can ask for: frames to send, timers to set, and what it wants known."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Send:
    """Send a frame (wire bytes) by a way out: "cw", "ccw" or "cpu"."""

    port: str
    frame: bytes


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call back with this name after `delay` cycles; a timer of the same name is replaced."""

    name: str
    delay: int


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Forget the timer of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Counted:
    """A census has been accepted (R4).

    `members` are GPU numbers in ring order, None where the message carried no records; `verdict` is "ring"
    (both directions came home), "single" (one did) or "arms" (both were turned round at a cut, which lies
    between `break_after` and `break_before`). `sent_at` is the cycle in which the round began.
    """

    count: int
    members: tuple[int, ...] | None
    verdict: str
    break_after: int | None
    break_before: int | None
    sequence: int
    sent_at: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """A statistics frame, or a round ("disagree", "mixed", "half", "lost"), was rejected, and why."""

    reason: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Suspected:
    """These GPUs may have spoiled the rejected messages; one only when it is certain."""

    gpus: tuple[int, ...]


Action = Send | SetTimer | CancelTimer | Counted | Rejected | Suspected
