"""What is wrong with a coverage file, in one line."""

from pathlib import Path


class CoverageError(ValueError):
    """The message says where, what was found and what is allowed."""


def shown(found: object, limit: int = 60) -> str:
    """What was found, short enough for a line of an error message."""
    text = repr(found)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def size(path: Path, limit: int) -> int:
    """Bytes of a file that may be at most `limit` bytes; raises CoverageError."""
    try:
        found = path.stat().st_size
    except OSError as error:
        raise CoverageError(f"{path}: cannot be read: {error.strerror}") from None
    if found > limit:
        raise CoverageError(f"{path}: {found:,} bytes; allowed are {limit:,}")
    return found
