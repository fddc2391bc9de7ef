"""Arguments of the kit, checked where they are given: a line that says what was found and what is allowed."""

from collections.abc import Iterable
from typing import TypeVar

from ringhil.emulator.documents import shown
from ringhil.emulator.errors import RinghilError
from ringhil.protocol.wire import FLIT_BYTES

_T = TypeVar("_T")


class KitError(RinghilError, ValueError):
    """An argument, or a value of a pin, that the kit doesn't take; the message says which, and what is allowed."""


class Parts(dict[str, _T]):
    """Parts of a bench by name, there once it has been started."""

    def __init__(self, what: str, parts: dict[str, _T] | None = None) -> None:
        super().__init__(parts or {})
        self._what = what

    def __missing__(self, name: object) -> _T:
        if not self:
            raise KitError(f"{self._what} {shown(name)}: there is none yet; `await bench.start()` first")
        raise KitError(f"{self._what}: found {shown(name)}; allowed are {', '.join(self)}")


def one_of(what: str, value: object, allowed: Iterable[str]) -> str:
    """The value, one of these names. Raises KitError."""
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        raise KitError(f"{what}: found {shown(value)}; allowed are {', '.join(map(str, names))}")
    return value


def within(what: str, value: object, low: int, high: int) -> int:
    """The value, a whole number from `low` to `high`. Raises KitError."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise KitError(f"{what}: found {shown(value)}; allowed are whole numbers from {low} to {high}")
    return value


def flits(what: str, data: object) -> bytes:
    """The data, whole flits and at least one. Raises KitError."""
    if not isinstance(data, bytes) or not data or len(data) % FLIT_BYTES:
        found = f"{len(data)} bytes" if isinstance(data, bytes) else shown(data)
        raise KitError(f"{what}: found {found}; allowed are whole flits, {FLIT_BYTES} bytes each, at least one")
    return data
