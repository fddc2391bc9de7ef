"""Records what goes over a line as a session (`format.py`): a writer of the file, and a port that records itself."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serial import SerialBase

from ringhil.emulator.files import is_stdout, open_growing, reason_of
from ringhil.emulator.serial.session.format import FORMAT, MOST_BURST, MOST_URL, SessionError

_DIGITS = 9  # of a second: nanoseconds


class SessionWriter:
    """Writes a session to `path`, from now on. `monotonic`: seconds on the line's own clock; None: this machine's.
    Raises SessionError."""

    def __init__(self, path: Path, url: str, monotonic: Callable[[], float] | None = None) -> None:
        self._path, self._monotonic = path, monotonic or time.monotonic
        if is_stdout(path):
            raise SessionError("-: a session goes to a file; standard output has the results")
        try:
            self._file = open_growing(path)
        except OSError as error:
            raise SessionError(f"{path}: cannot be written: {reason_of(error)}") from None
        self._lock = threading.Lock()  # a program may read and write in two threads
        self._began = self._monotonic()
        self._latest = 0.0
        self._told = False  # that it can't be written
        clock = "system" if monotonic is None else "line"
        # What isn't Unicode in an argument isn't JSON either.
        written = url.encode(errors="backslashreplace").decode()[:MOST_URL]
        self._write({"ringhil": "session", "format": FORMAT, "url": written, "clock": clock})

    def note(self, data: bytes, *, sent: bool) -> None:
        """Records bytes that went over the line now. Raises SessionError."""
        with self._lock:
            self._latest = max(self._latest, round(self._monotonic() - self._began, _DIGITS))
            for at in range(0, len(data), MOST_BURST):
                self._write({"t": self._latest, "to" if sent else "from": data[at : at + MOST_BURST].hex()})

    def close(self) -> None:
        """Closes the file. Raises SessionError, unless an earlier call has raised it."""
        told = self._told
        try:
            self._file.close()
        except OSError as error:
            if not told:
                raise self._failed(error) from None

    def _write(self, row: dict[str, object]) -> None:
        try:
            self._file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> SessionError:
        self._told = True
        return SessionError(f"{self._path}: cannot be written: {reason_of(error)}")


class RecordedLine(SerialBase):  # type: ignore[misc]
    """An open port of pyserial's that records itself: what is read, and what is written. Settings are those of `line`,
    which is closed with it. `monotonic`: the line's own time, in seconds; only where it has one."""

    is_open: bool
    monotonic: Callable[[], float]

    def __init__(self, line: SerialBase, writer: SessionWriter) -> None:
        super().__init__()
        self._line, self._writer = line, writer
        super().apply_settings(line.get_settings())
        if hasattr(line, "monotonic"):
            self.monotonic = line.monotonic
        self.is_open = True

    @classmethod
    def at(cls, line: SerialBase, path: Path, url: str) -> "RecordedLine":
        """Returns `line` as a port that records itself to a file. Raises SessionError."""
        return cls(line, SessionWriter(path, url, getattr(line, "monotonic", None)))

    def close(self) -> None:
        """Close the port; the session is complete."""
        if self.is_open:
            self.is_open = False
            try:
                self._line.close()
            finally:
                self._writer.close()

    def fileno(self) -> int:
        """The port's descriptor, to wait for."""
        return int(self._line.fileno())

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        return int(self._line.in_waiting)

    def read(self, size: int = 1) -> bytes:
        """As the port does."""
        data = bytes(self._line.read(size))
        if data:
            self._writer.note(data, sent=False)
        return data

    def write(self, data: Any) -> int:
        """As the port does."""
        taken = bytes(data)
        if self._line.write_timeout == 0:  # it may take a part of them
            written = int(self._line.write(taken))
            self._writer.note(taken[:written], sent=True)
            return written
        # Before it is done: a thread that reads might note the answer first.
        self._writer.note(taken, sent=True)
        return int(self._line.write(taken))

    def flush(self) -> None:
        """As the port does."""
        if self.is_open:
            self._line.flush()

    def reset_input_buffer(self) -> None:
        """Forget what has come: nobody has read it, and it is not recorded."""
        self._line.reset_input_buffer()

    def reset_output_buffer(self) -> None:
        """As the port does."""
        self._line.reset_output_buffer()

    def send_break(self, duration: float = 0.25) -> None:
        """As the port does; a break is no byte, and not recorded."""
        self._line.send_break(duration)

    def _reconfigure_port(self) -> None:
        self._line.apply_settings(self.get_settings())

    def _update_dtr_state(self) -> None:
        self._line.dtr = self.dtr

    def _update_rts_state(self) -> None:
        self._line.rts = self.rts

    def _update_break_state(self) -> None:
        self._line.break_condition = self.break_condition

    @property
    def cts(self) -> bool:
        """Is as the port has it; so are the next three."""
        return bool(self._line.cts)

    @property
    def dsr(self) -> bool:
        return bool(self._line.dsr)

    @property
    def ri(self) -> bool:
        return bool(self._line.ri)

    @property
    def cd(self) -> bool:
        return bool(self._line.cd)
