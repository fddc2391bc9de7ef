"""Which circumstances a check brings about: each frame that arrived, by the state of the switch and the faults."""

from bisect import bisect_right

from ringhil.emulator.coverage.cross import Ignore
from ringhil.emulator.coverage.functional import FunctionalCoverage
from ringhil.emulator.coverage.model import NO_FAULT, forwarding
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Fault, Stimulus
from ringhil.protocol import registers

_BIT = {name: 1 << place for name, place in registers.STATUS_BITS.items()}
_OUT = _BIT["bypass_cw"] | _BIT["bypass_ccw"]
_WAYS = {"p1": "cw", "p2": "ccw", "host": "host", "boundary": "boundary"}

IGNORED = (
    Ignore(
        {"switch": ("bypass", "restoring"), "fault": ("switch_stuck_through",)},
        "a switch that is stuck in THROUGH doesn't bypass",
    ),
    Ignore(
        {"switch": ("through",), "fault": ("dead", "hang", "switch_stuck_bypass")},
        "the GPU is out of the ring but for the cycles in which the switch finds out",
    ),
    Ignore(
        {"switch": ("restoring",), "fault": ("dead", "hang", "switch_stuck_bypass")},
        "it isn't well yet",
    ),
    Ignore(
        {"switch": ("stuck",), "fault": ("dead", "hang", "corrupt", "skip_count", "double_count", "babble")},
        "two faults at once: counted as the one that sticks",
    ),
    Ignore(
        {"switch": ("stuck",), "fault": (NO_FAULT, "duplicate_id", "slow", "keepalive_loss")},
        "a switch sticks by its own fault only",
    ),
)


def collector() -> FunctionalCoverage:
    """Empty, with the cross `forwarding`."""
    return FunctionalCoverage([forwarding(IGNORED)])


def sample(coverage: FunctionalCoverage, stimulus: Stimulus, observed: Observed) -> None:
    """Count every frame of a known kind that arrived whole."""
    changes = [(a.at, a.name, a.on) for a in stimulus.actions if isinstance(a, Fault)]
    cycles = [cycle for cycle, _ in observed.status]
    for link, frames in observed.arrived.items():
        for frame in frames:
            if frame.kind == "unknown" or not (frame.sof and frame.eof):
                continue
            place = bisect_right(cycles, frame.began)
            switch = _switch(observed.status[place - 1][1] if place else 0)
            fault = _fault(changes, frame.began, switch)
            wanted = {"switch": switch, "kind": frame.kind, "way": _WAYS[link], "fault": fault}
            if not any(all(wanted[axis] in bins for axis, bins in i.when.items()) for i in IGNORED):
                coverage.sample("forwarding", **wanted)


def _switch(status: int) -> str:
    if status & _BIT["stuck"]:
        return "stuck"
    if not status & _OUT:
        return "through"
    well = status & _BIT["healthy"] and not status & (_BIT["tripped"] | _BIT["muted"])
    return "restoring" if well and status & _BIT["restoring"] else "bypass"


def _fault(changes: list[tuple[int, str, bool]], cycle: int, switch: str) -> str:
    """The fault that is on; of several the one that decides about the switch, otherwise the latest."""
    on: dict[str, int] = {}
    for at, name, active in changes:
        if at <= cycle:
            on.pop(name, None)
            if active:
                on[name] = at
    sticking = [name for name in on if name.startswith("switch_stuck")]
    if switch == "stuck" and sticking:
        return sticking[-1]
    return max(on, key=lambda name: on[name]) if on else NO_FAULT
