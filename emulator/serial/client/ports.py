"""An open port of pyserial's, a device or a URL: it is opened, waited for and read, whatever kind it is.

Ports without a descriptor are read for a moment at a time; a port with a time of its own (`monotonic`) is waited for in
that.
"""

import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import serial

from ringhil.emulator.errors import RinghilError
from ringhil.emulator.serial.line import BAUD
from ringhil.emulator.serial.line.reasons import not_opened, reason
from ringhil.emulator.serial.session.format import SessionError

TIMEOUT = 1.0  # seconds for an answer
LINE_GONE = "the line is gone"
_CHUNK = 1 << 16  # bytes read at a time
_POLL = 0.02  # seconds
_HANDLERS = "ringhil.emulator.serial.handlers"  # of URLs of ours

if _HANDLERS not in serial.protocol_handler_packages:
    serial.protocol_handler_packages.append(_HANDLERS)


class CardError(RinghilError):
    """Says in one line what went wrong between this program and a card."""


def opened_port(url: str, *, baud: int = BAUD, timeout: float = TIMEOUT) -> "serial.SerialBase":
    """Opens a port, a device or a URL. Raises CardError."""
    try:
        return _port(url, baud, timeout)
    except SessionError as error:  # it names the file
        raise CardError(str(error)) from error
    except (serial.SerialException, OSError, ValueError) as error:
        raise CardError(f"{url}: cannot be opened: {not_opened(url, error)}") from error


@contextmanager
def line_gone() -> Iterator[None]:
    """Turns an error of a port that is read or written into a CardError: the line is gone."""
    try:
        yield
    except (serial.SerialException, OSError) as error:
        raise gone(error) from error


def arrived(line: "serial.SerialBase", patience: float) -> bytes:
    """Returns what is there, or what comes first within `patience` seconds. Raises CardError when the line is gone."""
    with line_gone():
        waited_for = descriptor(line)
        if waited_for is not None:  # a read by pyserial takes at least one more call of the system, for one byte
            return _read(line, 0, _CHUNK) if select.select([waited_for], [], [], patience)[0] else b""
        if clock_of(line) is not time.monotonic:  # its time passes while it is read
            return _read_all(line, patience)
        # Its timeout stays what it is: an RFC 2217 port negotiates with the other end whenever that is set.
        end = time.monotonic() + patience
        while not (data := _read_all(line, _POLL)) and time.monotonic() < end:
            pass
        return data


def clock_of(line: Any) -> Callable[[], float]:
    """Returns the clock in whose seconds a line is waited for: its own, if it has one as an emulated line does."""
    clock: Callable[[], float] = getattr(line, "monotonic", time.monotonic)
    return clock


def descriptor(line: "serial.SerialBase") -> int | None:
    """Returns the descriptor of a port, or None for a port without one."""
    try:
        return int(line.fileno())
    except (OSError, AttributeError):
        return None


def _read_all(line: "serial.SerialBase", patience: float) -> bytes:
    data = _read(line, patience, max(1, line.in_waiting))
    rest = line.in_waiting if data else 0
    return data + line.read(rest) if rest else data


def _read(line: "serial.SerialBase", patience: float, most: int) -> bytes:
    if line.timeout != patience:  # ports are set up anew for it
        line.timeout = patience
    return bytes(line.read(most))


def _port(url: str, baud: int, timeout: float) -> "serial.SerialBase":
    # Two programs at one port would each take bytes that are for the other.
    with suppress(NotImplementedError):  # as pyserial's rfc2217 says of a timeout for writing
        return serial.serial_for_url(url, baudrate=baud, timeout=timeout, write_timeout=timeout, exclusive=True)
    return serial.serial_for_url(url, baudrate=baud, timeout=timeout)


def gone(error: Exception) -> CardError:
    """What is raised where a port could not be read, written or closed."""
    # What a session says is not of the line: it can't be written, or the program doesn't keep to it.
    return CardError(reason(error) if isinstance(error, SessionError) else f"{LINE_GONE}: {reason(error)}")
