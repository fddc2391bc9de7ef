"""What a Dask worker runs. Arguments and answers are numbers and text."""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ringhil.emulator.errors import RinghilError

_MOST_ENDED = 1000  # campaigns remembered


class NoStationError(RinghilError):
    """The process that was checked is not there any more, or never was: nothing is played."""


class Station:
    """The process that plays one campaign (station.py). Its methods may be called by several threads."""

    def __init__(self, below: str | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ringhil-", dir=below))
        ours, theirs = socket.socketpair()
        with theirs:
            number, pid = str(theirs.fileno()), str(os.getpid())
            module = "ringhil.emulator.campaign.dask.station"
            # A group of its own: it ends as a whole, and an interrupt of the worker's terminal doesn't reach it.
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, number, pid, str(self.folder)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._connection: Connection[Any, Any] = Connection(ours.detach())
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._wanted: set[int] = set()
        self._heard: dict[int, list[Any]] = {}
        self._gone = False

    def open(self, order: str) -> str | None:
        """Why it can't play; None: it is ready."""
        try:
            self._connection.send_bytes(order.encode())
            told = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            return "the process that is to play ended before it was ready"
        if "refused" in told:
            return str(told["refused"])
        threading.Thread(target=self._listen, daemon=True).start()
        return None

    def play(self, batch: list[tuple[int, str]]) -> list[list[Any]]:
        """The answers to a batch; of what is dropped there are none. Raises NoStationError."""
        numbers = {number for number, _ in batch}
        with self._changed:
            self._wanted |= numbers
        self._send({"give": batch})
        with self._changed:
            self._changed.wait_for(lambda: self._gone or not numbers & self._wanted)
            if numbers & self._wanted:
                raise NoStationError("the process that played has ended")
            return [self._heard.pop(number) for number in sorted(numbers) if number in self._heard]

    def drop(self, numbers: list[int]) -> None:
        """Nobody wants these any more."""
        self._send({"drop": numbers})
        with self._changed:
            self._wanted -= set(numbers)
            self._changed.notify_all()

    def end(self) -> None:
        """End it and all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            with self._sending:
                self._connection.send_bytes(json.dumps(message).encode())
        except OSError as error:
            raise NoStationError("the process that plays has ended") from error

    def _listen(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                told = json.loads(self._connection.recv_bytes())
                with self._changed:
                    for one in told["heard"]:
                        if one[0] in self._wanted:
                            self._wanted.discard(one[0])
                            self._heard[one[0]] = one
                    self._changed.notify_all()
        with self._changed:
            self._gone = True
            self._changed.notify_all()


_lock = threading.Lock()
_stations: dict[str, Station] = {}
_ended: list[str] = []


def open_station(token: str, order: str) -> str | None:
    """Start the process that plays for campaign `token`, and check it. Why it may not play; None: it is ready."""
    from distributed import get_worker

    logging.getLogger("distributed.worker").addFilter(_is_said)  # once, however often it is added
    with _lock:
        before = _stations.pop(token, None)
        if before is not None:
            before.end()
        if token in _ended:
            return "the campaign is over"
        station = _stations[token] = Station(get_worker().local_directory)
    try:
        why = station.open(order)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
    if why is not None:
        with _lock:
            if _stations.get(token) is station:
                del _stations[token]
        station.end()
    return why


def play_batch(token: str, batch: list[tuple[int, str]]) -> str:
    """The answers to a batch as JSON, or why it was not played: an error that is sent as an object could be one that
    can't be read."""
    station = _stations.get(token)
    if station is None:
        return json.dumps("it was not checked")
    try:
        return json.dumps(station.play(batch))
    except Exception as error:
        return json.dumps(" ".join(f"{type(error).__name__}: {error}".split()))


async def play_at_once(token: str, batch: list[tuple[int, str]]) -> str:
    """The same, when it isn't a task of Dask's, which would take five times as long on its way."""
    return await asyncio.to_thread(play_batch, token, batch)


def _is_said(record: logging.LogRecord) -> bool:
    """Dask says that it runs a function beside its tasks; one line for each moment of a cluster is too much."""
    return play_at_once.__name__ not in map(str, record.args or ())


def drop_tasks(token: str, numbers: list[int]) -> None:
    """Have nobody play these any more."""
    station = _stations.get(token)
    if station is not None:
        with contextlib.suppress(NoStationError):
            station.drop(numbers)


def end_station(token: str) -> None:
    """The campaign is over: nothing of it is left."""
    with _lock:
        _ended.append(token)
        del _ended[:-_MOST_ENDED]
        station = _stations.pop(token, None)
    if station is not None:
        station.end()
