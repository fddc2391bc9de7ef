"""Units of work on their way, and their results."""
