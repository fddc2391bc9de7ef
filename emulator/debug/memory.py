"""What firmware has in its memory, as JSON has it, and one value of it that is watched."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from types import FunctionType, MethodType
from typing import Any

from ringhil.emulator.debug.processes import DebugError
from ringhil.firmware.program import Firmware
from ringhil.protocol.registers import ADDRESS

_DEEPEST = 8
_SHOWN = 50  # letters of a name, and names, in an error
_INDEX = re.compile(r"\[(\d{1,9})\]")
NOTHING = object()
_REGISTER = f"found register {{!r}}; there are {', '.join(ADDRESS)}"


class WatchedMemory:
    """A value by its name, as `state` shows it: `census.last.count`; of firmware in C `state.boot.gpu`, `table[3]`.

    It is looked at when time goes on: firmware changes it in no other cycle than one in which it hears something.
    Raises DebugError for a name that is not there."""

    def __init__(self, name: str, running: Callable[[], Firmware | None], now: Callable[[], int]) -> None:
        self._parts = tuple(filter(None, _INDEX.sub(r".\1", name).split(".")))
        if self._parts[:1] == ("variables",):
            self._parts = self._parts[1:]
        self._running, self._now = running, now
        self.changed = list[tuple[int, Any]]()  # cycle, and what it is since then; None: there is no firmware
        firmware = running()
        if firmware is None:
            raise DebugError(
                f"found register {name[:_SHOWN]!r}; there are {', '.join(ADDRESS)}, and firmware that has failed"
            )
        self._value, found = NOTHING, _values(firmware)
        self._value, has = _inside(found, self._parts)
        if self._value is NOTHING:
            raise DebugError(_not_there(name, found, has))
        self._since, self._before = now(), self._heard(firmware)

    @staticmethod
    def _heard(firmware: Firmware | None) -> tuple[Firmware | None, object]:
        """What is another whenever firmware that counts it has heard something; none in Python counts it."""
        return firmware, getattr(firmware, "heard", object())

    def look(self, _: object = None) -> None:
        """Whether it has changed since the last look."""
        firmware, since, self._since = self._running(), self._since, self._now()
        before, self._before = self._before, self._heard(firmware)
        if before == self._before:
            return
        value = None if firmware is None else _inside(_values(firmware), self._parts)[0]
        value = None if value is NOTHING else value
        if value != self._value:
            self._value = value
            self.changed.append((since, value))


def _values(firmware: Firmware) -> Mapping[str, Any]:
    """Its variables, where these are known, else its attributes as they are."""
    tell = getattr(firmware, "variables", None)
    found: Mapping[str, Any] | None = tell() if callable(tell) else None
    if found is not None:
        return found
    return {name.lstrip("_"): each for name, each in getattr(firmware, "__dict__", {}).items()}


def inside(value: Any, parts: Sequence[str]) -> Any:
    """The value of that name in another, as JSON has it; NOTHING: there is none."""
    return _inside(value, tuple(parts))[0]


def _inside(value: Any, parts: tuple[str, ...]) -> tuple[Any, Any]:
    """The value of that name, and the last one on the way there. Names of variables may have dots."""
    if not parts:
        return plain(value), value
    value = value if isinstance(value, Mapping | list) else plain(value)
    if isinstance(value, list):
        place = int(parts[0]) if parts[0].isdecimal() else len(value)
        return _inside(value[place], parts[1:]) if place < len(value) else (NOTHING, value)
    if isinstance(value, Mapping):
        for number in range(len(parts), 0, -1):
            name = ".".join(parts[:number])
            if name in value:
                return _inside(value[name], parts[number:])
    return NOTHING, value


def _not_there(name: str, values: Mapping[str, Any], has: Any) -> str:
    name, names = name[:_SHOWN], ", ".join([*has][:_SHOWN]) if isinstance(has, Mapping) else ""
    if has is values:
        return f"{_REGISTER.format(name)}; in the memory of its firmware are {names or 'no names that are known'}"
    there = f"are elements 0 to {len(has) - 1}" if isinstance(has, list) else f"is {names or 'no name in it'}"
    return f"found {name!r}; there {there}"


def plain(value: object, depth: int = 0) -> Any:
    """Whatever it is, as JSON has it: objects by their attributes, without those that are functions."""
    if value is None or type(value) in (int, bool, str, float):
        return value
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if depth == _DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain(each, depth + 1) for each in ordered]
    if is_dataclass(value):  # one that is being made has not all yet
        named = [each.name for each in fields(value) if hasattr(value, each.name)]
        return {name: plain(getattr(value, name), depth + 1) for name in named}
    found = {name.lstrip("_"): each for name, each in getattr(value, "__dict__", {}).items()}
    return {n: plain(each, depth + 1) for n, each in found.items() if not isinstance(each, FunctionType | MethodType)}
