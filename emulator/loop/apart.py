"""A library in a process of its own as the far end: firmware in C, say.

`csrc/firmware_host.c` loads it, and says there what is said to it and by it. Each boot of each GPU is a process that is
forked from one that has only loaded the library. What crashes there, or never answers, costs that GPU its firmware, and
nobody else anything. A fork of this process has processes of its own, from the same memory on: what happens in one of
them is not seen in the other, as with firmware in Python.

How long an answer may take is the one thing in a run that depends on this machine's time. It is long, and counted in
slices: a machine that was asleep, or a process that was stopped, has used up one of them.
"""

import atexit
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

from ringhil.emulator.build.errors import BuildError
from ringhil.emulator.build.in_c import made_of_c
from ringhil.emulator.loop.far import Exchange, FarFirmware, attach
from ringhil.emulator.loop.places import place_in
from ringhil.emulator.loop.variables import variables_of
from ringhil.emulator.server.foreign import FirmwareCrashed, FirmwareError
from ringhil.firmware.boot import Boot
from ringhil.firmware.program import Firmware
from ringhil.protocol.line.firmware_codec import decode
from ringhil.protocol.line.framing import LONGEST

_log = logging.getLogger(__name__)
LIMIT = 10.0  # seconds for an answer
MOST_STATE = 1 << 26  # bytes
SIZE, ANSWER = "rhf_size", "rhf_answer"
_HOST = Path(__file__).resolve().parent / "csrc" / "firmware_host.c"
_LINK = ("-rdynamic", "-ldl")
_STEPS = ("it is loaded", f"{SIZE} is called", f"{ANSWER} is called")
_WANTED = f"wanted is a whole library with the functions {SIZE} and {ANSWER}"
_HEAD = struct.Struct("<cI")
_ASKED = signal.SIGUSR1  # by us, where it stands
_FULL = 0x80  # beside the step
_SLICES = 10
_SIZE = 8  # bytes of a number
_LOOK = 0.05  # seconds between two looks for a debugger
_FORKED, _ENDED = 10.0, 2.0  # seconds for a process to be there, and to say where it stood
_KILLED = "its process was killed (out of memory?)"


class LibraryApart:
    """One that is loaded by a process that does nothing else. `limit`: seconds for an answer. `gdb`: the cycle at whose
    first event each boot waits for a debugger. Raises FirmwareError for what can't be firmware."""

    def __init__(self, path: Path, limit: float = LIMIT, gdb: int | None = None) -> None:
        self.path, self.limit, self.size, self._gdb = path, limit, 0, gdb
        self._line, self._first = _started(path, gdb is not None)
        self._owner = os.getpid()
        _libraries.add(self)
        try:
            end = self._tried()
        except BaseException:
            self.close()
            raise
        if end is not None:
            self.close()
            how = end.how or f"takes more than {limit:g} s"
            raise FirmwareError(f"{path}: {how} when {_STEPS[end.step]}; {_WANTED}")

    def _tried(self) -> "_End | None":
        """How it has ended instead of telling who it is. Raises FirmwareError."""
        kind, said = self._line.answer(self.limit)
        if kind == b"T":
            raise FirmwareError(_unusable(self.path, said.decode("utf-8", "replace")))
        if kind != b"H":
            return _End(kind, said)
        size = self.size = int.from_bytes(said[:_SIZE], "little")
        if not 0 < size <= MOST_STATE:
            raise FirmwareError(f"{self.path}: {SIZE} is {size} bytes; allowed are 1 to {MOST_STATE} bytes")
        process = _Process(self)
        try:
            attach(process.exchange)
        except FirmwareCrashed:
            return process.end
        return None

    def made(self, boot: Boot) -> Firmware:
        """Returns its firmware, which boots."""
        process = _Process(self)
        ask = process.exchange if self._gdb is None else _waiting_for_a_debugger(process, self._gdb, boot)
        return FarFirmware(ask, boot, process.variables)

    def close(self) -> None:
        """What was begun ends."""
        self._line.close()
        if self._owner == os.getpid():
            try:
                self._first.wait(_ENDED)
            except subprocess.TimeoutExpired:
                self._first.kill()
                self._first.wait()

    def __del__(self) -> None:
        with suppress(AttributeError):
            self.close()

    def forked(self) -> "_Line":
        """A line to a process that has loaded it, and has done nothing else. Raises FirmwareError."""
        line = self._line.fork()
        line.arrived()
        return line


