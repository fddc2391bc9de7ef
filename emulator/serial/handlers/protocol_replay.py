"""`replay://session.jsonl`: a recorded session as a serial port, which answers as the card did.

    replay://PATH

Its time is the recorded one: it passes only while somebody reads and nothing is there. A program that does something
else than was recorded gets a SerialException, which says at which message, and what was recorded.
"""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serial import PortNotOpenError, SerialBase, SerialException

from ringhil.emulator.serial.handlers import path_in
from ringhil.emulator.serial.session.format import load_session
from ringhil.emulator.serial.session.replayed import RecordedCard

_log = logging.getLogger(__name__)


class Serial(SerialBase):  # type: ignore[misc]
    """A port of pyserial's."""

    is_open: bool
    _replay: RecordedCard | None = None

    def open(self) -> None:
        """Read the session. Raises SerialException."""
        if self.is_open:
            raise SerialException("Port is already open.")
        if self._port is None:
            raise SerialException("Port must be configured before it can be used.")
        parts = urlsplit(str(self._port))
        if parts.scheme != "replay" or parts.query or parts.fragment or not (parts.netloc or parts.path):
            raise SerialException(f"{self._port}: allowed is replay://PATH")
        session = load_session(Path(path_in(parts.netloc + parts.path)))
        if session.notice:
            _log.warning("%s", session.notice)
        self._replay, self.is_open = RecordedCard(session), True

    def close(self) -> None:
        """End it, wherever the program is."""
        self._replay, self.is_open = None, False

    def _reconfigure_port(self) -> None:
        """Takes any settings: they make no difference."""

    def _opened(self) -> RecordedCard:
        if self._replay is None:
            raise PortNotOpenError
        return self._replay

    def monotonic(self) -> float:
        """The recorded time, in seconds since the port was opened."""
        return self._opened().now

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        return self._opened().waiting

    def read(self, size: int = 1) -> bytes:
        """Up to `size` bytes; fewer when the timeout has passed, in recorded time. Raises SerialException when what the
        program waits for can't come."""
        replay = self._opened()
        end = None if self._timeout is None else replay.now + self._timeout
        found = replay.take(size)
        while len(found) < size and replay.wait(None if end is None else max(0, end - replay.now)):
            found += replay.take(size - len(found))
        return found

    def write(self, data: Any) -> int:
        """The card takes them all, now. Raises SerialException when they are not those that were recorded."""
        taken = bytes(data)
        self._opened().write(taken)
        return len(taken)

    def flush(self) -> None:
        """Nothing is ever left to be written."""
        self._opened()

    def reset_input_buffer(self) -> None:
        """Forget what has come."""
        replay = self._opened()
        replay.take(replay.waiting)

    def reset_output_buffer(self) -> None:
        """Nothing is ever left to be written."""
        self._opened()

    def _update_dtr_state(self) -> None:
        """Does nothing: a recording has no modem lines."""

    def _update_rts_state(self) -> None:
        """Does nothing: a recording has no modem lines."""
