"""What is shown of a card at a management port: it answers what `Shown` answers of a recording.

What no port tells isn't there: frames between two GPUs, memory of firmware, and how anything was before the page came.
"""

import asyncio
import shlex
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

from ringhil.emulator.debug.commands import MESSAGES, NAMES, bits_set, values
from ringhil.emulator.debug.condition import ConditionError, Values, parse
from ringhil.emulator.debug.items import NO_FRAME
from ringhil.emulator.debug.memory import plain
from ringhil.emulator.serial.client import CardClient, CardError, RefusedError
from ringhil.emulator.trace.recording import RecordedMessage
from ringhil.emulator.trace.recording.tables import WAYS
from ringhil.emulator.view.heard import TOLD
from ringhil.emulator.view.listening import CardListener
from ringhil.emulator.view.messages import (
    FORMAT,
    MOST_ROWS,
    CardState,
    DoomedAnswer,
    Elsewhere,
    Followed,
    OtherTool,
    ViewAbout,
    ViewHops,
    ViewMarks,
    ViewPicture,
    ViewRow,
    ViewRows,
    ViewState,
)
from ringhil.emulator.view.reading import row_line
from ringhil.emulator.view.shown import ALIVE, TICK, ViewError
from ringhil.protocol.registers import REGISTERS

NOT_TOLD = (
    "A management port doesn't tell of frames on their way between GPUs, of the memory of firmware, nor of what was "
    "before the page came. Registers are those of now."
)
_FIRMWARE = "not told over a management port"
_FRESH = 1.0  # seconds for which registers that were read are those of now
_NAMES = NAMES | {"bypassed", "healthy", "lent", "roles"}


