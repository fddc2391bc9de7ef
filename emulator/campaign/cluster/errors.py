"""What a user can put right about a cluster."""

from ringhil.emulator.errors import RinghilError


class ClusterError(RinghilError, ValueError):
    """A cluster can't be used, or nobody is left to play: one line with what was found and what is allowed."""
