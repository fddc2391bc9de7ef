"""Times of day as other programs write them. No clock is looked at."""

import re

import numpy as np

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.[0-9]{1,9})?"
    r"(?:(Z)|([+-])([0-9]{2}):?([0-9]{2}))?"
)


def seconds_of(text: str) -> tuple[int, bool]:
    """Whole seconds from 1970 on of `2024-05-01T12:00:00+02:00`, and whether it says its zone: it is UTC's otherwise.
    Raises ValueError."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    ahead = 0
    if found[4]:
        ahead = (int(found[5]) * 60 + int(found[6])) * (-60 if found[4] == "-" else 60)
    whole = int(np.datetime64(f"{found[1]}T{found[2]}", "s").astype(np.int64))
    return whole - ahead, bool(found[3] or found[4])
