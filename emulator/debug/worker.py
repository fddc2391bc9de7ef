"""What the process of a desk does (`debug.desk`), with a session of its own."""

import re
from collections.abc import Callable

from ringhil.emulator.debug.commands import NAMES, Commands, Document, values
from ringhil.emulator.debug.condition import parse
from ringhil.emulator.debug.desk import READING, Breaks, Looked, Open
from ringhil.emulator.debug.items import RecordedItem
from ringhil.emulator.debug.session import DebugSession, FrameOnLink
from ringhil.emulator.debug.shown import line

_CONDITION = re.compile(r"[=!<>]=|[<>]|\bhas\b")


def wanted(text: str, session: DebugSession) -> Callable[[RecordedItem], bool]:
    """Whether it is one of those. What has an operator in it is a condition. Raises ConditionError."""
    if _CONDITION.search(text):
        condition = parse(text, NAMES, values(session.recording.gpus))
        return lambda item: condition(session.fields(item))
    plain, gpus = text.lower(), session.recording.gpus
    return lambda item: plain in line(item, gpus).text.lower()


class SessionWorker:
    """What it does, at the message or event where one is; see `Desk.ask`."""

    def __init__(self, session: DebugSession, breaks: Breaks, open_again: Open) -> None:
        self._open_again = open_again
        self.session, self._commands, self._breaks = session, Commands(session), breaks
        self.verbs = self._commands.verbs

    def seek(self, number: int) -> None:
        """The session is where the screen is."""
        if number != self.session.number:
            self.session.here = next(self.session.recording.all(number, number), None)

    def do(self, line: str) -> tuple[int, Document]:
        """Where it is then, and the document."""
        with self._breaks.allowed((line.split(maxsplit=1) or [""])[0] in READING):
            document = self._commands.do(line)
        return self.session.number, document

    def find(self, text: str, back: bool) -> int | None:
        """The number of the next one, or of the one before; None: there is none."""
        recording, here = self.session.recording, self.session.number
        is_wanted = wanted(text, self.session)
        way = recording.all_back(here - 1) if back else recording.all(here + 1)
        with self._breaks.allowed():
            return next((item.number for item in way if is_wanted(item)), None)

    def look(self, gpu: str) -> Looked:
        """At a GPU, its card, and the registers of all."""
        session = self.session
        registers = {name: session.registers(name) for name in session.recording.gpus}
        return Looked(gpu, registers, session.firmware(gpu), session.card(gpu.split(".")[0]))

    def hops(self) -> list[FrameOnLink]:
        """What the message was on each link that it passed."""
        return self.session.hops()
