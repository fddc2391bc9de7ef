"""What is worth counting at a node."""

from ringhil.emulator.coverage.cross import Cross, Ignore
from ringhil.protocol import wire
from ringhil.protocol.registers import FaultBit

SWITCH = ("through", "bypass", "restoring", "stuck")
WAYS = (wire.Port.CW.value, wire.Port.CCW.value, wire.Link.HOST.value, wire.Link.BOUNDARY.value)  # by link of arrival
NO_FAULT = "none"


def forwarding(ignore: tuple[Ignore, ...] = ()) -> Cross:
    """Which kind of frame went which way, in which state of the switch, with which fault of the GPU.

    | axis | bins |
    |---|---|
    | switch | through, bypass, restoring, stuck |
    | kind | the kinds of frames |
    | way | cw, ccw, host, boundary |
    | fault | none, and the bits of a node's fault port |
    """
    return Cross(
        "forwarding",
        {
            "switch": SWITCH,
            "kind": tuple(wire.Kind.codes()),
            "way": WAYS,
            "fault": (NO_FAULT, *FaultBit.codes()),
        },
        ignore,
    )
