"""A scenario that fails, made small: fewer faults, fewer GPUs, simpler times; and a test that fails by itself."""

from ringhil.emulator.campaign.minimise.failure import CUT_SHORT, fails_in, failures_in
from ringhil.emulator.campaign.minimise.reproduction import Reproduction, write_reproduction
from ringhil.emulator.campaign.minimise.search import Fails, Progress
from ringhil.emulator.campaign.minimise.shrink import Shrunk, shrink, shrink_each

__all__ = [
    "CUT_SHORT",
    "Fails",
    "Progress",
    "Reproduction",
    "Shrunk",
    "fails_in",
    "failures_in",
    "shrink",
    "shrink_each",
    "write_reproduction",
]
