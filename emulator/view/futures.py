"""Since when a run was to fail (`debug.doomed`), as the page has it, and the process that plays its futures."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ringhil.emulator.debug.commands import Commands, Document
from ringhil.emulator.debug.desk import Breaks, Open
from ringhil.emulator.debug.doomed import Progress
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.debug.shown import line
from ringhil.emulator.debug.worker import SessionWorker
from ringhil.emulator.trace.recording import Recording
from ringhil.emulator.view.messages import FailingShare, TurnedThere, ViewDoomed


def view_doomed(recording: Recording, document: Document) -> ViewDoomed:
    """What `doomed` has found, as `Doomed.to_json` has it, for the page. Raises RecordingError."""

    def turn(found: Document | None) -> TurnedThere | None:
        if found is None:
            return None
        number = None if found["main"] is None else found["main"]["number"]
        item = None if number is None else next(recording.all(number, number), None)
        said = None if item is None else line(item, recording.gpus)
        text = "" if said is None else " ".join(filter(None, (said.kind, said.gpu, said.said)))
        after, before = found["after"], found["before"]
        cycle = before if item is None else item.cycle
        return TurnedThere(after=after, before=before, cycle=cycle, row=number, text=text)

    return ViewDoomed(
        failure=document["failure"],
        at=document["at"],
        futures=document["futures"],
        curve=[FailingShare(**each) for each in document["curve"]],
        likely=turn(document["likely"]),
        certain=turn(document["certain"]),
    )


class DoomWorker(SessionWorker):
    """In the process. `counted`: how many futures were played, and how many there are at most."""

    def __init__(self, session: DebugSession, breaks: Breaks, open_again: Open, counted: Any) -> None:
        super().__init__(session, breaks, open_again)
        self._counted = counted

    def find_doomed(self) -> ViewDoomed:
        """See `Commands`. The session is one of its own: the moments that it keeps go with it."""

        @contextmanager
        def counting(what: str) -> Iterator[Progress]:
            def told(done: int, total: int) -> None:
                self._counted[:] = done, total

            yield told

        with self._open_again() as session, self._breaks.allowed():
            return view_doomed(session.recording, Commands(session, counting).do("doomed")["doomed"])
