"""Words that print and parse themselves: `Coded`, a word with its number on the wire; `Bits`, named bits of a field.

|               | a `Coded`: `Role.ENTRY`                           | a `Bits`: `Flag.CCW`                        |
|---------------|---------------------------------------------------|---------------------------------------------|
| is            | the text "entry", so JSON and files show the word | the integer 0x0001, one bit                 |
| on the wire   | `Role.ENTRY.code`                                 | the member itself, or several joined by `|` |
| from the wire | `Role.of(1)`                                      | `value & Flag.CCW`                          |
| printed       | `str(Role.ENTRY)` is `entry`                      | `Flag.show(0x0009)` is `ccw|last`           |
| from text     | `Role.parse("entry")`                             | `Flag.parse("ccw|last")` is 0x0009          |

`Bits` are no `IntFlag`: what `&`, `|` and `~` make of them are plain integers, and `~` keeps the bits without a name.
"""

from enum import IntEnum, StrEnum
from typing import Self

_NONE = "none"


class Coded(StrEnum):
    """A word with its number on the wire, `code`, and what it means, `doc`. No two members of a class share word or
    number."""

    code: int
    doc: str

    def __new__(cls, word: str, code: int, doc: str = "") -> Self:
        """`word`: as files and reports show it; `code`: as the wire does; `doc`: for reference pages."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.code, member.doc = code, doc
        return member

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @classmethod
    def codes(cls) -> dict[str, int]:
        """Word -> number, in the order of the definition."""
        return {member.value: member.code for member in cls}

    @classmethod
    def of(cls, code: int) -> Self:
        """The word of a number. Raises ValueError when no word has it."""
        for member in cls:
            if member.code == code:
                return member
        allowed = ", ".join(f"{member.code} ({member})" for member in cls)
        raise ValueError(f"{cls.__name__} {code}: allowed are {allowed}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The member that prints as `text`. Raises ValueError when none does."""
        for member in cls:
            if member == text:
                return member
        raise ValueError(f"{cls.__name__} {text!r}: allowed are {', '.join(cls)}")


class Bits(IntEnum):
    """Named bits of a field, each one bit of its own; a name in a file or report is in small letters. `doc`: what it
    means, for reference pages."""

    doc: str

    def __new__(cls, value: int, doc: str = "") -> Self:
        """`value`: the bit; `doc`: for reference pages."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.doc = doc
        return member

    @property
    def word(self) -> str:
        """The name as files and reports show it."""
        return self.name.lower()

    @classmethod
    def codes(cls) -> dict[str, int]:
        """Word -> value, in the order of the definition."""
        return {member.word: member.value for member in cls}

    @classmethod
    def places(cls) -> dict[str, int]:
        """Word -> number of the bit, from 0, in the order of the definition."""
        return {member.word: member.value.bit_length() - 1 for member in cls}

    @classmethod
    def show(cls, value: int) -> str:
        """The words of the bits that are set, joined by `|`; bits without a name as one number at the end."""
        words = [member.word for member in cls if value & member]
        rest = value & ~sum(cls)
        return "|".join([*words, *([f"0x{rest:X}"] if rest else [])]) or _NONE

    @classmethod
    def parse(cls, text: str) -> int:
        """The value that `show` shows as `text`, of named bits only. Raises ValueError."""
        codes = cls.codes()
        words = [] if text == _NONE else text.split("|")
        if len(set(words)) != len(words) or not codes.keys() >= set(words):
            raise ValueError(f"{cls.__name__} {text!r}: allowed are {_NONE}, or some of {'|'.join(codes)}, each once")
        return sum(codes[word] for word in words)
