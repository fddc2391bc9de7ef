"""A process with a session of its own, which does what takes long while a screen or page goes on.

It is forked before the screen begins. What is read from it was pickled by a process that this one has made itself.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.debug.condition import ConditionError
from ringhil.emulator.debug.processes import DebugError, end_without
from ringhil.emulator.trace import RecordingError

if TYPE_CHECKING:
    from ringhil.emulator.debug.session import DebugSession
    from ringhil.emulator.debug.worker import SessionWorker

# Verbs that only read: they can be broken off anywhere. A run that is played can't; `doomed` begins it anew then.
_WALKING = ("step", "back", "next", "previous", "until", "back-until", "continue", "reverse", "go")
READING = (*_WALKING, "compare", "why", "doomed")
_REFUSED = (DebugError, RecordingError, ConditionError, BuildError)
_PATIENCE = 2.0  # seconds
Then = Callable[[Any], None]
Where = Callable[[], int]
Open = Callable[[], "DebugSession"]


class Looked(NamedTuple):
    """How things were. `registers`: of all GPUs."""

    gpu: str
    registers: dict[str, dict[str, int]]
    firmware: Any
    card: dict[str, Any]


class Unanswered(NamedTuple):
    """What was asked for can't be done."""

    why: str


def _session_worker() -> "Callable[..., SessionWorker]":
    from ringhil.emulator.debug.worker import SessionWorker

    return SessionWorker


class Desk:
    """Raises DebugError where the session can't be opened. `late`: it is opened by the first request, and whoever asks
    is told; until then nothing of stepping is loaded. Requests are done one after the other, each a method of a worker,
    of the class that `load` has in the process."""

    def __init__(
        self,
        open_session: Open,
        load: "Callable[[], Callable[..., SessionWorker]]" = _session_worker,
        late: bool = False,
    ) -> None:
        context = get_context("fork")
        self._line, theirs = context.Pipe()
        self._broken = context.RawValue("Q", 0)  # the number of the request that is to be broken off
        breaks = Breaks(self._broken)
        ours = (open_session, load, theirs, self._line, breaks, late)
        self._process = context.Process(target=_serve, args=ours, daemon=True)
        self._process.start()
        theirs.close()
        self._waiting: deque[tuple[str, Where, tuple[Any, ...], Then]] = deque()
        self._asked = 0  # requests
        self._gone: str | None = None  # why nothing is answered any more
        self.verbs: tuple[str, ...] = ()
        self._then: Then | None = None
        if not late:
            self._then = self._opened  # its first answer
            self.heard()
            if self._gone is not None:
                self.close()
                raise DebugError(self._gone)

    def _opened(self, answer: Any) -> None:
        if isinstance(answer, Unanswered):
            self._gone = answer.why
        else:
            self.verbs = answer

    @property
    def busy(self) -> bool:
        """Whether something is being done."""
        return self._then is not None

    @property
    def waiting(self) -> int:
        """Requests that are still to be begun."""
        return len(self._waiting)

    def fileno(self) -> int:
        """Call `heard` when there is something to read."""
        return self._line.fileno()

    def ask(self, then: Then, what: str, where: Where, *values: Any) -> None:
        """`do` a command, `find` a text, `look` at a GPU, or `hops`, at the message or event where one is by then."""
        self._waiting.append((what, where, values, then))
        self._next()

    def _next(self) -> None:
        while self._gone is not None and self._waiting:
            self._waiting.popleft()[3](Unanswered(self._gone))
        if self._then is None and self._waiting:
            what, where, values, self._then = self._waiting.popleft()
            self._asked += 1
            with suppress(BrokenPipeError):  # `heard` finds out
                self._line.send((self._asked, what, where(), values))

    def heard(self) -> bool:
        """Take an answer in; False: there will be no more."""
        try:
            good, answer = self._line.recv()
        except (EOFError, OSError):
            self._gone = self._gone or "the process that does this has died"
            good, answer = False, self._gone
        then, self._then = self._then, None
        if then is not None:
            then(answer if good else Unanswered(answer))
        self._next()
        return self._gone is None

    def stop(self) -> None:
        """Break off what is being done, where that can be."""
        if self.busy and self._process.pid is not None:
            self._broken.value = self._asked
            os.kill(self._process.pid, signal.SIGINT)

    def forget(self, then: Then) -> None:
        """Nobody waits for this answer any more: it isn't begun, or broken off where that can be."""
        if self._then is then:
            self.stop()
        else:
            self._waiting = deque(each for each in self._waiting if each[3] is not then)

    def close(self) -> None:
        """It ends; it is told so, as others that were forked meanwhile may hold this end of the line, too."""
        with suppress(OSError):
            self._line.send(None)
        self._line.close()
        self._process.join(0 if self.busy else _PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


class Breaks:
    """In the process: KeyboardInterrupt for the request that is to be broken off, where that can be. Signals of others,
    early and late ones do nothing."""

    def __init__(self, broken: Any) -> None:
        self._broken, self._request, self._can_be = broken, 0, False

    def begin(self, request: int) -> None:
        """The number of what is done next."""
        self._request = request
        signal.signal(signal.SIGINT, self._stop)

    def _stop(self, *_: object) -> None:
        if self._can_be and self._broken.value == self._request:
            self._can_be = False
            raise KeyboardInterrupt

    @contextmanager
    def allowed(self, can_be: bool = True) -> Iterator[None]:
        """It can be broken off here."""
        self._can_be = can_be
        try:
            self._stop()
            yield
        finally:
            self._can_be = False


def _serve(
    open_session: Open,
    load: "Callable[[], Callable[..., SessionWorker]]",
    line: Connection,
    other: Connection,
    breaks: Breaks,
    late: bool,
) -> None:
    other.close()  # or it would wait for itself
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_without([line])
    breaks.begin(0)
    with ExitStack() as stack:
        worker: SessionWorker | None = None

        def opened() -> "SessionWorker":
            nonlocal worker
            if worker is None:
                found = worker = load()(stack.enter_context(open_session()), breaks, open_session)
                stack.callback(lambda: found.session.close())  # it may be another by then
            return worker

        if not late:
            try:
                line.send((True, opened().verbs))
            except _REFUSED as error:
                line.send((False, str(error)))
                return
        with suppress(EOFError, OSError):
            while (asked := line.recv()) is not None:
                request, *what = asked
                breaks.begin(request)
                line.send(_done(opened, *what))


def _done(opened: "Callable[[], SessionWorker]", what: str, number: int, values: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        worker = opened()
        worker.seek(number)
        return True, getattr(worker, what)(*values)
    except KeyboardInterrupt:
        return False, "broken off"
    except _REFUSED as error:
        return False, str(error)
    except Exception as error:  # a mistake of ours must not take the screen away
        return False, f"{type(error).__name__}: {error}"
