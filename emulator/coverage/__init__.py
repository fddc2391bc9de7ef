"""What a testbench has exercised: lines and toggles of the RTL, and crosses of what the tests saw."""

from ringhil.emulator.coverage.cross import Cross, Ignore
from ringhil.emulator.coverage.errors import CoverageError
from ringhil.emulator.coverage.functional import FunctionalCoverage
from ringhil.emulator.coverage.model import forwarding

__all__ = ["CoverageError", "Cross", "FunctionalCoverage", "Ignore", "forwarding"]
