"""What a CPU is told when it is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CpuConfig:
    """`silence`: a card that has not reported for so long is unreachable. `patience`: what a unit may take beyond
    its way there and its computation. `window`: units outstanding per GPU. `across`: percent of the units that
    enter by another card. `ways`: for (card, target card) the GPUs of `card` whose links lead there. `policy`: one
    of `policy.POLICIES`. Times in cycles."""

    silence: int
    patience: int
    window: int
    compute_setup: int
    compute_per_flit: int
    across: int = 0
    ways: Mapping[tuple[int, int], frozenset[int]] = field(default_factory=dict)
    policy: str = "proportional"
