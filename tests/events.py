"""The reference of events in docs/reference/events.md: every type with its fields, from the classes themselves.

Types are all dataclasses of the modules in which they are defined: none has to be named here.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from ringhil.emulator.events import firmware, hardware, server
from ringhil.emulator.events.recorded import IN_RECORDINGS
from ringhil.emulator.judge.contexts import context_events
from ringhil.emulator.judge.elections import seat_events
from ringhil.emulator.judge.work import cpu_events
from ringhil.firmware import observations

OF_STREAM = (hardware, firmware, server)
OF_JUDGE = (seat_events, cpu_events, context_events)


def types_of(module: ModuleType) -> list[type[Any]]:
    """The types that a module defines, in its order; none that others only inherit from."""
    found = [each for each in vars(module).values() if inspect.isclass(each) and is_dataclass(each)]
    own = [each for each in found if each.__module__ == module.__name__]
    return [each for each in own if not any(issubclass(other, each) and other is not each for other in own)]


def every_type() -> list[type[Any]]:
    """All that a run tells."""
    return [kind for module in OF_STREAM for kind in types_of(module)]


def derived() -> list[type[Any]]:
    """All that the judge derives from these."""
    return [kind for module in OF_JUDGE for kind in types_of(module)]


def described(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of each field. Raises ValueError for one that doesn't say what it is."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        hint = hints[field.name]
        if get_origin(hint) is not Annotated or not isinstance(hint.__metadata__[0], str):
            raise ValueError(f"{kind.__name__}.{field.name} doesn't say what it is: Annotated[TYPE, 'meaning']")
        shown = get_args(hint)[0]
        if isinstance(shown, TypeVar):  # of a class that says in its base what it is
            (shown,) = get_args(kind.__orig_bases__[0])
        yield field.name, _shown(shown), hint.__metadata__[0]


def _shown(hint: Any) -> str:
    """As it stands in the class, without modules."""
    text = hint.__name__ if inspect.isclass(hint) and not get_args(hint) else str(hint)
    return re.sub(r"\b\w+(?:\.\w+)*\.(?=\w)", "", text)


def _block(kind: type[Any], last: str) -> Iterator[str]:
    assert kind.__doc__
    where = f"From `{kind.__module__}`."
    yield from (f"### `{kind.__name__}`", "", f"{' '.join(kind.__doc__.split())} {last} {where}", "")
    yield from ("| field | type | what it is |", "|---|---|---|")
    for name, shown, text in described(kind):
        yield f"| `{name}` | `{shown.replace('|', chr(92) + '|')}` | {text} |"
    yield ""


def _of_stream() -> list[str]:
    told = ((kind, f"Told by: {kind.TOLD_BY}. In a recording: {IN_RECORDINGS[kind]}.") for kind in every_type())
    return [line for kind, last in told for line in _block(kind, last)]


def _of_judge() -> list[str]:
    return [line for kind in derived() for line in _block(kind, "In a recording: nothing.")]


def _of_firmware() -> list[str]:
    kinds = types_of(observations)
    return [line for kind in kinds for line in _block(kind, f"In a recording: `{kind.__name__}`.")]


TABLES = (
    ("emulator/events/", _of_stream),
    ("firmware/observations.py", _of_firmware),
    ("the translators of emulator/judge/", _of_judge),
)
