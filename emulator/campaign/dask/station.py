"""A process beside a Dask worker that plays one campaign.

    python -m ringhil.emulator.campaign.dask.station DESCRIPTOR WORKER FOLDER

Cases are played in forked processes, and a Dask worker, which has threads and connections, is no process to fork: this
one has neither. It is a LocalPool of its own machine, so that a case that kills its process, or its process group,
costs no more there than here. DESCRIPTOR is one end of a pair of sockets, WORKER the process id at the other end,
FOLDER for files.

| from the worker | from here |
|---|---|
| the order | `{"ready": true}`, or `{"refused": why}` and the end |
| `{"give": [[number, task], ...]}` | `{"heard": [[number, answer, null], ...]}`, null and why it was lost for some |
| `{"drop": [number, ...]}` | of these, nothing more |
"""

import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.campaign.dask import exploring, placing, verifying
from ringhil.emulator.campaign.dask.order import Crew, Facts, Order, Refused
from ringhil.emulator.campaign.pool import LocalPool, Lost

IDLE = 300.0  # seconds without a message after which whoever ordered it is taken for gone
_LOOK = 0.02  # seconds after which a message is seen while cases are played
_WATCH = 0.5  # seconds after which the end of the worker is seen while the server settles
_KINDS = {"explore": exploring.crew, "place": placing.crew, "verify": verifying.crew}

_Given = tuple[int, str]


@dataclass
class _Desk:
    """Between the connection and the pool."""

    connection: "Connection[Any, Any]"
    pool: LocalPool[_Given, str]
    waiting: deque[list[_Given]] = field(default_factory=deque)

    def serve(self) -> None:
        """Until the worker has gone, or is silent for too long."""
        while self.connection.poll(0 if self.busy else IDLE) or self.busy:
            while self.connection.poll(0):
                self.take(json.loads(self.connection.recv_bytes()))
            while self.waiting and self.pool.room > 0:
                self.pool.give(self.waiting.popleft())
            heard = self.pool.hear(_LOOK) if self.pool.busy else []
            if heard:
                told = [[h.task[0], None, h.why] if isinstance(h, Lost) else [h.task[0], h.answer, None] for h in heard]
                send(self.connection, {"heard": told})

    @property
    def busy(self) -> bool:
        return self.pool.busy or bool(self.waiting)

    def take(self, message: dict[str, Any]) -> None:
        if "give" in message:
            self.waiting.append([(number, task) for number, task in message["give"]])
        else:
            unwanted = set(message["drop"])
            kept = [[given for given in batch if given[0] not in unwanted] for batch in self.waiting]
            self.waiting = deque(batch for batch in kept if batch)
            self.pool.drop(lambda given: given[0] in unwanted)


def serve(connection: "Connection[Any, Any]", folder: Path) -> None:
    """Play for whoever is at the other end. Raises EOFError when it goes."""
    text = connection.recv_bytes().decode()
    try:
        crew, lanes = ordered(text, folder)
    except Refused as why:
        send(connection, {"refused": " ".join(str(why).split())})
        return
    work = _second(crew.work)
    with LocalPool[_Given, str](work, lanes, once=crew.once, patience=crew.patience, apart=True) as pool:
        send(connection, {"ready": True})
        _Desk(connection, pool).serve()


def ordered(text: str, folder: Path) -> tuple[Crew, int]:
    """Who plays, and how many batches at a time. Raises Refused."""
    # First what another version can read, too.
    difference = Facts.here().difference(Order.facts_of(text))
    if difference is not None:
        raise Refused(difference)
    order = Order.from_json(text)
    firmware = order.firmware.loaded()
    try:
        library = None if order.rtl is None else order.rtl.library(folder)
    except (BuildError, OSError) as error:
        raise Refused(f"the engine can't be built or loaded there: {error}") from error
    return _KINDS[order.kind](order, library, firmware, folder), order.lanes


def send(connection: "Connection[Any, Any]", message: dict[str, Any]) -> None:
    """Raises OSError when nobody is there."""
    connection.send_bytes(json.dumps(message).encode())


def _second(work: Callable[[str], str]) -> Callable[[_Given], str]:
    return lambda given: work(given[1])


def _end_with(parent: int) -> None:
    """End, with all below, when the worker does. Its death is told by no signal: it is one of its threads that has
    started us, and a parent in the sense of PR_SET_PDEATHSIG is a thread."""

    def look(number: int, frame: object) -> None:
        if os.getppid() != parent:
            os.killpg(0, signal.SIGKILL)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _WATCH, _WATCH)


def main() -> NoReturn:
    """Until the worker ends it, or has ended."""
    descriptor, parent, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    _end_with(parent)
    with contextlib.suppress(EOFError, OSError):  # the worker has gone
        serve(Connection(descriptor), folder)
    # Whatever was begun: compilers, cases.
    os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
