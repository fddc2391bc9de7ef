"""What `/` looks for: a condition, or a plain text in what the list shows."""

import re
from collections.abc import Callable

from ringhil.emulator.debug.commands import NAMES, values
from ringhil.emulator.debug.condition import parse
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.debug.told import Told
from ringhil.emulator.front.tui.words import line

_CONDITION = re.compile(r"[=!<>]=|[<>]|\bhas\b")


def wanted(text: str, session: DebugSession) -> Callable[[Told], bool]:
    """Whether it is one of those. What has an operator in it is a condition. Raises ConditionError."""
    if _CONDITION.search(text):
        condition = parse(text, NAMES, values(session.recording.gpus))
        return lambda told: condition(session.fields(told))
    plain, gpus = text.lower(), session.recording.gpus
    return lambda told: plain in line(told, gpus).text.lower()