class ShownCard:
    """The card that `listener` hears."""

    def __init__(self, listener: CardListener) -> None:
        self.ended = False
        self._listener = listener
        self._read: dict[str, tuple[float, Any]] = {}  # by what was asked: when, and the answer

    def begin(self) -> None:
        """Nothing is to be begun: it is listened to already."""

    def close(self) -> None:
        """Close the port."""
        self._listener.close()

    @property
    def last(self) -> int:
        """The number of the last row."""
        return self._listener.rows.reach[1]

    async def about(self, *, quick: bool = False) -> ViewAbout:
        """What it is; that is known at once."""
        rows, listener = self._listener.rows, self._listener
        first, last, cycle = rows.reach
        return ViewAbout(
            format=FORMAT,
            source="server",
            file=listener.url,
            title=f"card {rows.card.name}",
            live=True,
            complete=False,
            cut_off=False,
            rows=last,
            last_cycle=cycle,
            cycles_per_second=float(listener.info.clock) or None,
            cards=[rows.card],
            crossings=[],
            kinds=[*MESSAGES, *TOLD, NO_FRAME],
            ways=[*WAYS],
            names=sorted(_NAMES),
            verdict=None,
            failed=[],
            failures=[],
            unplayable=NOT_TOLD,
            first_row=max(1, first),
        )

    def doomed(self, do: str) -> DoomedAnswer:
        """Nothing of a card can be played."""
        return DoomedAnswer(playing=False, done=0, total=0, refused=NOT_TOLD, found=None)

    def lines(self, first: int, count: int) -> ViewRows:
        """Rows from a number on, those that are still kept."""
        rows = self._listener.rows
        found = rows.all(first, first + min(count, MOST_ROWS) - 1)
        return ViewRows(rows=[row_line(item, rows.gpus) for item in found], last=rows.reach[1])

    def row(self, number: int) -> ViewRow | None:
        """One, decoded; None: it isn't there, or not any more."""
        rows = self._listener.rows
        for item in rows.all(number, number):
            frame = item.frame.hex() if isinstance(item, RecordedMessage) else None
            fields = {name: value for name, value in rows.said(item).items() if name not in ("number", "cycle")}
            return ViewRow(**row_line(item, rows.gpus).model_dump(), fields=plain(fields), bytes=frame)
        return None

    async def picture(self, cycle: int, exact: bool) -> ViewPicture:
        """Of a cycle."""
        return self._listener.rows.picture(cycle)

    async def marks(self, buckets: int) -> ViewMarks:
        """The time line."""
        return self._listener.rows.marks(buckets)

    def elsewhere(self, number: int) -> Elsewhere:
        """The same card in the terminal."""
        command = f"ringhil card {shlex.quote(self._listener.url)} watch"
        return Elsewhere(tools=[OtherTool(tool="terminal, when this page has ended", command=command)])

    async def ask(self, what: str, number: int, *values: Any, search: bool = False) -> Any:
        """As `Shown.ask`. Raises ViewError."""
        match what:
            case "links":
                return ViewHops(number=number, hops=[])
            case "find":
                return await self._find(number, *values)
            case "state":
                return await self._state(*values)
            case "card":
                return await self._card(*values)
        raise ViewError(NOT_TOLD)

    async def _find(self, start: int, text: str, back: bool) -> int | None:
        rows = self._listener.rows
        kinds = [*MESSAGES, *TOLD, NO_FRAME]
        try:
            known = {**values(rows.gpus), "kind": Values(kinds, ", ".join(kinds))}
            condition = parse(text, _NAMES, known)
        except ConditionError as error:
            raise ViewError(str(error)) from None
        first, last, _ = rows.reach
        found = rows.all(first, start - 1)[::-1] if back else rows.all(start + 1, last)
        for place in range(0, len(found), MOST_ROWS):
            for item in found[place : place + MOST_ROWS]:
                if condition(rows.said(item)):
                    return item.number
            await asyncio.sleep(0)  # others have their turn
        return None

    async def _state(self, gpu: str) -> ViewState:
        gpus = self._listener.rows.gpus
        if gpu not in gpus:
            raise ViewError(f"gpu: found {gpu[:50]!r}; there are {gpus[0]} .. {gpus[-1]}")
        place = gpus.index(gpu)

        def read(client: CardClient) -> tuple[int, dict[str, int]]:
            found = {register.name: client.read(place, register.name) for register in REGISTERS}
            return client.now(), found

        cycle, registers = await self._now(gpu, read)
        return ViewState(
            gpu=gpu,
            number=self.last,
            cycle=cycle,
            registers=registers,
            words={name: bits for name, value in registers.items() if (bits := bits_set(name, value))},
            firmware=_FIRMWARE,
        )

    async def _card(self, name: str) -> CardState:
        if name != self._listener.rows.card.name:
            raise ViewError(f"name: found {name[:50]!r}; there is {self._listener.rows.card.name}")
        cycle, knows = await self._now(f"card {name}", _known)
        return CardState(card=name, number=self.last, cycle=cycle, knows=plain(knows))

    async def _now(self, what: str, read: Any) -> Any:
        """What the card says when it is asked, for a while."""
        when, found = self._read.get(what, (0.0, None))
        if found is None or time.monotonic() - when > _FRESH:
            try:
                found = await asyncio.wrap_future(self._listener.ask(read))
            except CardError as error:
                raise ViewError(str(error), 503) from None
            self._read[what] = (time.monotonic(), found)
        return found

    def followed(self) -> Followed:
        """How far it has come."""
        listener, (first, last, cycle) = self._listener, self._listener.rows.reach
        return Followed(
            rows=last,
            last_cycle=cycle,
            live=not self.ended,
            complete=False,
            failed=listener.failed,
            first_row=max(1, first),
            begun=listener.begun,
        )

    async def follow(self) -> AsyncIterator[Followed | None]:
        """As `Shown.follow`; it goes on until the page's server ends."""
        said, quiet = None, 0.0
        while not self.ended:
            now = self.followed()
            if now != said or quiet >= ALIVE:
                yield now if now != said else None
                said, quiet = now, 0.0
            await asyncio.sleep(TICK)
            quiet += TICK


def _known(client: CardClient) -> tuple[int, dict[str, Any]]:
    """What the card says of itself and its line."""
    line = client.line()
    found: dict[str, Any] = asdict(client.info) | {
        "line": {name: getattr(line, name) for name in line.__slots__ if name != "id"}
    }
    try:
        found["last_census"] = asdict(client.last_census())
    except RefusedError as error:
        found["last_census"] = str(error)
    if "contexts" in client.info.capabilities:
        found["contexts"] = [asdict(each) for each in client.contexts()]
    return client.now(), found
