"""This process has been asked to end: what somebody else's code raises besides says nothing of that."""


class Terminated(SystemExit):
    """By a signal: whatever code was running then is not to blame."""


# What passes through, wherever somebody else's code is called; all else that it raises is its own mistake, also what
# would end a process without a word (SystemExit) or belongs to other loops (GeneratorExit, CancelledError).
ASKED_TO_END = (Terminated, KeyboardInterrupt)
