"""Since when a run was to fail (`debug.doomed`), for the page: found when somebody asks for it, by a process of its own
that can be broken off and ends with the server."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.sharedctypes import RawArray
from typing import Any

from ringhil.emulator.debug.commands import Commands
from ringhil.emulator.debug.desk import Breaks, Desk, Open, SessionWorker, Then, Unanswered
from ringhil.emulator.debug.doomed import Progress
from ringhil.emulator.debug.session import DebugSession
from ringhil.emulator.debug.shown import line
from ringhil.emulator.trace.recording import Recording
from ringhil.emulator.view.messages import DoomedAnswer, FailingShare, TurnedThere, ViewDoomed

Document = dict[str, Any]


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


class Doom:
    """What is known of it, for all who ask. The process is forked at once, and idle until `begin`."""

    def __init__(self, open_session: Open) -> None:
        self._counted: Any = RawArray("Q", 2)
        self.desk = Desk(open_session, partial(DoomWorker, counted=self._counted), wait=False)
        self._told: Then | None = None  # who waits for the process
        self._found: ViewDoomed | None = None
        self._why: str | None = None

    def begin(self) -> None:
        """Play futures, unless they are played or were."""
        if self._found is not None or self._told is not None:
            return

        def told(answer: Any) -> None:
            if told is not self._told:  # broken off
                return
            self._told = None
            if isinstance(answer, Unanswered):
                self._why = answer.why
            else:
                self._found = answer

        self._counted[:] = 0, 0
        self._told, self._why = told, None
        self.desk.ask(told, "find_doomed", lambda: 0)

    def stop(self) -> None:
        """Play no more of them; what was found by then is lost."""
        told, self._told = self._told, None
        if told is not None:
            self.desk.forget(told)

    def answer(self) -> DoomedAnswer:
        """How far it is."""
        done, total = self._counted
        playing = self._told is not None
        return DoomedAnswer(playing=playing, done=done, total=total, refused=self._why, found=self._found)
