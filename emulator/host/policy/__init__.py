"""Which unit goes to which GPU, by exchangeable rules."""

from collections.abc import Callable, Mapping, Sequence

from ringhil.emulator.host.card import CardView
from ringhil.emulator.host.policy.policy import Policy
from ringhil.emulator.host.policy.proportional import Proportional
from ringhil.emulator.host.policy.round_robin import RoundRobin

# By the name that a scenario file uses (`settings.policy`).
POLICIES: Mapping[str, Callable[[Sequence[CardView]], Policy]] = {
    "proportional": Proportional,
    "round_robin": RoundRobin,
}

__all__ = ["POLICIES", "Policy", "Proportional", "RoundRobin"]
