"""What is shown: a recording, whether it still grows or not, and the processes that search and play it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringhil.emulator.debug.desk import Desk, Open, Unanswered
from ringhil.emulator.debug.growing import Growing, OthersGrowing
from ringhil.emulator.debug.played import scenario_of
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.trace import RecordingError
from ringhil.emulator.trace.recording import Recording
from ringhil.emulator.view import reading
from ringhil.emulator.view.doom import Doom
from ringhil.emulator.view.messages import (
    DoomedAnswer,
    Elsewhere,
    FailureAbout,
    Followed,
    ViewAbout,
    ViewMarks,
    ViewPicture,
    ViewRow,
    ViewRows,
)
from ringhil.emulator.view.pictures import Pictures
from ringhil.emulator.view.places import Wires
from ringhil.emulator.view.timeline import ViewTime

if TYPE_CHECKING:
    from ringhil.emulator.debug.worker import SessionWorker

TICK = 0.2  # seconds between looks at a recording that grows
_TURN = 0.001  # seconds for others, between two pieces of what is read on
ALIVE = 15.0  # seconds without news, after which a browser that has vanished is found out
_PATIENCE = 2.0  # seconds that the rows of failures may take
_OTHERS = "no state: another program still records this run; states can be had when it has ended"
_MOST_WAITING = 64  # requests that have to be played or searched for


class ViewError(RinghilError):
    """What was asked for can't be done; it says why. `status`: of HTTP."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


def _view_worker() -> "Callable[..., SessionWorker]":
    from ringhil.emulator.view.playing import ViewWorker  # loads all that stepping needs

    return ViewWorker