class _End:
    """What a process has said last."""

    def __init__(self, kind: bytes, said: bytes) -> None:
        self.step, self.how, self.crashed, self.places = 2, "", "", tuple[int, ...]()
        self.by_chance = False  # where it ended: elsewhere in the next run
        if kind == b"C":
            number, step = struct.unpack_from("<IB", said)
            self.step = step & ~_FULL
            self.places = struct.unpack_from(f"<{(len(said) - 5) // 8}Q", said, 5)
            if number != _ASKED:
                self.how = f"crashes ({signal.strsignal(number)})"
                self.crashed = f"it has crashed: {signal.Signals(number).name}"
                if step & _FULL:
                    self.crashed, self.by_chance = f"{self.crashed}, its stack is full", True
        elif kind == b"X":
            code, self.step = struct.unpack("<iB", said)
            self.how = f"ends the program with exit code {code}"
            self.crashed = f"it has ended its process with exit code {code}"
        else:
            self.how = "is killed (out of memory?)"


class _Line:
    """To one process."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._came = end, b""
        self.pid = 0  # of the process, 0: not known yet

    def close(self) -> None:
        """The process ends, whatever it is doing."""
        self._end.close()

    def __del__(self) -> None:
        self._end.close()

    def send(self, request: bytes) -> None:
        """Raises OSError when nobody is there."""
        self._end.sendall(len(request).to_bytes(4, "little") + request)

    def look(self, place: bytes) -> None:
        """Raises OSError when nobody is there."""
        self._end.sendall(len(place).to_bytes(3, "little") + b"\1" + place)

    def answer(self, limit: float) -> tuple[bytes, bytes]:
        """A kind of message and its content; no kind: nobody is there. Takes it that takes longer than `limit` seconds
        for one that never comes: it is asked where it stands, and ends."""
        self._end.settimeout(limit / _SLICES)
        left = _SLICES
        while left:
            with suppress(TimeoutError):
                return self._received()
            left -= not _traced(self.pid)  # whoever steps through it takes their time
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_WR)
        self._end.settimeout(_ENDED)
        kind, said = b"", b""
        with suppress(TimeoutError):
            kind, said = self._received()
        self.close()
        return (kind, said) if kind == b"C" else (b"C", struct.pack("<IB", _ASKED, len(_STEPS) - 1))

    def _received(self) -> tuple[bytes, bytes]:
        while True:
            if len(self._came) >= _HEAD.size:
                kind, length = _HEAD.unpack_from(self._came)
                end = _HEAD.size + length
                if len(self._came) >= end:
                    found, self._came = self._came[_HEAD.size : end], self._came[end:]
                    return kind, found
            try:
                more = self._end.recv(_HEAD.size + LONGEST)
            except ConnectionError:
                more = b""
            if not more:
                return b"", b""
            self._came += more

    def fork(self) -> "_Line":
        """A line to a fork of the process, which is about to be there. Raises FirmwareError."""
        ours, theirs = socket.socketpair()
        line = _Line(ours)
        with theirs:
            try:
                socket.send_fds(self._end, [bytes(4)], [theirs.fileno()])
            except OSError as error:
                raise FirmwareError(_KILLED) from error
        return line

    def arrived(self) -> None:
        """Waits until the fork is there. Raises FirmwareError."""
        kind, said = self.answer(_FORKED)
        if kind != b"H":
            raise FirmwareError("no process can be had for it")
        self.pid = int.from_bytes(said[_SIZE:], "little")


class _Process:
    """One boot of one GPU. Each fork of this process has a copy of it."""

    def __init__(self, library: LibraryApart) -> None:
        self._library = library
        self._line: _Line | None = library.forked()
        self._copy: _Line | None = None
        self._asking = False
        self.end: _End | None = None
        _running.add(self)

    def exchange(self, request: bytes) -> bytes:
        """What the firmware answers. Raises FirmwareError, and FirmwareCrashed when it has ended, or has to be."""
        if self._line is None or self._asking:
            raise FirmwareError(_KILLED)
        self._asking = True  # after an interrupt, too: an answer that comes later would be one to something else
        kind, said = b"", b""
        _waiting.append(self)
        try:
            with suppress(ConnectionError):
                self._line.send(request)
                kind, said = self._line.answer(self._library.limit)
        finally:
            _waiting.pop()
        if kind in (b"A", b"N"):
            self._asking = False
        if kind == b"A":
            return said
        if kind == b"N":
            given = int.from_bytes(said, "little")
            raise FirmwareError(f"{ANSWER} gave {given} bytes; allowed are 1 to {LONGEST}")
        self._line = None
        if not kind:
            raise FirmwareError(_KILLED)
        self.end = _End(kind, said)
        where = place_in(self._library.path, self.end.places)
        if not self.end.crashed:
            raise FirmwareCrashed(f"no answer in {self._library.limit:g} s", seen=where and f"it was at {where}")
        if self.end.by_chance:
            raise FirmwareCrashed(self.end.crashed, seen=where and f"it was at {where}")
        raise FirmwareCrashed(self.end.crashed + (where and f" at {where}"))

    def wait_for_a_debugger(self, when: str) -> None:
        """Until one is attached, or the process has ended. `when`: for whoever is to attach it."""
        pid = 0 if self._line is None else self._line.pid
        _log.warning("%s: %s: waits for a debugger: gdb -p %d", self._library.path, when, pid)
        while Path(f"/proc/{pid}").exists() and not _traced(pid):
            time.sleep(_LOOK)

    def variables(self) -> dict[str, Any] | None:
        """What is in its memory, by name; None: it has ended, or has no debug information."""
        known = variables_of(self._library.path, self._library.size)
        if known is None or self._line is None or self._asking:
            return None
        return known.values(partial(self._look, 1), partial(self._look, 0))

    def _look(self, where: int, offset: int, number: int) -> bytes:
        """What is there in its memory; nothing: it can't be read."""
        if self._line is None:
            return b""
        try:
            self._line.look(struct.pack("<BQI", where, offset, number))
        except OSError:
            return b""
        kind, said = self._line.answer(self._library.limit)
        return said if kind == b"M" else b""

    def close(self) -> None:
        """Nobody asks it any more."""
        self._line = None

    def copy(self) -> None:
        """This process is about to be forked."""
        self._copy = None
        if self._line is not None and not self._asking:
            with suppress(FirmwareError):
                self._copy = self._line.fork()

    def copied(self) -> None:
        """The copy is there: from now on each may go its own way."""
        if self._copy is not None:
            try:
                self._copy.arrived()
            except FirmwareError:
                self._copy = None

    def drop(self) -> None:
        """The copy is the fork's."""
        self._copy = None

    def take(self) -> None:
        """This is the fork."""
        self._line, self._copy = self._copy, None


