"""How cards, GPUs and links are written, and how such a name is taken apart."""

import re

_CARD = r"[A-Za-z][A-Za-z0-9_-]*"
_INDEX = r"(?:0|[1-9][0-9]{0,8})"

CARD = f"^{_CARD}$"
OWN_NAME = f"^(?:{_CARD})$"
GPU = rf"^{_CARD}\.{_INDEX}$"
CARD_OR_GPU = rf"^{_CARD}(?:\.{_INDEX})?$"
LINK = rf"^{_CARD}\.{_INDEX}-{_CARD}\.{_INDEX}$"
INDEX_OR_DEFAULT = f"^(?:default|{_INDEX})$"
INDEX = f"^(?:{_INDEX})$"
LISTED = r"^(?:[A-Za-z0-9][A-Za-z0-9_.:/+-]{0,252})$"  # of servers and tasks, as other programs name them
GROUP_PATH = f"^{_CARD}(?:/{_CARD})*$"
PARAMETER = r"^[A-Za-z_][A-Za-z0-9_]{0,39}$"
SWEPT_TEXT = r"^[^,\x00-\x1f\x7f-\x9f\u2028\u2029]{1,100}$"
ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$"

IN_WORDS = {
    CARD: "a card name (a letter, then letters, digits, '-' or '_')",
    OWN_NAME: "a name (a letter, then letters, digits, '-' or '_')",
    LISTED: "a name (a letter or digit, then letters, digits or '_.:/+-', at most 253)",
    GPU: "a GPU name, card and index, such as a.3",
    CARD_OR_GPU: "a card or a GPU, such as a or a.3",
    LINK: "a link, the two GPUs at its ends, such as a.5-a.6",
    INDEX_OR_DEFAULT: "'default' or the index of a GPU",
    INDEX: "the index of a GPU",
    GROUP_PATH: "the names of groups from the outermost on, such as team/first",
    ONE_LINE: "one line of text",
    PARAMETER: "a parameter name (a letter or '_', then letters, digits or '_', at most 40)",
    SWEPT_TEXT: "one line of text without commas, at most 100 characters",
}

IS_PARAMETER = re.compile(PARAMETER)
SWEPT = re.compile(SWEPT_TEXT)

_GPU_PARTS = re.compile(rf"({_CARD})\.({_INDEX})")
_LINK_PARTS = re.compile(rf"({_CARD}\.{_INDEX})-({_CARD}\.{_INDEX})")


def split_gpu(text: str) -> tuple[str, int]:
    """`a.3` as ("a", 3). Raises ValueError when it is no name of a GPU."""
    found = _GPU_PARTS.fullmatch(text)
    if found is None:
        raise ValueError(f"found {text!r}; allowed is {IN_WORDS[GPU]}")
    return found[1], int(found[2])


def split_link(text: str) -> tuple[str, str]:
    """`a.5-a.6` as ("a.5", "a.6"). A card name has no dots, so one split fits. Raises ValueError when it is no link."""
    found = _LINK_PARTS.fullmatch(text)
    if found is None:
        raise ValueError(f"found {text!r}; allowed is {IN_WORDS[LINK]}")
    return found[1], found[2]
