"""The root of the exceptions of ours, and how texts are shown on their lines."""


class RinghilError(Exception):
    """What is wrong with something given, or with what it was given to: the text says where, what was found and what is
    allowed, on one line. A defect of ours has another root: its traceback is wanted."""


def printable(text: str) -> str:
    """`text` with everything that could break or hide the line escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
