"""Campaigns on several machines: Dask workers play, each through a process of its own that was checked before."""

from ringhil.emulator.errors import RinghilError


class ClusterError(RinghilError, ValueError):
    """A cluster can't be used, or nobody is left to play: one line with what was found and what is allowed."""
