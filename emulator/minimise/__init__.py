"""A scenario that fails, made small: fewer faults, fewer GPUs, simpler times; and a test that fails by itself."""

from ringhil.emulator.minimise.failure import fails_in
from ringhil.emulator.minimise.reproduction import Reproduction, write_reproduction
from ringhil.emulator.minimise.search import Fails, Progress
from ringhil.emulator.minimise.shrink import Shrunk, shrink

__all__ = [
    "Fails",
    "Progress",
    "Reproduction",
    "Shrunk",
    "fails_in",
    "shrink",
    "write_reproduction",
]
