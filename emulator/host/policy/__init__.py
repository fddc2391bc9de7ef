"""Which unit goes to which GPU, by exchangeable rules."""

from ringhil.emulator.host.policy.policy import Policy
from ringhil.emulator.host.policy.proportional import Proportional

__all__ = ["Policy", "Proportional"]
