"""What firmware has in its memory, as JSON has it, and one value of it that is watched."""

import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.server.foreign import ForeignFirmware
from ringhil.firmware.program import Firmware
from ringhil.protocol.registers import ADDRESS

_DEEPEST = 8
_SHOWN = 50  # letters of a name, and names, in an error
_INDEX = re.compile(r"\[(\d{1,9})\]")
_REGISTERS = f"registers are {', '.join(ADDRESS)}"
NOTHING = object()


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
            raise DebugError(f"found {name[:_SHOWN]!r}; no firmware runs there now; {_REGISTERS}")
        self._value, found = NOTHING, _values(firmware)
        self._value, has = _inside(found, self._parts)
        if self._value is NOTHING:
            raise DebugError(_not_there(name, found, has))
        self._since, self._before = now(), self._heard(firmware)

    @staticmethod
    def _heard(firmware: Firmware | None) -> tuple[Firmware | None, object]:
        """What is another whenever firmware that counts it has heard something; none in Python counts it."""
        return firmware, firmware.heard if isinstance(firmware, ForeignFirmware) else object()

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
    found = variables(firmware)
    return _attributes(firmware) if found is None else found


def variables(firmware: Firmware) -> dict[str, Any] | None:
    """Of firmware in C, what debug information says is in its memory; None: nothing says it."""
    return firmware.variables() if isinstance(firmware, ForeignFirmware) else None


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
        there = f"in the memory of its firmware are {names or 'no names that are known'}"
        return f"found {name!r}; {there}; {_REGISTERS}"
    there = f"are elements 0 to {len(has) - 1}" if isinstance(has, list) else f"is {names or 'no name in it'}"
    return f"found {name!r}; there {there}"


def plain(value: object, depth: int = 0) -> Any:
    """Whatever it is, as JSON has it: objects by their attributes, without those that are functions."""
    if value is None or type(value) in (int, bool, str, float):
        return value
    if isinstance(value, str | Enum):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, type | ModuleType):
        return value.__name__
    if depth == _DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, Set):
        return [plain(each, depth + 1) for each in sorted(value, key=repr)]
    if isinstance(value, Sequence) and not isinstance(value, range | memoryview):
        return [plain(each, depth + 1) for each in value]
    found = _attributes(value)
    if not found and not callable(value) and type(value).__repr__ is not object.__repr__:
        with suppress(Exception):  # of one that is being made, which has nothing yet to show
            return repr(value)  # a fraction, a number of somebody's own
    return {name: plain(each, depth + 1) for name, each in found.items()}


def _attributes(value: object) -> dict[str, Any]:
    """What an object has of its own, without functions: the fields that a dataclass tells, by their names, and
    whatever else was put into it. One that is being made has not all yet."""
    told = [each.name for each in fields(value)] if is_dataclass(value) else []
    slots = [
        name
        for each in reversed(type(value).__mro__)
        for name, what in vars(each).items()
        if isinstance(what, MemberDescriptorType) and not name.startswith("__")
    ]
    own = getattr(value, "__dict__", {})
    values = {name: getattr(value, name) for name in (*told, *slots) if hasattr(value, name)} | own
    bare = {name: name if name in told or name.lstrip("_") in ("", *values) else name.lstrip("_") for name in values}
    return {bare[name]: each for name, each in values.items() if not isinstance(each, FunctionType | MethodType)}
