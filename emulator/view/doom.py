"""Since when a run was to fail, for the page: found when somebody asks for it, by a process of its own, which can be
broken off and ends with the server."""

from collections.abc import Callable
from functools import partial
from multiprocessing.sharedctypes import RawArray
from typing import TYPE_CHECKING, Any

from ringhil.emulator.debug.desk import Desk, Open, Then, Unanswered
from ringhil.emulator.view.messages import DoomedAnswer, ViewDoomed

if TYPE_CHECKING:
    from ringhil.emulator.debug.worker import SessionWorker


def _load(counted: Any) -> "Callable[..., SessionWorker]":
    from ringhil.emulator.view.futures import DoomWorker  # loads all that stepping needs

    return partial(DoomWorker, counted=counted)


class Doom:
    """What is known of it, for all who ask. The process is forked at once, and idle until `begin`."""

    def __init__(self, open_session: Open) -> None:
        self._counted: Any = RawArray("Q", 2)
        self.desk = Desk(open_session, partial(_load, self._counted), late=True)
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