_waiting = list[_Process]()
_libraries, _running = WeakSet[LibraryApart](), WeakSet[_Process]()


@atexit.register
def _end() -> None:
    for process in tuple(_running):
        process.close()
    for library in tuple(_libraries):
        library.close()


def _each(*acts: str) -> None:
    processes = tuple(_running)
    for act in acts:
        for process in processes:
            getattr(process, act)()


os.register_at_fork(
    before=lambda: _each("copy", "copied"),
    after_in_parent=lambda: _each("drop"),
    after_in_child=lambda: _each("take"),
)


def waiting() -> bool:
    """Whether firmware is being asked: for a handler of signals, which must not wait for the answer."""
    return bool(_waiting)


def _traced(pid: int) -> bool:
    """Whether a debugger is attached to that process."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return "\nTracerPid:\t0\n" not in status


def _waiting_for_a_debugger(process: _Process, cycle: int, boot: Boot) -> Exchange:
    """Its exchange, which waits once, before the first event in that cycle or later, until a debugger is attached."""
    met = False

    def exchange(request: bytes) -> bytes:
        nonlocal met
        now = None if met else getattr(decode(request), "now", None)
        if now is not None and now >= cycle:
            met = True
            process.wait_for_a_debugger(f"GPU {boot.gpu} of card {boot.card}, cycle {now}")
        return process.exchange(request)

    return exchange


def _started(path: Path, gdb: bool) -> tuple[_Line, subprocess.Popen[bytes]]:
    """A process that loads it, and the line to it. Raises FirmwareError."""
    if sys.platform != "linux":
        raise FirmwareError(f"{path}: can have a process of its own on Linux only; allowed is {path},here")
    try:
        host = made_of_c("firmware_host", (_HOST,), link=_LINK)
    except BuildError as error:
        raise FirmwareError(f"{path}: its process can't be built: {error}") from error
    ours, theirs = socket.socketpair()
    line = _Line(ours)
    with theirs:
        words = list(map(str, [host, path.absolute(), MOST_STATE, LONGEST, theirs.fileno(), *["gdb"] * gdb]))
        try:
            return line, subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        except OSError as error:
            raise FirmwareError(f"{path}: its process can't be started: {error.strerror}") from error


def _unusable(path: Path, text: str) -> str:
    text = " ".join(text.split())
    if text.startswith("has no "):
        return f"{path}: {text}; wanted are {SIZE} and {ANSWER}"
    if path.is_file() and "No such file" in text:  # what the loader says of it, too
        return f"{path}: is for another machine, or lacks a library that it needs"
    return text
