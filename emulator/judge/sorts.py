"""Failures of one sort: what they say is the same, but for names, numbers and times.

Two cases that fail by the same invariant, about the same kind of subject, with the same kind of message, show the same
mistake more often than not.
"""

import re

_LINK = re.compile(r"\b[A-Za-z][\w-]*\.\d+-[A-Za-z][\w-]*\.\d+\b")
_GPU = re.compile(r"\b[A-Za-z][\w-]*\.\d+\b")
_CARDS = re.compile(r"\b(card|cards|CPU -) [A-Za-z][\w-]*(?: and [A-Za-z][\w-]*)?")
_LIST = re.compile(r"\[[^\]]*\]|\([^)]*\)")
_NUMBER = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{16}\b|\d+(?:,\d{3})*")


def sort_of(kind: str, text: str) -> str:
    """The sort of a failure: `kind` (an invariant, or what else has failed) and the first thing that `text` says."""
    said = text.split(";")[0]
    for pattern, word in ((_LINK, "LINK"), (_GPU, "GPU"), (_CARDS, r"\1"), (_LIST, "[]"), (_NUMBER, "N")):
        said = pattern.sub(word, said)
    return f"{kind}: {' '.join(said.split())}"
