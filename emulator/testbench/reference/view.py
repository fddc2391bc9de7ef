"""A node as its reference model sees it: straps, registers, what is out of order."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ringhil.protocol import registers

_RESET = {r.name: r.reset for r in registers.REGISTERS if r.access == "rw"}


@dataclass(frozen=True)
class NodeView:
    """`settings`: registers that differ from their reset value. `down`: links that the node doesn't use. `bypassed`:
    the GPU takes no part. `faults`: those of the GPU that change what it does to frames. `contexts`: those that its
    compute engine has, 0: commands are of an unknown kind there."""

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
