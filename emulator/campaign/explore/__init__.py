"""Fault campaigns: every fault at every place and phase, pairs, random schedules, each from one warm state."""

from ringhil.emulator.errors import RinghilError


class ExploreError(RinghilError, ValueError):
    """A campaign can't be made, or its results can't be kept: where, what was found, what is allowed."""
