"""What the files of a group take and give: bytes, microseconds and priorities, for pages and cycles.

What isn't right is an OSError that says which: EINVAL for what is no number, ERANGE for one that isn't allowed.
"""

import errno
import os
import re
from dataclasses import dataclass
from decimal import Decimal

MAX, DEFAULT = "max", "default"  # no value of its own
MOST_PRIORITY = 255
_MOST = (1 << 32) - 1  # pages, cycles
_KIB = 1024
_SHORTEST, _STEP = 16, 4  # cycles of a slice
_SIZE = re.compile(r"([+-]?[0-9]{1,30})([KMGTPE]?)", re.IGNORECASE | re.ASCII)
_TIME = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,9})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)


def refused(number: int) -> OSError:
    """An error with its usual text."""
    return OSError(number, os.strerror(number))


@dataclass(frozen=True)
class Units:
    """`cycle`: nanoseconds that a cycle stands for; `page`: KiB that a page stands for."""

    cycle: int = 1000
    page: int = 1024

    def bytes_of(self, pages: int) -> int:
        """Bytes."""
        return pages * self.page * _KIB

    def microseconds(self, cycles: int) -> str:
        """As a decimal number."""
        text = f"{Decimal(cycles * self.cycle) / 1000:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def pages(self, text: str) -> int | None:
        """Of bytes, with K, M, G ... behind them, whole pages; None: `max`."""
        if text == MAX:
            return None
        found = _SIZE.fullmatch(text)
        if found is None:
            raise refused(errno.EINVAL)
        letter = found[2].upper()
        size = int(found[1]) << (10 * " KMGTPE".index(letter) if letter else 0)
        return _within(size // (self.page * _KIB), 0, _MOST)

    def cycles(self, text: str) -> int | None:
        """Of microseconds that are whole cycles, as in a file, in fours; None: `default`."""
        if text == DEFAULT:
            return None
        if _TIME.fullmatch(text) is None or Decimal(text) * 1000 % self.cycle:
            raise refused(errno.EINVAL)
        return _within(int(Decimal(text) * 1000) // self.cycle // _STEP * _STEP, _SHORTEST, _MOST)


def priority(text: str) -> int | None:
    """None: `default`."""
    return None if text == DEFAULT else _within(whole(text), 0, MOST_PRIORITY)


def whole(text: str) -> int:
    """A number."""
    if _WHOLE.fullmatch(text) is None:
        raise refused(errno.EINVAL)
    return int(text)


def _within(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise refused(errno.ERANGE)
    return value
