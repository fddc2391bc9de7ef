"""The Debug Adapter Protocol's messages as bytes: `Content-Length: N`, an empty line, and N bytes of JSON."""

import json
import os
import re
from typing import Any

from ringhil.emulator.errors import RinghilError

MOST_HEAD = 1024  # bytes
MOST_BODY = 1 << 20

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"content-length: *([0-9]{1,9})", re.IGNORECASE)
_OTHER = re.compile(rb"content-type: *[ -~]*", re.IGNORECASE)

Message = dict[str, Any]


class WireError(RinghilError):
    """What has come is no message of this protocol; nothing that follows can be read."""


class Incoming:
    """Bytes as they come, cut into the bodies of messages."""

    def __init__(self) -> None:
        self._left = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are whole by now. Raises WireError."""
        self._left += data
        found = list[bytes]()
        while (body := self._body()) is not None:
            found.append(body)
        return found

    def _body(self) -> bytes | None:
        end = self._left.find(_END)
        if end < 0:
            # A client of another protocol, such as a browser, is refused by its first line.
            first, mark, _ = bytes(self._left[:MOST_HEAD]).partition(b"\r\n")
            if mark:
                _length([first])
            if len(self._left) > MOST_HEAD:
                raise WireError(f"found {len(self._left)} bytes without an end of the header; allowed are {MOST_HEAD}")
            return None
        length = _length(bytes(self._left[:end]).split(b"\r\n"), whole=True)
        start = end + len(_END)
        if len(self._left) < start + length:
            return None
        body = bytes(self._left[start : start + length])
        del self._left[: start + length]
        return body


def _length(lines: list[bytes], *, whole: bool = False) -> int:
    found = list[int]()
    for line in lines:
        if match := _LENGTH.fullmatch(line):
            found.append(int(match[1]))
        elif not _OTHER.fullmatch(line):
            shown = line[:50].decode("ascii", "replace")
            raise WireError(f"header: found {shown!r}; allowed is Content-Length: NUMBER")
    if whole and len(found) != 1:
        raise WireError(f"header: found {len(found)} lines Content-Length; needed is one")
    if found and found[0] > MOST_BODY:
        raise WireError(f"Content-Length: found {found[0]:,} bytes; allowed are {MOST_BODY:,}")
    return found[0] if found else 0


def decoded(body: bytes) -> Message:
    """A message. Raises ValueError with one line."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {type(error).__name__ if isinstance(error, RecursionError) else error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"found {type(found).__name__}; wanted is an object")
    return found


def write(descriptor: int, message: Message) -> None:
    """All of it. Raises OSError where nobody reads it any more."""
    body = json.dumps(message).encode()
    view = memoryview(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    while view:
        view = view[os.write(descriptor, view) :]
