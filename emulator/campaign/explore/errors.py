"""What a user can put right."""


class ExploreError(ValueError):
    """A campaign can't be made, or its results can't be kept: where, what was found, what is allowed."""
