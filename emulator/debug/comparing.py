"""Two recordings beside one another: the first message or event that isn't the same in both."""

from itertools import zip_longest

from ringhil.emulator.debug.told import Told
from ringhil.emulator.trace.recording import Recording


def first_difference(one: Recording, other: Recording) -> tuple[Told | None, Told | None] | None:
    """What each has there, None: it has no more; None: they are the same. Hashes that agree say that all before them
    does, so only what comes after the last of these is read."""
    first = 1
    for here, there in zip(one.states(), other.states(), strict=False):
        if here != there:
            break
        first = here.number + 1
    for pair in zip_longest(one.all(first), other.all(first)):
        if pair[0] != pair[1]:
            return pair
    return None
