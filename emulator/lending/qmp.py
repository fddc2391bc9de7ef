"""QEMU's monitor for machines (QMP) on a Unix socket, with a limit on every wait and every answer."""

import array
import contextlib
import json
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ringhil.emulator.errors import printable
from ringhil.emulator.lending.attachment import AttachmentError

_PEER = struct.Struct("3i")
_MOST = 1 << 20  # bytes of an answer
_MOST_EVENTS = 256
_SHOWN = 200  # characters of QEMU's reason


class QmpGoneError(AttachmentError):
    """Nobody is there: the guest is down."""


class QmpRefusedError(AttachmentError):
    """QEMU says no; the text is its own."""


class Qmp:
    """One connection. `patience`: seconds that anything may take."""

    def __init__(self, path: Path, *, patience: float = 2.0) -> None:
        """Raises AttachmentError; QmpGoneError when nobody is there."""
        self._path, self._patience, self._data = path, patience, b""
        self.events: list[dict[str, Any]] = []
        """What has happened since, as QEMU tells it: whoever reads them takes them away."""
        self._line = socket.socket(socket.AF_UNIX)
        self._line.settimeout(patience)
        try:
            self._line.connect(str(path))
        except OSError as error:
            self._line.close()
            raise QmpGoneError(f"{path}: {error.strerror or error}; wanted is QMP of a guest") from None
        try:
            if "QMP" not in next(self._lines()):
                raise AttachmentError(f"{path}: found something else than QMP")
            self.ask("qmp_capabilities")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process that is QEMU."""
        found = self._line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        return int(_PEER.unpack(found)[0])

    def close(self) -> None:
        """The guest goes on."""
        self._line.close()

    def ask(self, command: str, *, files: Sequence[int] = (), **arguments: object) -> Any:
        """What QEMU answers; `files` go along as open files. Raises AttachmentError: QmpRefusedError, QmpGoneError."""
        names = {name.replace("_", "-"): value for name, value in arguments.items()}
        request = json.dumps({"execute": command, "arguments": names}).encode() + b"\n"
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        try:
            if self._line.sendmsg([request], passed) != len(request):
                raise AttachmentError(f"{self._path}: QEMU takes nothing")
        except TimeoutError:
            raise self._late() from None
        except OSError as error:
            raise QmpGoneError(f"{self._path}: {error.strerror or error}") from None
        for message in self._lines():
            if "return" in message:
                return message["return"]
            if "error" in message:
                reason = message["error"]
                text = str(reason.get("desc", "")) if isinstance(reason, dict) else ""
                raise QmpRefusedError(f"{command}: {printable(text)[:_SHOWN]}")
        raise AssertionError("lines end by an exception")

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Messages but events, as they come."""
        until = time.monotonic() + self._patience
        while True:
            line, found, rest = self._data.partition(b"\n")
            if not found:
                if len(self._data) > _MOST:
                    raise AttachmentError(f"{self._path}: an answer of more than {_MOST} bytes")
                if time.monotonic() > until:
                    raise self._late()
                self._data += self._received()
                continue
            self._data = rest
            message: Any = None
            with contextlib.suppress(ValueError, RecursionError):
                message = json.loads(line)
            if not isinstance(message, dict):
                raise AttachmentError(f"{self._path}: found something else than QMP")
            if "event" in message:
                self.events.append(message)
                del self.events[:-_MOST_EVENTS]
            else:
                yield message

    def _received(self) -> bytes:
        try:
            data = self._line.recv(1 << 16)
        except TimeoutError:
            raise self._late() from None
        except OSError as error:
            raise QmpGoneError(f"{self._path}: {error.strerror or error}") from None
        if not data:
            raise QmpGoneError(f"{self._path}: the guest has ended")
        return data

    def _late(self) -> AttachmentError:
        return AttachmentError(f"{self._path}: no answer within {self._patience:g} s")
