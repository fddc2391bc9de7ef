"""What is wrong with a coverage file, in one line."""

from ringhil.emulator.errors import RinghilError


class CoverageError(RinghilError, ValueError):
    """The message says where, what was found and what is allowed."""
