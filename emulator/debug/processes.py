"""Moments of a run as processes: a fork has hardware, firmware, CPU and judge exactly as they were, whatever they are
made of. One waits at each moment that is kept; to go on from there, it forks.

Parent and child speak over a pair of sockets; what is read was pickled by a process that this one has made itself.
"""

import os
import pickle
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, Protocol

from ringhil.emulator.errors import RinghilError

_LOOK = 0.5  # seconds
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DebugError(RinghilError):
    """Something that was asked for can't be done; one line says why."""


class Debuggee(Protocol):
    """What is forked."""

    def go(self, cycle: int) -> None:
        """Play to this cycle, which is not past."""
        ...

    def ask(self, what: str, *values: Any) -> Any:
        """Look at something. Raises DebugError."""
        ...


class Moment:
    """A process that waits in a cycle. Whoever has none of them open any more has no process left."""

    def __init__(self, cycle: int, end: socket.socket) -> None:
        self.cycle, self._end = cycle, end
        self._line = Connection(os.dup(end.fileno()))
        self.process = 0

    def arrived(self) -> None:
        """Wait until it is there. Raises DebugError."""
        self.process = self._answer()

    def ask(self, what: str, *values: Any) -> Any:
        """Of what it plays. Raises DebugError."""
        self.begin(what, *values)
        return self._answer()

    def begin(self, what: str, *values: Any) -> None:
        """Ask, and don't wait: `answers` does."""
        self._line.send(("ask", (what, *values)))

    def go(self, cycle: int) -> None:
        """Go on there, in this very process. Raises DebugError."""
        self._line.send(("go", (cycle,)))
        self._answer()
        self.cycle = cycle

    def travel(self, cycles: Sequence[int]) -> list["Moment"]:
        """Other moments, later ones, in rising order; this one stays. Raises DebugError."""
        pairs = [socket.socketpair() for _ in cycles]
        self._line.send(("travel", (tuple(cycles),)))
        socket.send_fds(self._end, [b"!"], [theirs.fileno() for _, theirs in pairs])
        for _, theirs in pairs:
            theirs.close()
        found = [Moment(cycle, ours) for cycle, (ours, _) in zip(cycles, pairs, strict=True)]
        try:
            for moment in found:
                moment.arrived()
        except BaseException:
            for moment in found:
                moment.close()
            raise
        return found

    def _answer(self) -> Any:
        try:
            good, answer = self._line.recv()
        except (EOFError, OSError):
            raise DebugError(f"the process of cycle {self.cycle} has died") from None
        if not good:
            raise DebugError(answer)
        return answer

    def memory(self) -> int:
        """Bytes that it has for itself alone; 0 where this can't be known."""
        with suppress(OSError, ValueError):
            with open(f"/proc/{self.process}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123
                private = [line.split()[1] for line in file if line.startswith("Private_")]
            return 1024 * sum(map(int, private))
        return 0

    def close(self) -> None:
        """It ends."""
        self._line.close()
        self._end.close()


def beginning(make: Callable[[], Debuggee], cycle: int = 0) -> Moment:
    """The first moment, in a process that is forked from this one. Raises DebugError."""
    ours, theirs = socket.socketpair()
    pid = _fork()
    if pid == 0:
        ours.close()
        _serve_made(make, theirs)
    theirs.close()
    moment = Moment(cycle, ours)
    try:
        moment.arrived()
    except BaseException:
        moment.close()
        raise
    return moment


def answers(moments: Sequence[Moment], patience: float) -> Iterator[tuple[Moment, Any]]:
    """What each of those has to say that were asked by `begin`, as they come: a DebugError, where something went wrong.
    Who has nothing after so many seconds is left out."""
    waiting = {moment._line: moment for moment in moments}
    until = time.monotonic() + patience
    while waiting:
        ready = wait(list(waiting), max(0.0, until - time.monotonic()))
        if not ready:
            return
        for line in ready:
            assert isinstance(line, Connection)
            moment = waiting.pop(line)
            try:
                answer = moment._answer()
            except DebugError as error:
                answer = error
            yield moment, answer


def _fork() -> int:
    """The child ends when nobody can ask it any more; Ctrl-C is for who is asked by people."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for what it forks
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_without(ends: Sequence[socket.socket | Connection], leave: Callable[[], None] = lambda: None) -> None:
    """From now on this process ends, whatever it is doing, when nobody is at the other side of any of these; `leave` is
    called then. (The death of its parent would tell nothing: who asks is another process than the one that has forked
    it.)"""
    looked = select.poll()
    for end in ends:
        looked.register(end, 0)

    def look(number: int, frame: object) -> None:
        if len([1 for _, what in looked.poll(0) if what & select.POLLHUP]) == len(ends):
            leave()
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)


def _serve_made(make: Callable[[], Debuggee], end: socket.socket) -> NoReturn:
    try:
        debuggee = make()
    except BaseException as error:
        _give_up(end, error)
    _serve(debuggee, end)


def _serve(debuggee: Debuggee, end: socket.socket) -> NoReturn:
    """Until nobody is there any more."""
    line = Connection(os.dup(end.fileno()))
    end_without([end])
    try:
        line.send((True, os.getpid()))
        while True:
            what, values = line.recv()
            if what == "travel":
                (cycles,) = values
                _, ends, _, _ = socket.recv_fds(end, 1, len(cycles))
                if _fork() == 0:
                    line.close()
                    end.close()
                    _travel(debuggee, cycles, [socket.socket(fileno=each) for each in ends])
                for each in ends:
                    os.close(each)
            else:
                line.send(_answered(getattr(debuggee, what), values))
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        os._exit(1)


def _travel(debuggee: Debuggee, cycles: Sequence[int], ends: list[socket.socket]) -> NoReturn:
    for number, cycle in enumerate(cycles):
        end_without(ends[number:])
        try:
            debuggee.go(cycle)
        except BaseException as error:
            _give_up(ends[number], error)
        last = number == len(cycles) - 1
        if last or _fork() == 0:
            for other in ends:
                if other is not ends[number]:
                    other.close()
            _serve(debuggee, ends[number])
        ends[number].close()
    os._exit(0)


def _answered(act: Callable[..., Any], values: Sequence[Any]) -> tuple[bool, Any]:
    try:
        answer = act(*values)
        pickle.dumps(answer)
        return True, answer
    except Exception as error:
        return False, _in_words(error)


def _give_up(end: socket.socket, error: BaseException) -> NoReturn:
    with suppress(Exception):
        Connection(os.dup(end.fileno())).send((False, _in_words(error)))
    os._exit(1)


def _in_words(error: BaseException) -> str:
    return str(error) if isinstance(error, DebugError) or str(error) else type(error).__name__
