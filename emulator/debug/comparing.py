"""Two recordings beside one another: the first message or event that isn't the same in both."""

from itertools import zip_longest

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.told import Told
from ringhil.emulator.trace.recording import Recording


def first_difference(one: Recording, other: Recording) -> tuple[Told | None, Told | None] | None:
    """What each has there, None: it has no more; None: they are the same. Raises DebugError when they differ before
    hashes that agree: somebody has changed a row."""
    first = one.unlike(other) if one.gpus == other.gpus else 0
    if first is None:
        return None
    for here, there in zip_longest(one.all(first), other.all(first)):
        if here != there:
            number = min(told.number for told in (here, there) if told is not None)
            _check(one, other, number)
            return here, there
    return None


def _check(one: Recording, other: Recording, number: int) -> None:
    for here, there in zip(one.states(), other.states(), strict=False):
        if here != there:
            return
        if here.number >= number:
            raise DebugError(
                f"{other.path}: number {number} isn't that of {one.path}, though both have the same hash in cycle "
                f"{here.cycle}: one of them was changed"
            )
