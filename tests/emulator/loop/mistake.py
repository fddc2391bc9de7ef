"""A mistake in the firmware in C."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """In `file` this text is replaced, once; these rules find it, and no other."""

    file: str
    right: str
    wrong: str
    rules: tuple[str, ...]
