"""What can be looked at, as variables: the fields of a message, names of a function, registers, memory, the CPU's view.

Values are made when they are asked for, and forgotten when one moves on.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ringhil.emulator.errors import printable

_MOST = 1000  # that are answered at once
_SHOWN = 200  # letters of a value

Values = Callable[[], Mapping[str, Any] | list[Any]]


class Held(NamedTuple):
    """`shown`: how a value of it is written; `gpu`: whose registers these are, which can be set; empty: they aren't."""

    values: Values
    shown: Callable[[str, Any], str]
    path: str
    gpu: str


def in_words(name: str, value: Any) -> str:
    """One value in a line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key}: {_short(each)}" for key, each in [*value.items()][:4])
        return _cut(f"{{{inside}{', ...' if len(value) > 4 else ''}}}")
    if isinstance(value, list | tuple):
        inside = ", ".join(_short(each) for each in value[:16])
        return _cut(f"[{inside}{', ...' if len(value) > 16 else ''}]")
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false"}.get(value, "none") if value is not None else "none"
    return _cut(str(value))


def _short(value: Any) -> str:
    return "..." if isinstance(value, Mapping | list | tuple) else in_words("", value)


def _cut(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


class ShownVariables:
    """What clients know by number."""

    def __init__(self) -> None:
        self._held = list[Held]()

    def forget(self) -> None:
        """One has moved on."""
        self._held.clear()

    def hold(
        self, values: Values, shown: Callable[[str, Any], str] = in_words, *, path: str = "", gpu: str = ""
    ) -> int:
        """The number by which these can be asked for; from 1 on."""
        self._held.append(Held(values, shown, path, gpu))
        return len(self._held)

    def held(self, reference: int) -> Held | None:
        """What has this number; None: nothing any more."""
        return self._held[reference - 1] if 0 < reference <= len(self._held) else None

    def inside(self, held: Held, start: int, count: int) -> list[dict[str, Any]]:
        """The variables from `start` on, `count` of them; 0: all."""
        values = held.values()
        listed = isinstance(values, list | tuple)
        pairs: Iterable[tuple[str, Any]] = (
            ((f"[{n}]", each) for n, each in enumerate(values)) if listed else dict(values).items()
        )
        end = start + min(count or _MOST, _MOST)
        return [self._variable(held, name, value) for name, value in [*pairs][start:end]]

    def _variable(self, held: Held, name: str, value: Any) -> dict[str, Any]:
        dot = "." if held.path and not name.startswith("[") else ""
        path = f"{held.path}{dot}{name}"
        return {"name": printable(name), "evaluateName": path, **self.value(name, value, held.shown, path)}

    def value(
        self, name: str, value: Any, shown: Callable[[str, Any], str] = in_words, path: str = ""
    ) -> dict[str, Any]:
        """How one value is answered."""
        found: dict[str, Any] = {"value": shown(name, value), "type": type(value).__name__, "variablesReference": 0}
        if isinstance(value, Mapping | list | tuple) and value:
            found["variablesReference"] = self.hold(lambda: value, path=path)  # type: ignore[arg-type,return-value]
            size = "indexedVariables" if not isinstance(value, Mapping) else "namedVariables"
            found[size] = len(value)
        return found
