"""Why a serial port can't be used, in the words of a message."""

import errno
import os
from contextlib import suppress
from pathlib import Path


def not_opened(url: str, error: Exception) -> str:
    """Why it could not be opened; without permission, who has it."""
    number = getattr(error, "errno", None)
    if number != errno.EACCES:
        return os.strerror(number) if number else reason(error, url)
    why = os.strerror(number)
    with suppress(OSError, KeyError):
        return f"{why}; group {Path(url).group()} may, join it or become root"
    return why


def reason(error: Exception, url: str = "") -> str:
    """What an error says, on one line, without the URL."""
    return " ".join(str(error).split()).removeprefix(f"{url}: ")