class Shown:
    """A recording at `path`. `growing`: the run that is still recorded in it. `firmware`: what plays it, as it was
    given. The processes are forked at once; call `begin` in the thread that answers. Raises RecordingError."""

    def __init__(
        self, path: Path, open_session: Open, growing: Growing | None = None, firmware: Sequence[str] = ()
    ) -> None:
        self._firmware = firmware
        self.growing: Growing | OthersGrowing | None = growing
        self.broke_off: str | None = None
        self._source = "recording" if growing is None else "run"
        self.ended = False
        self._followed: Followed | None = None
        self._looked = 0.0
        self._desks = list[Desk]()
        self.recording = Recording(path)
        if growing is None and not (others := OthersGrowing(self.recording)).over():
            self.growing = others
        try:
            self._scenario = scenario_of(self.recording)
            self.wires = Wires(self._scenario.server)
            self._pictures = Pictures(self.recording, self.wires)
            self._time = ViewTime(self.recording)
            for _ in range(2):  # a search must not keep a state waiting
                self._desks.append(Desk(open_session, _view_worker, late=True))
            self._doom = Doom(open_session)
            self._desks.append(self._doom.desk)
        except BaseException:
            self.close()
            raise
        self._failures: list[FailureAbout] | None = None
        self._unplayable: str | None = None
        self._asked: asyncio.Future[Any] | None = None  # for both

    def close(self) -> None:
        """End the processes, close the file."""
        for desk in self._desks:
            desk.close()
        self.recording.close()

    def begin(self) -> None:
        """Hear what the processes say, in the loop that runs."""
        loop = asyncio.get_running_loop()
        for desk in self._desks:
            loop.add_reader(desk.fileno(), self._heard, desk)
        self._reading = loop.create_task(self._read_on())

    async def _read_on(self) -> None:
        """All that pictures and the time line are made of, a piece at a time, so that others have their turn."""
        with suppress(RecordingError):  # who asks for what is damaged is told
            while not self.ended:
                self.look()
                last = self.recording.last_number
                more = self._time.read(self.recording)
                await asyncio.sleep(_TURN)
                done = self._pictures.read(self.recording, last) and not more
                if done and self.growing is None:
                    return
                await asyncio.sleep(TICK if done else _TURN)

    @staticmethod
    def _heard(desk: Desk) -> None:
        if not desk.heard():
            asyncio.get_running_loop().remove_reader(desk.fileno())

    # --------------------------------------------------------------------------------------------- what is asked for

    def look(self) -> None:
        """Whether the run has ended since."""
        if self.growing is not None and self.growing.over():
            path = self.recording.path
            self.recording.close()
            self.recording = Recording(path)
            self.broke_off, self.growing = self.growing.failed, None
            self._failures = None

    async def about(self, *, quick: bool = False) -> ViewAbout:
        """What it is. `quick`: why it can't be played isn't waited for, and the rows of failures not for long. Raises
        RecordingError."""
        self.look()
        if self._failures is None:
            if self._asked is None:
                self._asked = asyncio.ensure_future(self.ask("begin", 0))
                self._asked.add_done_callback(self._told)
            failed = bool((self.recording.outcome or {}).get("failures"))
            await asyncio.wait([self._asked], timeout=(_PATIENCE if failed else 0) if quick else None)
        others = isinstance(self.growing, OthersGrowing)
        return reading.about(
            self.recording,
            self._scenario,
            self.wires,
            source=self._source,
            live=self.growing is not None,
            failures=self._failures or [],
        ).model_copy(update={"unplayable": _OTHERS if others else self._unplayable})

    def _told(self, asked: "asyncio.Future[Any]") -> None:
        self._asked = None
        if not asked.cancelled() and asked.exception() is None:
            self._unplayable, self._failures = asked.result()

    async def ask(self, what: str, number: int, *values: Any, search: bool = False) -> Any:
        """Of a process; see `ViewWorker`. Raises ViewError."""
        if isinstance(self.growing, OthersGrowing) and what not in ("begin", "find"):
            raise ViewError(_OTHERS)
        desk = self._desks[0 if search else 1]
        if desk.waiting >= _MOST_WAITING:
            raise ViewError(f"{_MOST_WAITING} requests wait already; ask again later", 503)
        future = asyncio.get_running_loop().create_future()

        def told(answer: Any) -> None:
            if not future.done():
                future.set_result(answer)

        desk.ask(told, what, lambda: number, *values)
        try:
            answer = await future
        except asyncio.CancelledError:
            desk.forget(told)
            raise
        if isinstance(answer, Unanswered):
            raise ViewError(answer.why)
        return answer

    @property
    def last(self) -> int:
        """The number of the last row."""
        return self.recording.last_number

    def lines(self, first: int, count: int) -> ViewRows:
        """Rows from a number on. Raises RecordingError."""
        return reading.lines(self.recording, first, count)

    def row(self, number: int) -> ViewRow | None:
        """One, decoded; None: there is none of this number. Raises RecordingError."""
        return reading.row(self.recording, number)

    def elsewhere(self, number: int) -> Elsewhere:
        """A row, which is there, in other tools. Raises RecordingError."""
        return reading.in_other_tools(self.recording, number, self._firmware)

    async def picture(self, cycle: int, exact: bool) -> ViewPicture:
        """Of a cycle, as far as it has come. Raises RecordingError and ViewError."""
        there = self.recording.at(cycle)
        row = 0 if there is None else there.number
        while self._pictures.upto < row:
            self._pictures.read(self.recording, row)
            await asyncio.sleep(0)  # others have their turn
        found = self._pictures.picture(self.recording, min(cycle, self.recording.last_cycle))
        return await self.ask("exact", 0, found) if exact else found

    async def marks(self, buckets: int) -> ViewMarks:
        """The time line, as far as it has come. Raises RecordingError."""
        return self._time.marks(self.recording, buckets, self._failures or [])

    def doomed(self, do: str) -> DoomedAnswer:
        """Since when the run was to fail: `begin` or `stop` to play its futures, and how far that is."""
        if do == "begin":
            self._doom.begin()
        elif do == "stop":
            self._doom.stop()
        return self._doom.answer()

    def followed(self) -> Followed:
        """How far it has come, looked up once for all who ask at a time. Raises RecordingError."""
        now = time.monotonic()
        if self._followed is None or now - self._looked >= TICK / 2:
            self._looked, self._followed = now, self._look_up()
        return self._followed

    def _look_up(self) -> Followed:
        self.look()
        return Followed(
            rows=self.recording.last_number,
            last_cycle=self.recording.last_cycle,
            live=self.growing is not None,
            complete=self.recording.complete,
            failed=self.broke_off,
            first_row=1,
            begun=0,
        )

    async def follow(self) -> AsyncIterator[Followed | None]:
        """Whenever there is more, until there can't be; None: nothing new for a while. Who is slow misses some, and
        nothing is kept for them."""
        said, quiet = None, 0.0
        while not self.ended:
            now = self.followed()
            if now != said or quiet >= ALIVE:
                yield now if now != said else None
                said, quiet = now, 0.0
            if not now.live:
                return
            await asyncio.sleep(TICK)
            quiet += TICK
