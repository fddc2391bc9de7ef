"""Which circumstances a check brings about: each frame that arrived, by the state of the switch and the faults."""

from ringhil.emulator.coverage.cross import NO_FAULT, WAYS, Ignore, forwarding
from ringhil.emulator.coverage.functional import FunctionalCoverage
from ringhil.emulator.testbench.player import Observed
from ringhil.emulator.testbench.stimulus import Fault, Stimulus
from ringhil.protocol import registers
from ringhil.protocol.wire import LINKS

_BIT = registers.StatusBit.codes()
_OUT = _BIT["bypass_cw"] | _BIT["bypass_ccw"]
_WAYS: dict[str, str] = dict(zip(LINKS, WAYS, strict=True))
STICKING = ("switch_stuck_through", "switch_stuck_bypass")
_DECIDING = (*STICKING, "dead", "hang", "babble")  # of several faults these are why the switch stands where it does

IGNORED = (
    Ignore(
        {"switch": ("bypass", "restoring"), "fault": ("switch_stuck_through",)},
        "a switch that sticks in THROUGH goes there at the next end of a frame",
    ),
    Ignore(
        {"switch": ("through",), "fault": ("dead", "switch_stuck_bypass")},
        "the switch goes to BYPASS at once, or when the frame of the GPU's own that is leaving has left",
    ),
    Ignore({"switch": ("restoring",), "fault": ("dead",)}, "restoring begins when the GPU is well again"),
    Ignore(
        {"switch": ("stuck",), "fault": ("switch_stuck_through",), "way": ("cw", "ccw")},
        "both ring ports are without carrier then: the neighbours send nothing",
    ),
    Ignore(
        {
            "switch": ("stuck",),
            "fault": tuple(name for name in (NO_FAULT, *registers.FaultBit.codes()) if name not in STICKING),
        },
        "by definition: a switch that sticks counts under the fault that makes it stick",
    ),
)


def collector() -> FunctionalCoverage:
    """Empty, with the cross `forwarding`."""
    return FunctionalCoverage([forwarding(IGNORED)])


def sample(coverage: FunctionalCoverage, stimulus: Stimulus, observed: Observed) -> None:
    """Count every frame of a known kind that arrived whole, but for those in the few cycles in which the switch is on
    its way (a combination that is ignored)."""
    changes = [(a.at, a.name, a.on) for a in stimulus.actions if isinstance(a, Fault)]
    for link, frames in observed.arrived.items():
        for frame in frames:
            if frame.kind == "unknown" or not (frame.sof and frame.eof):
                continue
            fault = _fault(changes, frame.began)
            switch = switch_state(observed.status_at(frame.began), fault)
            wanted = {"switch": switch, "kind": frame.kind, "way": _WAYS[link], "fault": fault}
            if not any(all(wanted[axis] in bins for axis, bins in i.when.items()) for i in IGNORED):
                coverage.sample("forwarding", **wanted)


def switch_state(status: int, fault: str) -> str:
    """through, bypass, restoring or stuck, by the register `status` and the fault that decides. A switch that is late
    only because it waits for the end of a frame counts where it stands."""
    if status & _BIT["stuck"] and fault in STICKING:
        return "stuck"
    if not status & _OUT:
        return "through"
    well = status & _BIT["healthy"] and not status & (_BIT["tripped"] | _BIT["muted"])
    return "restoring" if well and status & _BIT["restoring"] else "bypass"


def _fault(changes: list[tuple[int, str, bool]], cycle: int) -> str:
    """The fault that is on; among several the one that decides about the switch, otherwise the latest."""
    on: dict[str, int] = {}
    for at, name, active in changes:
        if at <= cycle:
            on.pop(name, None)
            if active:
                on[name] = at
    for name in _DECIDING:
        if name in on:
            return name
    return max(on, key=lambda name: on[name]) if on else NO_FAULT
