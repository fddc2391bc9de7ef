"""What a user can put right."""

from ringhil.emulator.errors import RinghilError


class ExploreError(RinghilError, ValueError):
    """A campaign can't be made, or its results can't be kept: where, what was found, what is allowed."""
