"""What a testbench has exercised: lines and toggles of the RTL, and crosses of what the tests saw."""

from ringhil.emulator.coverage.cross import Cross, Ignore, forwarding
from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.coverage.functional import FunctionalCoverage

__all__ = ["CoverageError", "Cross", "FunctionalCoverage", "Ignore", "forwarding"]
