"""This process has been asked to end."""


class Terminated(SystemExit):
    """By a signal: whatever code was running then is not to blame."""
