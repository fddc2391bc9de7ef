"""What a user can put right about a cluster."""


class ClusterError(ValueError):
    """A cluster can't be used, or nobody is left to play: one line with what was found and what is allowed."""
