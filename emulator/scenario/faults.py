"""The faults that a timeline can set and clear: one line each.

A fault enters `FAULTS` when the emulator can inject it; until then its name stands in `PLANNED`, so that
a file that uses it gets an honest answer.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Fault:
    """`target`: the key of an event that says what is hit. `counted`: may be limited to some frames."""

    target: Literal["gpu", "link"]
    effect: str
    counted: bool = False


FAULTS: dict[str, Fault] = {
    "dead": Fault("gpu", "the GPU reports itself not working"),
    "hang": Fault("gpu", "the GPU takes frames in and lets none out, without saying so"),
    "corrupt": Fault("gpu", "the GPU damages control frames on their way through, and its own results"),
    "skip_count": Fault("gpu", "the GPU passes statistics frames on uncounted"),
    "double_count": Fault("gpu", "the GPU counts itself in twice"),
    "babble": Fault("gpu", "the GPU sends frames without end"),
    "link_cut": Fault("link", "the ring link carries nothing, either way"),
}

PLANNED = frozenset(
    {
        "boundary_link_cut",
        "duplicate_id",
        "flap",
        "host_link_cut",
        "keepalive_loss",
        "link_bit_errors",
        "link_delay",
        "link_one_way",
        "slow",
        "switch_stuck_bypass",
        "switch_stuck_through",
    }
)
