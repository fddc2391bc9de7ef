"""Plays a few cases of neighbouring phases: a process is forked from the warm server and advances through the phases;
at each it forks the cases that strike there.
"""

import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NoReturn

from ringhil.emulator.campaign.explore.case import Case
from ringhil.emulator.campaign.explore.fork import ForkedError, fork, forked, write_all
from ringhil.emulator.campaign.explore.play import play
from ringhil.emulator.campaign.explore.result import Result, summed_up
from ringhil.emulator.campaign.explore.warm import Warm
from ringhil.emulator.judge.run import Run

Numbered = tuple[int, Case]
_LENGTH = 4  # bytes before each message


@dataclass(frozen=True)
class Job:
    """A stem at work. Its messages come by `reading`: a number, and then its result. It ends when `life` is closed."""

    pid: int
    reading: int
    life: int

    def close(self) -> None:
        """Let go of both pipes."""
        os.close(self.reading)
        os.close(self.life)


class Messages:
    """Puts together what comes from a stem. It was pickled by a process that this one has forked."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, Result | None]]:
        """Complete messages: number of a case and its result; None: it begins now."""
        self._data += data
        found = []
        while len(self._data) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._data[:_LENGTH], "big")
            if len(self._data) < end:
                break
            found.append(pickle.loads(self._data[_LENGTH:end]))
            del self._data[:end]
        return found


def start(warm: Warm, cases: Sequence[Numbered], limit: float, rounds: int | None, others: Sequence[Job]) -> Job:
    """Fork a stem. `limit`: seconds for a case; `rounds`: see play.py; `others`: the stems that are there already."""
    (reading, writing), (gone, life) = os.pipe(), os.pipe()
    pid = fork()
    if pid:
        os.close(writing)
        os.close(gone)
        return Job(pid, reading, life)
    try:
        os.close(reading)
        os.close(life)
        for other in others:
            # Or they would not see it when the parent has gone.
            other.close()
        _stem(warm, cases, limit, rounds, writing, gone)
    finally:
        os._exit(1)


def _stem(warm: Warm, cases: Sequence[Numbered], limit: float, rounds: int | None, writing: int, gone: int) -> NoReturn:
    with suppress(BrokenPipeError):
        for number, case in sorted(cases, key=lambda numbered: _start(numbered[1])):
            _tell(writing, (number, None))
            if case.schedule.events:
                warm.run_to(case.schedule.start)
            _tell(writing, (number, _result(warm.server, case, limit, rounds, gone)))
    os._exit(0)


def _start(case: Case) -> int:
    return case.schedule.start if case.schedule.events else 0


def _result(server: Run, case: Case, limit: float, rounds: int | None, gone: int) -> Result:
    def act() -> Result:
        return summed_up(play(server, case.schedule.events, rounds=rounds))

    for last in (False, True):
        try:
            return forked(act, limit, gone)
        except ForkedError as error:
            if last or error.hung:
                kind: Literal["hung", "error"] = "hung" if error.hung else "error"
                return Result(kind, (str(error),), kind)
    raise AssertionError("the last attempt has either an answer or an error")


def _tell(writing: int, message: tuple[int, Result | None]) -> None:
    data = pickle.dumps(message)
    write_all(writing, len(data).to_bytes(_LENGTH, "big") + data)
