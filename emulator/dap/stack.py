"""The stack at a place of a run: functions of firmware, the innermost first, and the message that they handle; of each
its scopes, and values by name."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ringhil.emulator.dap.variables import ShownVariables, in_words
from ringhil.emulator.dap.walk import Walk
from ringhil.emulator.dap.wire import Message
from ringhil.emulator.debug.commands import NAMES, shown_register, values
from ringhil.emulator.debug.condition import ConditionError, parse
from ringhil.emulator.debug.items import RecordedItem
from ringhil.emulator.debug.lines import StoppedLine
from ringhil.emulator.debug.memory import NOTHING, inside, plain
from ringhil.emulator.debug.processes import DebugError
from ringhil.emulator.debug.shown import line as line_of
from ringhil.emulator.trace.recording import RecordedMessage

PAGE = 1000  # messages and events of a listing
_OPERATOR = re.compile(r"[=!<>]=|[<>]|\bhas\b|^\s*not\b")
_INDEX = re.compile(r"\[(\d{1,9})\]")


class Stack:
    """Of where `walk` is. Call `forget` when that has moved."""

    def __init__(self, walk: Walk) -> None:
        self._walk, self._variables = walk, ShownVariables()
        self._overlay: tuple[int, str, dict[str, int]] | None = None

    def forget(self) -> None:
        """What was numbered before means nothing any more."""
        self._variables.forget()
        if self._overlay is not None and self._overlay[0] != self._walk.session.number:
            self._overlay = None

    def overlay(self, gpu: str, register: str, value: int) -> None:
        """A register that is set next, and so not yet in what was played."""
        number = self._walk.session.number
        before = self._overlay[2] if self._overlay is not None and self._overlay[:2] == (number, gpu) else {}
        self._overlay = number, gpu, {**before, register: value}

    # ------------------------------------------------------------------------------------------------------- frames

    def frames(self, start: int, levels: int, first: int) -> Message:
        """Those that are asked for; lines and columns count from `first`."""
        every = self._frames(first)
        return {"stackFrames": every[start : start + levels if levels else None], "totalFrames": len(every)}

    def _frames(self, first: int) -> list[Message]:
        found = list[Message]()
        if self._walk.place is not None:
            for each in self._walk.state().stack:
                found.append(_python(each.function, each.file, each.line, first))
        found.append(self._message(first))
        if self._walk.place is None:
            try:
                call = self._walk.call()
            except DebugError:  # the run can't be played; its messages can be read all the same
                call = None
            if call is not None:
                found.append(_python(call.function, call.file, call.line, first))
        return [{"id": number, **each} for number, each in enumerate(found, 1)]

    @property
    def _item(self) -> RecordedItem | None:
        """The message or event that it is at, or that the firmware handles; None: there is none."""
        return self._walk.session.here if self._walk.place is None else self._walk.handling()[1]

    def _message(self, first: int) -> Message:
        session, here = self._walk.session, self._item
        if here is None and self._walk.place is not None:
            call = self._walk.handling()[0]
            name = f"cycle {call.cycle} {call.gpu} {call.method}"
            return {"name": name, "line": 0, "column": 0, "presentationHint": "label"}
        if here is None:
            return {"name": "before the first message", "line": 0, "column": 0, "presentationHint": "label"}
        told = line_of(here, session.recording.gpus)
        name = " ".join(filter(None, (f"{here.number}:", f"cycle {here.cycle}", told.gpu, told.way, told.kind)))
        page, place = divmod(here.number - 1, PAGE)
        source = {"name": _page_name(page), "sourceReference": page + 1, "presentationHint": "normal"}
        return {"name": name, "source": source, "line": place + first, "column": first}

    def listing(self, reference: int) -> str:
        """The messages and events of a page, one a line. Raises DebugError."""
        session = self._walk.session
        start = (reference - 1) * PAGE
        if reference < 1 or start >= session.recording.last_number:
            raise DebugError(f"sourceReference: found {reference}; there is no such page of messages")
        items = session.recording.all(start + 1, start + PAGE)
        rows = (line_of(item, session.recording.gpus) for item in items)
        return "".join(f"{row.cycle:>12}  {row.way:5}  {row.gpu:8}  {row.kind:12}  {row.said}\n" for row in rows)

    def number_in(self, reference: int, line: int) -> int:
        """The message or event in a line of a page. Raises DebugError."""
        number, last = (reference - 1) * PAGE + line, self._walk.session.recording.last_number
        if not (1 <= line <= PAGE and 1 <= number <= last):
            raise DebugError(f"line: found {line}; there is no message")
        return number

    # ------------------------------------------------------------------------------------------- scopes and variables

    def scopes(self, frame: int) -> list[Message]:
        """Of a frame by its number. Raises DebugError."""
        frames = self._frames(1)
        if not 0 < frame <= len(frames):
            raise DebugError(f"frameId: found {frame}; there are 1 to {len(frames)}")
        state = None if self._walk.place is None else self._walk.state()
        hold, found = self._variables.hold, list[Message]()
        if state is not None and frame <= len(state.stack):
            names = state.stack[frame - 1].names
            found.append({"name": "Locals", "presentationHint": "locals", "variablesReference": hold(lambda: names)})
        elif self._item is not None:
            kind = "Message" if isinstance(self._item, RecordedMessage) else "Event"
            found.append({"name": kind, "variablesReference": hold(self._fields)})
        gpu = self._gpu(state)
        if gpu:
            registers = hold(lambda: self._registers(gpu), shown_register, gpu=gpu)
            memory, card = hold(lambda: self._firmware(gpu)), hold(lambda: self._card(gpu))
            found.append(
                {"name": f"Registers of {gpu}", "presentationHint": "registers", "variablesReference": registers}
            )
            found.append({"name": f"Firmware of {gpu}", "variablesReference": memory})
            found.append({"name": f"Card {gpu.partition('.')[0]}, as the CPU sees it", "variablesReference": card})
        return [{**each, "expensive": number > 0} for number, each in enumerate(found)]

    def _gpu(self, state: StoppedLine | None) -> str:
        here = self._walk.session.here
        if state is not None:
            return state.gpu
        return self._walk.session.recording.gpus[here.cell] if here is not None and here.cell is not None else ""

    def _fields(self) -> dict[str, Any]:
        here = self._item
        if here is None:
            return {}
        frame = {"frame": here.frame.hex()} if isinstance(here, RecordedMessage) else {}
        return {**plain(self._walk.session.fields(here)), **frame}

    def _registers(self, gpu: str) -> dict[str, int]:
        if self._walk.place is not None:
            return self._walk.state().registers
        found = self._walk.session.registers(gpu)
        if self._overlay is not None and self._overlay[:2] == (self._walk.session.number, gpu):
            found |= self._overlay[2]
        return found

    def _firmware(self, gpu: str) -> dict[str, Any]:
        found = self._walk.session.firmware(gpu) if self._walk.place is None else self._walk.state().firmware
        return found or {}

    def _card(self, gpu: str) -> dict[str, Any]:
        if self._walk.place is not None:
            return dict(self._walk.state().card)
        return self._walk.session.card(gpu.partition(".")[0])

    def variables(self, reference: int, start: int, count: int) -> list[Message]:
        """Raises DebugError."""
        held = self._variables.held(reference)
        if held is None:
            raise DebugError(f"variablesReference: found {reference}; it means nothing any more, or never has")
        return self._variables.inside(held, start, count)

    def settable(self, reference: int) -> str:
        """The GPU whose registers these are. Raises DebugError."""
        held = self._variables.held(reference)
        if held is None or not held.gpu:
            raise DebugError("only registers can be set: firmware and the CPU are set by what they hear")
        if self._walk.place is not None:
            raise DebugError("registers are set between messages; step out of the firmware first")
        return held.gpu

    # --------------------------------------------------------------------------------------------------------- values

    def evaluate(self, text: str) -> Message:
        """A condition, or a value by its name: of the innermost function, the message, registers, or the firmware's
        memory. Raises DebugError."""
        if _OPERATOR.search(text):
            try:
                condition = parse(text, NAMES, values(self._walk.session.recording.gpus))
            except ConditionError as error:
                raise DebugError(str(error).split("\n")[0]) from None
            here = self._item
            holds = here is not None and condition(self._walk.session.fields(here))
            return {"result": in_words("", holds), "type": "bool", "variablesReference": 0}
        parts = [*filter(None, _INDEX.sub(r".\1", text).split("."))]
        for look, shown in self._places():
            found = inside(look(), parts) if parts else NOTHING
            if found is not NOTHING:
                answer = self._variables.value(parts[0], found, shown, text)
                return {"result": answer.pop("value"), **answer}
        raise DebugError(
            f"found {text[:50]!r}; allowed is a condition, or a name of the message, a register, or in firmware"
        )

    def _places(self) -> list[tuple[Callable[[], Any], Callable[[str, Any], str]]]:
        state = None if self._walk.place is None else self._walk.state()
        found: list[tuple[Callable[[], Any], Callable[[str, Any], str]]] = []
        if state is not None and state.stack:
            names = state.stack[0].names
            about = {"gpu": state.gpu, "cycle": self._walk.cycle}
            found += [(lambda: names, in_words), (lambda: about, in_words)]
        found.append((self._fields, in_words))
        gpu = self._gpu(state)
        if gpu:
            found.append((lambda: self._registers(gpu), shown_register))
            found.append((lambda: self._firmware(gpu), in_words))
        return found


def _page_name(page: int) -> str:
    return f"messages {page * PAGE + 1} to {(page + 1) * PAGE}"


def _python(function: str, file: str, line: int, first: int) -> Message:
    source = {"name": Path(file).name, "path": file}
    return {"name": function, "source": source, "line": line - 1 + first, "column": first}
