"""A node as its reference model sees it: straps, registers, what is out of order, which commands it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringhil.protocol import registers, wire
from ringhil.protocol.frames import Work
from ringhil.protocol.wire import AckStatus, Compute

_RESET = {r.name: r.reset for r in registers.REGISTERS if r.access == "rw"}


@dataclass(frozen=True)
class NodeView:
    """What the reference model knows of a node.

    `settings`: registers that differ from their reset value. `down`: links that the node doesn't use. `bypassed`:
    the GPU takes no part. `faults`: those of the GPU that change what it does to frames. `contexts`: those that its
    compute engine has, 0: commands are of an unknown kind there.
    """

    card: int = 0
    node: int = 1
    size: int = 4
    settings: Mapping[str, int] = field(default_factory=dict)
    down: frozenset[str] = frozenset()
    bypassed: bool = False
    faults: frozenset[str] = frozenset()
    contexts: int = 0

    def register(self, name: str) -> int:
        """A setting as it stands."""
        return self.settings.get(name, _RESET[name])

    def control(self, bit: str) -> bool:
        """A bit of `control`."""
        return bool(self.register("control") & registers.ControlBit.codes()[bit])

    @property
    def number(self) -> int:
        """The number that the GPU takes for its own."""
        return (self.node - 1) % self.size if "duplicate_id" in self.faults else self.node

    @property
    def longest(self) -> int:
        """The largest TTL that leaves (hops)."""
        return self.size + 1


COMMANDS = tuple(sorted(kind.code for kind in Compute if kind != Compute.DIGEST))
_HEAD = wire.COMMAND_FLITS * wire.FLIT_BYTES


def unreached(contexts: int, work: Work, data: bytes) -> frozenset[AckStatus]:
    """Reasons for which a node with so many contexts (0: none) refuses a unit with these bytes; empty if it doesn't.

    Only context 0 is there: what commands do that reach a context is none of this model.
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
