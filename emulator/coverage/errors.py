"""What is wrong with a coverage file, in one line."""


class CoverageError(ValueError):
    """The message says where, what was found and what is allowed."""
