"""Recorded sessions: every byte between a program and a card, both ways, with its time.

A session is a file of JSON lines. The first one is its header:

    {"ringhil": "session", "format": 1, "url": "/dev/ttyUSB0", "clock": "system"}

`clock`: whose time it is, that of the line itself (`line`, an emulated one) or of this machine (`system`). Each other
line is a burst, `to` the card or `from` it, in hexadecimal; `t`: seconds since the port was opened, never less than
before.

    {"t": 0.000112, "to": "000301000100..."}

It is written line by line (`recording.py`), so it can be read whatever became of its writer: a last line that is cut
off is left out. Anything else that is wrong is one line, which says where, what was found and what is allowed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import Field, ValidationError
from serial import SerialException

from ringhil.emulator.documents import Document, explained, shown, size
from ringhil.emulator.errors import RinghilError
from ringhil.emulator.files import open_input, reason_of
from ringhil.protocol.line import messages as m
from ringhil.protocol.line.codec import MessageError, decode
from ringhil.protocol.line.framing import Damaged, Unwrapper

FORMAT = 1
MOST = 1 << 28  # bytes of a file that is read
MOST_BURST = 1 << 16  # bytes in a line; more are several lines
MOST_URL = 1000  # letters in a header
CLOCKS = ("line", "system")
_LONGEST_LINE = 2 * MOST_BURST + 100  # bytes
_HEADER = '{"ringhil": "session", "format": 1, "url": ..., "clock": "line" or "system"}'
_LONGEST_SHOWN = 300  # letters of a message in an error


class SessionError(RinghilError, SerialException, ValueError):  # type: ignore[misc]
    """A session that can't be written or read, or a program that doesn't keep to it; one line says which, and why."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Holds bytes that went over the line at once: `at` seconds since the port was opened; `sent` means to the card."""

    at: float
    sent: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Session:
    """Holds a recorded session. `notice` says which part of the file could not be read."""

    url: str
    clock: str
    bursts: tuple[Burst, ...]
    notice: str | None = None

    def messages(self, *, sent: bool) -> Iterator[tuple[float, bytes | Damaged]]:
        """Returns what went one way, each with the time at which it ended: messages, and bytes that are no message."""
        unwrapper = Unwrapper()
        for burst in self.bursts:
            if burst.sent == sent:
                for found in unwrapper.feed(burst.data):
                    yield burst.at, found


class _Header(Document):
    ringhil: str
    format: int
    url: str = Field(max_length=MOST_URL)
    clock: str


class _Line(Document):
    t: float = Field(ge=0, le=1e9, allow_inf_nan=False)
    to: str | None = None
    from_: str | None = Field(None, alias="from")


def load_session(path: Path) -> Session:
    """Reads the session in a file. Raises SessionError."""
    size(path, MOST, SessionError)
    try:
        with open_input(path) as file:
            return _loaded(path, file)
    except OSError as error:
        if isinstance(error, SessionError):
            raise
        raise SessionError(f"{path}: cannot be read: {reason_of(error)}") from None


def message_in(data: bytes | Damaged) -> m.Message | None:
    """Returns the message in what was found on a line, or None."""
    try:
        return None if isinstance(data, Damaged) else decode(data)
    except MessageError:
        return None


def in_words(data: bytes | Damaged) -> str:
    """Returns a message as `ReadRequest(id=5, gpu=3, address=2)`; or the bytes, and why they are no message."""
    if isinstance(data, Damaged):
        return f"{shown(data.data)}, which {data.why}"
    try:
        return _cut(repr(decode(data)))
    except MessageError as error:
        return f"{shown(data)}: {error}"


# --------------------------------------------------------------------------------------------------------------


def _loaded(path: Path, file: IO[bytes]) -> Session:
    lines = _lines(path, file)
    number, line = next(lines, (1, b""))
    header = _header(path, line)
    bursts = list[Burst]()
    at = 0.0
    for number, line in lines:
        try:
            burst = _burst(line)
        except ValueError as error:
            if not line.endswith(b"\n"):
                notice = f"{path}, line {number}: it is cut off; what stands before it is read"
                return Session(header.url, header.clock, tuple(bursts), notice)
            raise SessionError(f"{path}, line {number}: {error}") from None
        if burst.at < at:
            raise SessionError(f"{path}, line {number}: t: found {burst.at}; allowed is {at} or more, as before it")
        at = burst.at
        bursts.append(burst)
    return Session(header.url, header.clock, tuple(bursts))


def _lines(path: Path, file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise SessionError(f"{path}, line {number}: is longer than allowed, {_LONGEST_LINE:,} bytes")
        yield number, line


def _header(path: Path, line: bytes) -> _Header:
    try:
        found: Any = _Header.model_validate_json(line)
    except ValidationError:
        found = None
    if found is not None and found.ringhil == "session" and found.format == FORMAT and found.clock in CLOCKS:
        return found  # type: ignore[no-any-return]
    version = _version(line)
    if version is not None and version != FORMAT:
        raise SessionError(f"{path}, line 1: found format {version}; allowed is {FORMAT}")
    what = shown(line.decode(errors="replace").strip()) if line else "nothing"
    raise SessionError(f"{path}, line 1: found {what}; allowed is the header of a session, {_HEADER}")


class _AnyHeader(Document, extra="ignore"):
    # A later format may say more.
    ringhil: str
    format: int


def _version(line: bytes) -> int | None:
    try:
        found = _AnyHeader.model_validate_json(line)
    except ValidationError:
        return None
    return found.format if found.ringhil == "session" else None


def _burst(line: bytes) -> Burst:
    """Raises ValueError."""
    try:
        found = _Line.model_validate_json(line)
    except ValidationError as error:
        raise ValueError(explained(error)) from None
    if (found.to is None) == (found.from_ is None):
        raise ValueError(f"found {shown(line.decode(errors='replace').strip())}; allowed is one of to and from")
    text = found.from_ if found.to is None else found.to
    assert text is not None
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if not data or data.hex() != text:
        key = "from" if found.to is None else "to"
        raise ValueError(f"{key}: found {shown(text)}; allowed are pairs of hexadecimal digits, in small letters")
    return Burst(found.t, found.to is not None, data)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
