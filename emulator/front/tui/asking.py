"""The command line: history, and names completed by Tab."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from ringhil.emulator.debug.causes import WHAT
from ringhil.emulator.debug.commands import MESSAGES, NAMES
from ringhil.emulator.events.recorded import KINDS
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.protocol.registers import ADDRESS

_MOST = 2000  # letters; commands allow no more
_KEPT = 500  # lines of history
_KINDS = (*MESSAGES, *KINDS)


class Completions:
    """What may stand in a line, by its first word."""

    def __init__(self, verbs: Sequence[str], gpus: Sequence[str]) -> None:
        cards = list(dict.fromkeys(gpu.partition(".")[0] for gpu in gpus))
        condition = (*sorted(NAMES), "and", "or", "not", "has", "true", "false", *_KINDS, *WAYS, *gpus)
        self._verbs = tuple(verbs)
        self._of = {
            **dict.fromkeys(("state", "signal", "watch", "set", "send"), (*gpus, *ADDRESS)),
            **dict.fromkeys(("next", "previous"), _KINDS),
            **dict.fromkeys(("until", "back-until", "break"), condition),
            "card": cards,
            "who": sorted(NAMES),
            "why": tuple(WHAT),
        }
        self._condition = condition

    def of(self, before: str, command: bool) -> Sequence[str]:
        """What may come after this."""
        if not command:
            return self._condition
        verb, space, _ = before.lstrip().partition(" ")
        return self._of.get(verb, ()) if space else self._verbs


class CommandLine(Input):
    """`:` and a command, or `/` and what is looked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave"),
        Binding("up", "older"),
        Binding("down", "newer"),
        Binding("tab", "complete"),
    ]

    class Given(Message):
        """A line; None: nothing."""

        def __init__(self, sign: str, line: str | None) -> None:
            super().__init__()
            self.sign, self.line = sign, line

    class Several(Message):
        """Completions that would fit."""

        def __init__(self, names: Sequence[str]) -> None:
            super().__init__()
            self.names = names

    def __init__(self, names: Completions) -> None:
        super().__init__(id="asked", compact=True, max_length=_MOST, select_on_focus=False)
        self.sign, self._names = ":", names
        self._lines: dict[str, list[str]] = {":": [], "/": []}
        self._place = 0

    def begin(self, sign: str, text: str = "") -> None:
        """Ask for a line."""
        self.sign, self.value = sign, text
        self._place = len(self._lines[sign])
        self.cursor_position = len(text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The line is there."""
        event.stop()
        line = self.value.strip()
        lines = self._lines[self.sign]
        if line and lines[-1:] != [line]:
            lines.append(line)
            del lines[:-_KEPT]
        self.post_message(self.Given(self.sign, line or None))

    def action_leave(self) -> None:
        """Nothing is asked."""
        self.post_message(self.Given(self.sign, None))

    def action_older(self) -> None:
        """The line before."""
        self._recall(self._place - 1)

    def action_newer(self) -> None:
        """The line after."""
        self._recall(self._place + 1)

    def _recall(self, place: int) -> None:
        lines = self._lines[self.sign]
        self._place = min(max(0, place), len(lines))
        self.value = lines[self._place] if self._place < len(lines) else ""
        self.cursor_position = len(self.value)

    def action_complete(self) -> None:
        """The name that has been begun, as far as it is clear."""
        before, after = self.value[: self.cursor_position], self.value[self.cursor_position :]
        start = max(before.rfind(" "), before.rfind("(")) + 1
        begun = before[start:]
        fitting = [name for name in self._names.of(before, self.sign == ":") if name.startswith(begun)]
        if not fitting:
            return
        found = _common(fitting) + (" " if len(fitting) == 1 else "")
        self.value = before[:start] + found + after
        self.cursor_position = start + len(found)
        if len(fitting) > 1:
            self.post_message(self.Several(fitting))


def _common(names: Sequence[str]) -> str:
    """What all of them begin with."""
    first, last = min(names), max(names)
    same = next((place for place, letter in enumerate(first) if not last.startswith(letter, place)), len(first))
    return first[:same]
