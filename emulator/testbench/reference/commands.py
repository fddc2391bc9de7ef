"""Commands that reach no context: why a node refuses them that nobody has had create one.

What commands do that reach one is none of this model.
"""

from ringhil.protocol import wire
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import AckStatus, Compute

COMMANDS = tuple(sorted(kind.code for kind in Compute if kind != Compute.DIGEST))
_HEAD = wire.COMMAND_FLITS * wire.FLIT_BYTES


def unreached(contexts: int, work: Work, data: bytes) -> frozenset[AckStatus]:
    """Reasons for which a node with so many contexts (0: none) refuses a unit with these bytes; empty if it doesn't.

    Only context 0 is there.
    """
    if work.compute == Compute.DIGEST.code:
        return frozenset()
    if contexts == 0 or work.compute not in COMMANDS:
        return frozenset({AckStatus.UNKNOWN_KIND})
    if len(data) < _HEAD or work.length < _HEAD:
        return frozenset({AckStatus.INCOMPLETE})
    creates = work.compute == Compute.CREATE.code
    if work.context >= contexts:
        return frozenset({AckStatus.NO_CONTEXT})
    if work.context != 0:
        return frozenset() if creates else frozenset({AckStatus.NO_CONTEXT})
    if creates:
        return frozenset({AckStatus.EXISTS})
    return frozenset({AckStatus.FOREIGN}) if any(data[:4]) else frozenset()
