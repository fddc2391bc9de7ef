"""A scenario that fails, made small: fewer faults, fewer GPUs, simpler times; and a test that fails by itself."""

from ringhil.emulator.campaign.minimise.failure import fails_in
from ringhil.emulator.campaign.minimise.reproduction import Reproduction, write_reproduction
from ringhil.emulator.campaign.minimise.search import Fails, Progress
from ringhil.emulator.campaign.minimise.shrink import Shrunk, shrink

__all__ = [
    "Fails",
    "Progress",
    "Reproduction",
    "Shrunk",
    "fails_in",
    "shrink",
    "write_reproduction",
]
