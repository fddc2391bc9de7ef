"""The root of the exceptions of ours."""


class RinghilError(Exception):
    """What is wrong with something given, or with what it was given to: the text says where, what was found and what is
    allowed, on one line. A defect of ours has another root: its traceback is wanted."""
